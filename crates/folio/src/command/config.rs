//! `folio config`: settings that code reads.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use folio_core::config::{ConfigFields, ConfigSet, ConfigView};
use folio_core::settings::{SettingRemoved, Users};
use folio_core::view::Done;
use folio_model::{ConfigKey, ConfigSpec, Name, text_of};
use reqwest::Method;
use serde_json::{Value, json};

use super::Session;
use crate::client::{Change, Items};
use crate::output::{Format, Table};
use crate::problem::Problem;

/// What one can do with configs.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Set values, as one new version that every function naming the config gets
    Set(Set),
    /// Remove values, in the same way
    Unset(Unset),
    /// Set all values of a file: YAML, JSON, or lines of KEY=VALUE
    Import(Import),
    /// Show the values of a config, or one
    #[command(visible_alias = "show")]
    Get(Get),
    /// List configs
    List,
    /// Delete a config; what is published keeps the values it has
    #[command(visible_alias = "delete")]
    Remove(Which),
}

/// Which config.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// The config to work on
    #[arg(long, value_name = "NAME", default_value = "config")]
    name: Name,
    /// Refuse unless it is still at this revision
    #[arg(long, value_name = "REVISION")]
    expect: Option<u64>,
}

/// Values to set.
#[derive(Debug, Args)]
pub(crate) struct Set {
    /// What to set, such as `db.pool.size=5`
    #[arg(value_name = "KEY=VALUE", required = true, value_parser = pair)]
    values: Vec<(ConfigKey, Value)>,
    #[command(flatten)]
    which: Which,
}

/// Values to remove.
#[derive(Debug, Args)]
pub(crate) struct Unset {
    /// What to remove, with everything below it
    #[arg(value_name = "KEY", required = true)]
    keys: Vec<ConfigKey>,
    #[command(flatten)]
    which: Which,
}

/// A file with values.
#[derive(Debug, Args)]
pub(crate) struct Import {
    /// The file: `.yaml`, `.yml`, `.json`, or else lines of KEY=VALUE
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Remove what is not in the file
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    which: Which,
}

/// What to show.
#[derive(Debug, Args)]
pub(crate) struct Get {
    /// Show only this value, as code reads it
    #[arg(value_name = "KEY")]
    key: Option<ConfigKey>,
    #[command(flatten)]
    which: Which,
}

/// Runs a command on configs.
pub(crate) async fn run(session: &Session, command: Command) -> Result<()> {
    match command {
        Command::Set(Set { values, which }) => {
            let set = values.into_iter().collect();
            change(session, &which, ConfigFields { set, ..ConfigFields::default() }).await
        }
        Command::Unset(Unset { keys, which }) => {
            let unset = keys.into_iter().collect();
            change(session, &which, ConfigFields { unset, ..ConfigFields::default() }).await
        }
        Command::Import(Import { file, replace, which }) => {
            let set = read(&file)?;
            change(session, &which, ConfigFields { set, replace, ..ConfigFields::default() }).await
        }
        Command::Get(Get { key, which }) => {
            let app = session.app(None);
            let path = ["apps", app.as_str(), "configs", which.name.as_str()];
            let view: ConfigView = session.client.get(&path, &[]).await?;
            match key {
                None => session.output.item(&view, lines),
                Some(key) => show(session, &view, &key),
            }
        }
        Command::List => {
            let app = session.app(None);
            let path = ["apps", app.as_str(), "configs"];
            let found: Items<ConfigView> = session.client.get(&path, &[]).await?;
            session.output.items(&found.items, table)
        }
        Command::Remove(which) => {
            let app = session.app(None);
            let path = ["apps", app.as_str(), "configs", which.name.as_str()];
            let change = Change::new(Method::DELETE).expect(which.expect);
            let done: Done<SettingRemoved> = session.client.change(&path, change).await?;
            session.output.item(&done, |done| removed("config", &which.name, done))
        }
    }
}

async fn change(session: &Session, which: &Which, fields: ConfigFields) -> Result<()> {
    let app = session.app(None);
    let path = ["apps", app.as_str(), "configs", which.name.as_str()];
    let body = json!({ "fields": fields });
    let change = Change::new(Method::PATCH).body(&body)?.expect(which.expect);
    let done: Done<ConfigSet> = session.client.change(&path, change).await?;
    session.output.item(&done, |done| {
        let ConfigView { name, version, .. } = &done.result.config;
        match done.changed {
            false => format!("config {name} unchanged"),
            true => {
                let said = format!("config {name} set as version {}", version.number);
                with_users(said, &done.result.users)
            }
        }
    })
}

/// What was done, and a line for each function that has it.
pub(super) fn with_users(mut said: String, users: &Users) -> String {
    for version in &users.functions {
        said += &format!("\nfunction {} version {} has it", version.name, version.id);
    }
    for name in &users.drafts {
        said += &format!("\ndraft of function {name} has it");
    }
    said
}

/// What went, and a line for each function that still uses what it was.
pub(super) fn removed(kind: &str, name: &Name, done: &Done<SettingRemoved>) -> String {
    let mut said = format!("{kind} {name} removed");
    let users = &done.result.used_by;
    for version in &users.functions {
        said += &format!("\nfunction {} version {} still uses it", version.name, version.id);
    }
    for name in &users.drafts {
        said += &format!("\ndraft of function {name} still uses it");
    }
    said
}

fn show(session: &Session, view: &ConfigView, key: &ConfigKey) -> Result<()> {
    let spec = ConfigSpec { values: view.values.clone(), ..ConfigSpec::default() };
    let value = spec.get(key).ok_or_else(|| {
        let problem = Problem::new(format!("config `{}` has no `{key}`", view.name));
        let known: Vec<_> = spec.leaves().into_keys().collect();
        problem.hint(format!("it has {}", known.join(", ")))
    })?;
    session.output.item(value, text_of)
}

fn lines(view: &ConfigView) -> String {
    let spec = ConfigSpec { values: view.values.clone(), ..ConfigSpec::default() };
    let line = |(key, value): (String, &Value)| format!("{key}={}\n", text_of(value));
    spec.leaves().into_iter().map(line).collect()
}

fn table(configs: &[ConfigView], _: Format) -> Table {
    let mut table = Table::new(["NAME", "KEYS", "VERSION"]);
    for view in configs {
        let spec = ConfigSpec { values: view.values.clone(), ..ConfigSpec::default() };
        let keys: Vec<_> = spec.leaves().into_keys().collect();
        table.row([view.name.to_string(), keys.join(", "), view.version.number.to_string()]);
    }
    table
}

/// Reads KEY=VALUE.
fn pair(text: &str) -> Result<(ConfigKey, Value), String> {
    let (key, value) = text.split_once('=').ok_or("write it as KEY=VALUE")?;
    Ok((key.parse().map_err(|error: folio_model::ConfigKeyError| error.to_string())?, typed(value)))
}

/// A number, true or false where the text is exactly how that is written, else the text.
fn typed(text: &str) -> Value {
    let scalar = |value: &Value| value.is_number() || value.is_boolean();
    let read = serde_json::from_str::<Value>(text).ok().filter(scalar);
    let exactly = read.filter(|value: &Value| format!("{value}") == text);
    exactly.unwrap_or_else(|| Value::from(text))
}

/// The values of a file.
fn read(path: &Path) -> Result<BTreeMap<ConfigKey, Value>> {
    let context = || format!("cannot import `{}`", path.display());
    let text = std::fs::read_to_string(path).with_context(context)?;
    let extension = path.extension().and_then(|extension| extension.to_str());
    let values: BTreeMap<String, Value> = match extension {
        Some("json") => serde_json::from_str(&text).with_context(context)?,
        Some("yaml" | "yml") => serde_saphyr::from_str(&text).with_context(context)?,
        _ => return lines_of(&text).map_err(Problem::usage).with_context(context),
    };
    let spec = ConfigSpec { values, ..ConfigSpec::default() };
    let leaves = spec.leaves().into_iter();
    let read = |(key, value): (String, &Value)| Ok((key.parse::<ConfigKey>()?, value.clone()));
    leaves.map(read).collect::<Result<_>>().with_context(context)
}

/// Reads lines of KEY=VALUE; empty ones and those that begin with `#` say nothing.
fn lines_of(text: &str) -> Result<BTreeMap<ConfigKey, Value>, String> {
    let lines = text.lines().map(str::trim).enumerate();
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let read = |(number, line): (usize, &str)| {
        let (key, value) = pair(line).map_err(|error| format!("line {}: {error}", number + 1))?;
        let unquoted = value.as_str().and_then(unquoted);
        Ok((key, unquoted.map_or(value.clone(), Value::from)))
    };
    lines.map(read).collect()
}

/// What stands between quotes that a whole value is in.
fn unquoted(text: &str) -> Option<&str> {
    let inside = |quote| text.strip_prefix(quote)?.strip_suffix(quote);
    inside('"').or_else(|| inside('\''))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_typed_only_if_it_reads_back_as_it_was_written() {
        for (text, expected) in
            [("5", json!(5)), ("true", json!(true)), ("-1", json!(-1)), ("0.5", json!(0.5))]
        {
            assert_eq!(typed(text), expected);
        }
        for text in ["1.10", "007", "1e3", "", "null", "[1]", "{}", "a b", "\"a\""] {
            assert_eq!(typed(text), Value::from(text));
        }
    }

    #[test]
    fn lines_are_read_as_in_an_env_file() {
        let found = lines_of("# a\n\nA=1\nB='x y'\nC.d=\"1\"\n").unwrap();
        let found: Vec<_> = found.iter().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(found, ["A=1", "B=\"x y\"", "C.d=\"1\""]);
        assert_eq!(lines_of("A=1\nB").unwrap_err(), "line 2: write it as KEY=VALUE");
    }
}
