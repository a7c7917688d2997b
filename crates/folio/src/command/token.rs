//! `folio token` and `folio whoami`: who may do what.

use anyhow::Result;
use clap::{Args, Subcommand, ValueEnum};
use folio_core::token::TokenView;
use folio_core::view::Done;
use folio_model::{Actor, Grant, Role};
use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Session;
use crate::client::{Change, Items};
use crate::output::{Details, Format, Table, moment};

/// What one can do with tokens.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a token and print it, this once
    Create(Create),
    /// List the tokens that you may give out
    List,
    /// Make a token invalid
    Revoke(Revoke),
}

/// Whom to make a token for.
#[derive(Debug, Args)]
pub(crate) struct Create {
    /// The holder's name, as the log shows it
    #[arg(long, value_name = "NAME")]
    name: Actor,
    /// What they may do
    #[arg(long, value_name = "ROLE", value_enum)]
    role: RoleName,
    /// Let it hold in every app, instead of in the one of `--app`
    #[arg(long)]
    all_apps: bool,
    /// Make it invalid after a time, such as `30d`, `12h` or `90m`
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    expires: Option<u64>,
}

/// Which token.
#[derive(Debug, Args)]
pub(crate) struct Revoke {
    /// Its id, as `folio token list` shows it
    #[arg(value_name = "ID")]
    id: String,
}

/// What a role is called.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum RoleName {
    /// See, call, change, and give tokens out
    Admin,
    /// See, call and change
    Deployer,
    /// See everything but secret values
    Viewer,
    /// Call functions
    Invoker,
}

impl From<RoleName> for Role {
    fn from(name: RoleName) -> Self {
        match name {
            RoleName::Admin => Self::Admin,
            RoleName::Deployer => Self::Deployer,
            RoleName::Viewer => Self::Viewer,
            RoleName::Invoker => Self::Invoker,
        }
    }
}

/// A token to ask for.
pub(super) struct Wanted {
    pub(super) name: Actor,
    pub(super) role: RoleName,
    pub(super) all_apps: bool,
    pub(super) expires: Option<u64>,
}

/// A token, this once.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Revealed {
    pub(super) token: String,
    #[serde(flatten)]
    view: TokenView,
}

#[derive(Debug, Serialize, Deserialize)]
struct Myself {
    actor: Actor,
    #[serde(flatten)]
    grant: Grant,
}

/// Runs a command on tokens.
pub(crate) async fn run(session: &Session, command: Command) -> Result<()> {
    match command {
        Command::Create(what) => create(session, what).await,
        Command::List => {
            let found: Items<TokenView> = session.client.get(&["tokens"], &[]).await?;
            session.output.items(&found.items, table)
        }
        Command::Revoke(Revoke { id }) => {
            let change = Change::new(Method::DELETE);
            let done: Done<TokenView> = session.client.change(&["tokens", &id], change).await?;
            session.output.item(&done, |done| {
                format!("token {} of {} revoked", done.result.id, done.result.actor)
            })
        }
    }
}

/// Says who the token speaks for.
pub(crate) async fn whoami(session: &Session) -> Result<()> {
    let found: Myself = session.client.get(&["self"], &[]).await?;
    session.output.item(&found, |found| {
        let details = Details::default()
            .line("Name", &found.actor)
            .line("Role", found.grant.role)
            .line("App", place(&found.grant));
        details.to_string()
    })
}

async fn create(session: &Session, what: Create) -> Result<()> {
    let Create { name, role, all_apps, expires } = what;
    let made = make(session, Wanted { name, role, all_apps, expires }).await?;
    session.output.item(&made, |made| made.token.clone())
}

/// Has the server make a token.
pub(super) async fn make(session: &Session, wanted: Wanted) -> Result<Revealed> {
    let app = (!wanted.all_apps).then(|| session.app(None));
    let mut body = json!({ "actor": wanted.name, "role": Role::from(wanted.role) });
    body["app"] = json!(app);
    body["validForSeconds"] = json!(wanted.expires);
    let change = Change::new(Method::POST).body(&body)?;
    session.client.change(&["tokens"], change).await
}

fn table(tokens: &[TokenView], _: Format) -> Table {
    let mut table = Table::new(["ID", "NAME", "ROLE", "APP", "CREATED", "EXPIRES"]);
    for token in tokens {
        let time = |at: Option<_>| at.map_or_else(|| "-".to_owned(), moment);
        table.row([
            token.id.clone(),
            token.actor.to_string(),
            token.terms.grant.role.to_string(),
            place(&token.terms.grant),
            time(token.terms.created_at),
            time(token.terms.expires_at),
        ]);
    }
    table
}

fn place(grant: &Grant) -> String {
    grant.app.as_ref().map_or_else(|| "all".to_owned(), ToString::to_string)
}

/// A time such as `30d`.
pub(super) fn seconds(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is no time; write `30d`, `12h`, `90m` or `45s`");
    let unit = text.chars().next_back().ok_or_else(wrong)?;
    let each = match unit {
        'd' => 24 * 60 * 60,
        'h' => 60 * 60,
        'm' => 60,
        's' => 1,
        _ => return Err(wrong()),
    };
    let count: u64 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
    count.checked_mul(each).ok_or_else(wrong)
}
