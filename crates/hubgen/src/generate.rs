//! The whole way from what was read to what would be written, without touching a file.
//!
//! Start at [`generate`]; [`report`] goes the same way only as far as it needs.

use crate::bless;
use crate::config::{Config, unused};
use crate::emit::emit;
use crate::error::Error;
use crate::load::{Input, Loaded, load, load_blessed};
use crate::output::{MARK, Output};
use crate::plan::Plan;
use crate::planner::{Choice, Planned, plan};
use crate::read::BLESSED;
use crate::report::{Report, table};

/// What a report is narrowed to.
#[derive(Clone, Debug, Default)]
pub struct Focus {
    /// One kind.
    pub kind: Option<String>,
    /// One type, by its name on either side.
    pub ty: Option<String>,
    /// The versions to look at.
    pub versions: Choice,
}

/// Everything that is made for a group.
#[derive(Debug)]
pub struct Generated {
    /// The files.
    pub output: Output,
    /// The report, which is also among the files.
    pub report: Report,
}

/// Makes everything for a group, or says why that cannot be.
pub fn generate(config: &Config, input: &Input) -> Result<Generated, Error> {
    let loaded = load(config, input)?;
    keeps_its_word(config, input, &loaded)?;
    let (plan, report) = complete(config, &loaded)?;
    let module = config.module();
    let mut output = Output::new(&module);
    for (version, api) in &loaded.group.versions {
        let schema = bless::schema(&loaded.group.name, version, api);
        output.insert(format!("{module}/{BLESSED}/{}.json", version.file_stem()), json(&schema));
    }
    let changes = report.clone().changes();
    let text = table::text(&changes);
    output.insert(format!("{module}/report.md"), format!("<!-- {MARK} by hubgen -->\n\n{text}"));
    output.insert(format!("{module}/report.json"), json(&changes));
    for (path, text) in emit(&plan, &module) {
        output.insert(path, text);
    }
    Ok(Generated { output, report })
}

/// Reports what changes and how it is handled, for what the focus names.
pub fn report(config: &Config, input: &Input, focus: &Focus) -> Result<Report, Error> {
    let loaded = load(config, input)?;
    complete(config, &loaded)?;
    let Planned { plan, mut uses } = plan(config, &loaded, &focus.versions)?;
    has_resource(&plan, focus, &loaded)?;
    let report = Report::new(config, &plan, notes(&loaded), &mut uses);
    Ok(report.narrowed(&plan, focus.kind.as_deref(), focus.ty.as_deref()))
}

/// Plans and reports all of the group, and refuses configuration that decides nothing.
fn complete(config: &Config, loaded: &Loaded) -> Result<(Plan, Report), Error> {
    let Planned { plan, mut uses } = plan(config, loaded, &Choice::default())?;
    let report = Report::new(config, &plan, notes(loaded), &mut uses);
    unused::check(config, &loaded.group, &uses)?;
    Ok((plan, report))
}

fn notes(loaded: &Loaded) -> Vec<String> {
    loaded.notes.iter().map(|note| format!("{}: {}", note.place, note.text)).collect()
}

/// Refuses to publish a version again in a way that breaks those who use it.
fn keeps_its_word(config: &Config, input: &Input, loaded: &Loaded) -> Result<(), Error> {
    let blessed = load_blessed(config, input)?;
    let mut broken = Vec::new();
    for (version, published) in &blessed.group.versions {
        match loaded.group.versions.get(version) {
            Some(current) => broken.extend(
                bless::compatibility::breaks(published, current)
                    .into_iter()
                    .map(|line| format!("{version}: {line}")),
            ),
            None => broken.push(format!("{version}: the version is gone")),
        }
    }
    if broken.is_empty() {
        return Ok(());
    }
    Err(Error::refused(
        format!("{} would break what is published:\n  {}", config.file, broken.join("\n  ")),
        format!(
            "restore the schema or add a new version; to publish it again nevertheless, delete \
             its file in {BLESSED}/"
        ),
    ))
}

fn has_resource(plan: &Plan, focus: &Focus, loaded: &Loaded) -> Result<(), Error> {
    let same = |own: &String| focus.kind.as_ref().is_none_or(|kind| kind.eq_ignore_ascii_case(own));
    if plan.resources.keys().any(same) {
        return Ok(());
    }
    let kinds: std::collections::BTreeSet<_> =
        loaded.group.versions.values().flat_map(|api| api.resources.keys().cloned()).collect();
    let kinds: Vec<_> = kinds.into_iter().collect();
    Err(Error::refused(
        "no resource has this kind and these versions".to_owned(),
        format!("the kinds are {}", kinds.join(", ")),
    ))
}

fn json(value: &impl serde::Serialize) -> String {
    let text = serde_json::to_string_pretty(value).expect("these values are always JSON");
    text + "\n"
}

/// Refuses removals and changes of type that nobody has looked at.
pub fn strict(report: &Report) -> Result<(), Error> {
    const SHOWN: usize = 20;
    let open = report.unreviewed();
    if open.is_empty() {
        return Ok(());
    }
    let mut lines: Vec<_> = open.iter().take(SHOWN).cloned().collect();
    if open.len() > SHOWN {
        lines.push(format!("and {} more", open.len() - SHOWN));
    }
    Err(Error::refused(
        format!("nobody has reviewed these changes of {}:\n  {}", report.group, lines.join("\n  ")),
        "configure a rename, [[manual]] or [[accept]] for each, with its reason",
    ))
}
