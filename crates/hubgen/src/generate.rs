//! The whole way from what was read to what would be written, without touching a file.
//!
//! Start at [`generate`]; [`report`] goes the same way only as far as it needs.

use std::collections::BTreeSet;

use crate::bless;
use crate::config::nearest::suggestion;
use crate::config::{Config, unused};
use crate::emit::emit;
use crate::error::Error;
use crate::ir::Api;
use crate::load::{Input, Loaded, load, load_blessed};
use crate::output::{Output, mark};
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
    /// What the two versions are named for.
    pub purpose: Purpose,
}

/// What a report is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purpose {
    /// To see how versions are stored.
    #[default]
    Store,
    /// To see what changed from one version to another, whatever is stored.
    Compare,
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
    let group = loaded.group.name.as_str();
    let mut output = Output::new(group, &module);
    for (version, api) in &loaded.group.versions {
        let schema = bless::schema(group, version, api);
        output.insert(format!("{module}/{BLESSED}/{}.json", version.file_stem()), json(&schema));
    }
    let changes = report.clone().changes();
    let text = table::text(&changes);
    let said = format!("{} do not edit", mark(group));
    output.insert(format!("{module}/report.md"), format!("<!-- {said} -->\n\n{text}"));
    output.insert(format!("{module}/report.json"), json(&Marked { said, report: &changes }));
    for (path, text) in emit(&plan, &module) {
        output.insert(path, text);
    }
    Ok(Generated { output, report })
}

/// Reports what changes and how it is handled, for what the focus names.
pub fn report(config: &Config, input: &Input, focus: &Focus) -> Result<Report, Error> {
    let loaded = load(config, input)?;
    complete(config, &loaded)?;
    exists(focus, &loaded)?;
    let Planned { plan, mut uses } = plan(config, &loaded, &focus.versions)?;
    let whole = Report::new(config, &plan, &loaded, &mut uses);
    let report = whole.narrowed(&plan, focus.kind.as_deref(), focus.ty.as_deref());
    match (focus.purpose, &focus.versions) {
        (Purpose::Compare, Choice { spoke: Some(from), hub: Some(to) }) => {
            Ok(report.compared(&plan, from, to))
        }
        _ if report.resources.is_empty() => Err(not_together(focus, &loaded)),
        _ => Ok(report),
    }
}

/// Plans and reports all of the group, and refuses configuration that decides nothing.
fn complete(config: &Config, loaded: &Loaded) -> Result<(Plan, Report), Error> {
    let Planned { plan, mut uses } = plan(config, loaded, &Choice::default())?;
    let report = Report::new(config, &plan, loaded, &mut uses);
    unused::check(config, &loaded.group, &uses)?;
    Ok((plan, report))
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

/// Refuses a focus on a version, kind or type that there is not.
fn exists(focus: &Focus, loaded: &Loaded) -> Result<(), Error> {
    let missing = |noun: &str, name: &str, known: BTreeSet<String>| {
        Error::refused(
            format!("{} has no {noun} `{name}`", loaded.group.name),
            suggestion(noun, name, known),
        )
    };
    let versions = &loaded.group.versions;
    for version in [&focus.versions.spoke, &focus.versions.hub].into_iter().flatten() {
        if !versions.contains_key(version) {
            let known = versions.keys().map(ToString::to_string);
            return Err(missing("version", version.as_str(), known.collect()));
        }
    }
    let kinds = || versions.values().flat_map(|api| api.resources.keys());
    if let Some(kind) = &focus.kind
        && !kinds().any(|own| own.eq_ignore_ascii_case(kind))
    {
        return Err(missing("kind", kind, kinds().cloned().collect()));
    }
    let types = || versions.values().flat_map(|api| api.definitions.keys());
    if let Some(ty) = &focus.ty
        && !types().any(|own| own == ty)
    {
        return Err(missing("type", ty, types().cloned().collect()));
    }
    Ok(())
}

/// Says which versions have a kind, where the focus names others.
fn not_together(focus: &Focus, loaded: &Loaded) -> Error {
    let kind = focus.kind.as_deref();
    let has = |api: &Api| {
        api.resources.keys().any(|own| kind.is_none_or(|kind| kind.eq_ignore_ascii_case(own)))
    };
    let versions = loaded.group.versions.iter().filter(|(_, api)| has(api));
    let versions: Vec<_> = versions.map(|(version, _)| version.as_str()).collect();
    let what = match kind {
        Some(kind) => format!("`{kind}` is not in these versions"),
        None => "no kind is in these versions".to_owned(),
    };
    Error::refused(what, format!("the versions that have it are {}", versions.join(", ")))
}

/// A report in a file, which says that it is generated.
#[derive(serde::Serialize)]
struct Marked<'a> {
    #[serde(rename = "$comment")]
    said: String,
    #[serde(flatten)]
    report: &'a Report,
}

fn json(value: &impl serde::Serialize) -> String {
    let text = serde_json::to_string_pretty(value).expect("these values are always JSON");
    text + "\n"
}

/// Refuses what nobody has looked at: losses, required values that may be missing, and schemas that
/// became free JSON.
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
        "configure a rename, [[manual]], [[default]], [[opaque]] or [[accept]] for each, with its \
         reason",
    ))
}
