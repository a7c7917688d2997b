//! `folio secret`: values that only code reads. Nothing here prints one.

use std::io::Read as _;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use folio_core::secret::{SecretSet, SecretView};
use folio_core::settings::SettingRemoved;
use folio_core::view::Done;
use folio_model::{Name, SecretKey};
use reqwest::Method;
use serde_json::{Map, Value, json};

use super::Session;
use super::config::{removed, with_users};
use crate::client::{Change, Items};
use crate::name::Named;
use crate::output::{Format, Table};
use crate::problem::Problem;

/// What one can do with secrets.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a secret
    Create(Set),
    /// Set values of a secret, as one new version that every function naming it gets
    #[command(visible_alias = "update")]
    Set(Set),
    /// Show the keys of a secret, with fingerprints that change when the values do
    #[command(visible_alias = "show")]
    Get(Which),
    /// List secrets, with the fingerprints of their values
    List,
    /// Give a secret another name, and every function naming it a new version
    Rename(Rename),
    /// Delete a secret; what is published keeps the values it has
    #[command(visible_alias = "delete")]
    Remove(Which),
}

/// Which secret.
#[derive(Debug, Args)]
pub(crate) struct Which {
    #[command(flatten)]
    named: Named,
}

/// A secret that gets another name.
#[derive(Debug, Args)]
pub(crate) struct Rename {
    /// The name it has
    #[arg(value_name = "NAME")]
    from: Name,
    /// The name it shall have
    #[arg(value_name = "NEW-NAME")]
    to: Name,
}

/// Values to set.
#[derive(Debug, Args)]
pub(crate) struct Set {
    #[command(flatten)]
    named: Named,
    /// Set a value, which other users of this machine may see while the command runs; repeat it for more
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    value: Vec<(SecretKey, String)>,
    /// Set a value to what is in a file, byte for byte; repeat it for more
    #[arg(long, value_name = "KEY=FILE", value_parser = pair)]
    from_file: Vec<(SecretKey, String)>,
    /// Set a value to what the environment variable of that name holds; repeat it for more
    #[arg(long, value_name = "KEY")]
    from_env: Vec<SecretKey>,
    /// Set a value to what is on standard input, byte for byte
    #[arg(long, value_name = "KEY")]
    stdin: Option<SecretKey>,
    /// Remove a value; repeat it for more
    #[arg(long, value_name = "KEY")]
    unset: Vec<SecretKey>,
    /// Refuse unless it is still at this revision
    #[arg(long, value_name = "REVISION")]
    expect: Option<u64>,
}

/// Runs a command on secrets.
pub(crate) async fn run(session: &Session, command: Command) -> Result<()> {
    match command {
        Command::Create(set) => {
            let (unit, fields) = (set.named.unit(session)?, set.fields()?);
            let body = json!({ "name": unit.name, "fields": fields });
            let change = Change::new(Method::POST).body(&body)?;
            let path = ["apps", unit.app.as_str(), "secrets"];
            said(session, &session.client.change(&path, change).await?, "created as")
        }
        Command::Set(set) => {
            let (unit, fields) = (set.named.unit(session)?, set.fields()?);
            let body = json!({ "fields": fields });
            let change = Change::new(Method::PATCH).body(&body)?.expect(set.expect);
            let path = ["apps", unit.app.as_str(), "secrets", unit.name.as_str()];
            said(session, &session.client.change(&path, change).await?, "set as")
        }
        Command::Get(which) => {
            let unit = which.named.unit(session)?;
            let path = ["apps", unit.app.as_str(), "secrets", unit.name.as_str()];
            let view: SecretView = session.client.get(&path, &[]).await?;
            session
                .output
                .item(&view, |view| table(std::slice::from_ref(view), Format::Table).to_string())
        }
        Command::List => {
            let app = session.app(None);
            let path = ["apps", app.as_str(), "secrets"];
            let found: Items<SecretView> = session.client.get(&path, &[]).await?;
            session.output.items(&found.items, table)
        }
        Command::Rename(Rename { from, to }) => {
            let app = session.app(None);
            let path = ["apps", app.as_str(), "secrets", from.as_str(), "rename"];
            let change = Change::new(Method::POST).body(&json!({ "name": to }))?;
            let done = session.client.change(&path, change).await?;
            said(session, &done, &format!("is what {from} was,"))
        }
        Command::Remove(which) => {
            let unit = which.named.unit(session)?;
            let path = ["apps", unit.app.as_str(), "secrets", unit.name.as_str()];
            let change = Change::new(Method::DELETE);
            let done: Done<SettingRemoved> = session.client.change(&path, change).await?;
            session.output.item(&done, |done| removed("secret", &unit.name, done))
        }
    }
}

impl Set {
    fn fields(&self) -> Result<Value> {
        let mut set = Map::new();
        for (key, value) in &self.value {
            set.insert(key.to_string(), value.as_str().into());
        }
        for (key, path) in &self.from_file {
            let path = PathBuf::from(path);
            let bytes = std::fs::read(&path)
                .with_context(|| format!("cannot read `{}`", path.display()))?;
            set.insert(key.to_string(), written(bytes));
        }
        for key in &self.from_env {
            let value = crate::config::of_user(key.as_str()).map_err(|_| {
                let problem = format!("there is no environment variable `{key}`, or it is no text");
                Problem::usage(problem).hint(format!("set it with `export {key}=...`"))
            })?;
            set.insert(key.to_string(), value.into());
        }
        if let Some(key) = &self.stdin {
            let mut bytes = Vec::new();
            std::io::stdin().read_to_end(&mut bytes).context("cannot read standard input")?;
            set.insert(key.to_string(), written(bytes));
        }
        if set.is_empty() && self.unset.is_empty() {
            let problem = Problem::usage("nothing says what the secret holds");
            let hint = "give --value, --from-file, --from-env or --stdin";
            return Err(problem.hint(hint).into());
        }
        Ok(json!({ "set": set, "unset": self.unset }))
    }
}

/// A value as requests carry it: text as it is, other bytes encoded.
fn written(bytes: Vec<u8>) -> Value {
    use base64::Engine as _;
    match String::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(error) => {
            let encoded = base64::engine::general_purpose::STANDARD.encode(error.as_bytes());
            json!({ "base64": encoded })
        }
    }
}

fn pair(text: &str) -> Result<(SecretKey, String), String> {
    let (key, value) = text.split_once('=').ok_or("write it as KEY=VALUE")?;
    let key = key.parse().map_err(|_| "the key before `=` is not one")?;
    Ok((key, value.to_owned()))
}

fn said(session: &Session, done: &Done<SecretSet>, verb: &str) -> Result<()> {
    session.output.item(done, |done| {
        let SecretView { name, version, .. } = &done.result.secret;
        match done.changed {
            false => format!("secret {name} unchanged"),
            true => {
                let said = format!("secret {name} {verb} version {}", version.number);
                with_users(said, &done.result.users)
            }
        }
    })
}

fn table(secrets: &[SecretView], _: Format) -> Table {
    let mut table = Table::new(["NAME", "KEY", "FINGERPRINT", "VERSION"]);
    for view in secrets {
        for (key, fingerprint) in &view.keys {
            let version = view.version.number.to_string();
            table.row([view.name.to_string(), key.to_string(), fingerprint.to_string(), version]);
        }
    }
    table
}
