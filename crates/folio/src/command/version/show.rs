//! Versions in words: a line, a table, details, differences.

use std::fmt::Write;

use folio_core::diff::{DiffView, FieldChange, FileChange};
use folio_core::view::{Done, Published, VersionView};
use folio_model::Build;
use serde_json::Value;

use crate::command::unit;
use crate::output::{Details, Format, Table, list, moment, one_line};

/// What publishing did.
pub(super) fn published(done: &Done<Published>) -> String {
    let Published { version, package } = &done.result;
    let mut lines = String::new();
    for view in package.iter().chain([version]) {
        let VersionView { kind, name, id, number, .. } = view;
        if done.changed {
            lines += &format!("{kind} {name} version {id} published as number {number}\n");
        } else {
            lines += &format!("{kind} {name} version {id} is unchanged\n");
        }
    }
    for tag in &version.tags {
        lines += &format!("tag {tag} holds {}@{}\n", version.name, version.id);
    }
    lines
}

/// Versions, a line each.
pub(super) fn table(versions: &[VersionView], format: Format) -> Table {
    let wide = format == Format::Wide;
    // Most functions have nothing to build, and a column that says so tells nothing.
    let builds = versions.iter().any(|view| view.build != Build::None);
    let mut table = if wide {
        Table::new([
            "NUMBER",
            "ID",
            "CREATED",
            "BY",
            "ALIASES",
            "TAGS",
            "ENV",
            "PACKAGE",
            "BUILD",
            "DIGEST",
            "DESCRIPTION",
        ])
    } else if builds {
        Table::new(["NUMBER", "ID", "CREATED", "BY", "BUILD", "ALIASES", "DESCRIPTION"])
    } else {
        Table::new(["NUMBER", "ID", "CREATED", "BY", "ALIASES", "DESCRIPTION"])
    };
    for view in versions {
        let number = view.number.to_string();
        let id = view.id.to_string();
        let (created, by) = (moment(view.created_at), view.created_by.to_string());
        let aliases = aliases(view);
        let description = view.description.clone();
        if wide {
            let (tags, env) = (list(&view.tags), unit::environment(&view.spec));
            let package = unit::package(view.package.as_ref());
            let digest = view.digest.to_string();
            let build = build(view.build).to_owned();
            table.row([
                number,
                id,
                created,
                by,
                aliases,
                tags,
                env,
                package,
                build,
                digest,
                description,
            ]);
        } else if builds {
            let build = build(view.build).to_owned();
            table.row([number, id, created, by, build, aliases, description]);
        } else {
            table.row([number, id, created, by, aliases, description]);
        }
    }
    table
}

/// One version, side by side.
pub(super) fn details(view: &VersionView) -> Details {
    let details = Details::default()
        .line("Name", &view.name)
        .line("Version", &view.id)
        .line("Number", view.number)
        .line("Created", format!("{} by {}", moment(view.created_at), view.created_by))
        .line("Description", &view.description)
        .line("Aliases", aliases(view))
        .line("Tags", list(&view.tags))
        .line("Package", unit::package(view.package.as_ref()));
    unit::spec(details, &view.spec).line("Build", build(view.build)).line("Digest", view.digest)
}

/// What a build printed, below the details.
pub(super) fn log(text: &str) -> String {
    let lines = text.lines().map(|line| format!("  {}\n", one_line(line)));
    if text.is_empty() { String::new() } else { format!("Log:\n{}", lines.collect::<String>()) }
}

/// How two versions differ.
pub(super) fn difference(diff: &DiffView) -> String {
    let DiffView { from, to, fields, files, truncated } = diff;
    if fields.is_empty() && files.is_empty() {
        return format!("{from} and {to} do not differ");
    }
    let mut text = format!("{from} -> {to}\n");
    fields.iter().for_each(|change| field(&mut text, change));
    files.iter().for_each(|change| file(&mut text, change));
    if *truncated {
        text += "some files are too large to be compared line by line\n";
    }
    text
}

/// `latest` is an alias that is always there.
fn aliases(view: &VersionView) -> String {
    let latest = view.latest.then(|| "latest".to_owned());
    list(latest.into_iter().chain(view.aliases.iter().map(ToString::to_string)))
}

/// How far a build is, in a word.
pub(crate) fn build(build: Build) -> &'static str {
    match build {
        Build::None => "none",
        Build::Pending => "pending",
        Build::Running => "running",
        Build::Succeeded => "succeeded",
        Build::Failed => "failed",
    }
}

fn field(text: &mut String, change: &FieldChange) {
    writeln!(text, "{}", setting(change)).expect("a string takes everything");
}

/// What a setting was and is.
pub(crate) fn setting(change: &FieldChange) -> String {
    let side = |value: &Option<Value>| match value {
        None => "nothing".to_owned(),
        Some(Value::String(words)) => words.clone(),
        Some(other) => other.to_string(),
    };
    format!("{}: {} -> {}", change.field, side(&change.from), side(&change.to))
}

fn file(text: &mut String, change: &FileChange) {
    if let Some(patch) = change.patch.as_deref().filter(|patch| !patch.is_empty()) {
        text.push_str(patch);
        if !patch.ends_with('\n') {
            text.push('\n');
        }
        return;
    }
    let side = |file: &Option<folio_core::diff::FileSide>| match file {
        None => "nothing".to_owned(),
        Some(file) => {
            let executable = if file.executable { ", executable" } else { "" };
            format!("{} ({} bytes{executable})", file.digest.short(), file.bytes)
        }
    };
    let (from, to) = (side(&change.from), side(&change.to));
    writeln!(text, "{}: {from} -> {to}", change.path).expect("a string takes everything");
}
