//! How a command names what it works on: `NAME` or `--name NAME`, and the version behind an `@` or in
//! `--version`. Nothing here is looked up except names that may be a name and a version joined.

use anyhow::Result;
use clap::Args;
use folio_core::view::{ResolvedView, UnitView};
use folio_model::{AppName, Kind, Name, Qualifier, Reference, Subject};

use crate::command::Session;
use crate::problem::Problem;

/// The unit a command works on.
#[derive(Debug, Args)]
pub(crate) struct Named {
    /// What to work on, such as `hello` or `hello@v1.0.0`
    #[arg(value_name = "NAME", conflicts_with = "name")]
    positional: Option<Reference>,
    /// The same, as a flag
    #[arg(long, value_name = "NAME")]
    name: Option<Reference>,
}

/// A unit in an app.
#[derive(Debug, Clone)]
pub(crate) struct UnitAt {
    pub(crate) app: AppName,
    pub(crate) name: Name,
}

/// One version of a unit.
#[derive(Debug, Args)]
pub(crate) struct Versioned {
    #[command(flatten)]
    named: Named,
    /// Which version: its number or id, an alias, or `latest`
    #[arg(long, value_name = "VERSION")]
    version: Option<Qualifier>,
}

impl Named {
    /// The reference as it was written.
    pub(crate) fn reference(&self) -> Result<&Reference> {
        let given = self.positional.as_ref().or(self.name.as_ref());
        given.ok_or_else(|| {
            let problem = Problem::usage("the command needs a name");
            problem.hint("write it behind the command, or give --name NAME").into()
        })
    }

    /// The unit, where no version may be named.
    pub(crate) fn unit(&self, session: &Session) -> Result<UnitAt> {
        let reference = self.reference()?;
        match reference {
            Reference { app, name: Subject::Name(name), at: None } => {
                Ok(UnitAt { app: session.app(app.as_ref()), name: name.clone() })
            }
            Reference { name, at: Some(_), .. } => {
                let problem = format!("`{reference}` names a version; this takes a name alone");
                let hint = format!("write `{}`", name.as_str());
                Err(Problem::usage(problem).hint(hint).into())
            }
            Reference { name, .. } => Err(not_a_name(name.as_str())),
        }
    }
}

impl Versioned {
    /// The version, `latest` if none is named.
    pub(crate) async fn or_latest(
        &self,
        session: &Session,
        kind: Kind,
    ) -> Result<(UnitAt, Qualifier)> {
        let (unit, at) = self.find(session, kind).await?;
        Ok((unit, at.unwrap_or(Qualifier::Latest)))
    }

    /// The version; if none is named, the draft or else the latest.
    pub(crate) async fn or_draft(
        &self,
        session: &Session,
        kind: Kind,
    ) -> Result<(UnitAt, Qualifier)> {
        let (unit, at) = self.find(session, kind).await?;
        if let Some(at) = at {
            return Ok((unit, at));
        }
        let path = ["apps", unit.app.as_str(), kind.plural(), unit.name.as_str()];
        let view: UnitView = session.client.get(&path, &[]).await?;
        let at = if view.draft.is_some() { Qualifier::Draft } else { Qualifier::Latest };
        Ok((unit, at))
    }

    /// The version, which must be named.
    pub(crate) async fn exactly(
        &self,
        session: &Session,
        kind: Kind,
    ) -> Result<(UnitAt, Qualifier)> {
        let (unit, at) = self.find(session, kind).await?;
        let at = at.ok_or_else(|| which(&unit.name))?;
        Ok((unit, at))
    }

    /// The version, if one is named.
    pub(crate) async fn find(
        &self,
        session: &Session,
        kind: Kind,
    ) -> Result<(UnitAt, Option<Qualifier>)> {
        find(session, kind, self.named.reference()?, self.version.clone()).await
    }
}

/// A unit as those in its app name it.
pub(crate) fn local(unit: &UnitAt) -> Reference {
    Reference { app: None, name: Subject::Name(unit.name.clone()), at: None }
}

/// Says that a version has to be named.
pub(crate) fn which(name: &Name) -> anyhow::Error {
    let problem = Problem::usage(format!("which version of `{name}`?"));
    problem.hint(format!("write `{name}@VERSION`, or give --version VERSION")).into()
}

/// Puts a reference and a flag together. Only what may be a name and a version joined is looked up.
pub(crate) async fn find(
    session: &Session,
    kind: Kind,
    reference: &Reference,
    flag: Option<Qualifier>,
) -> Result<(UnitAt, Option<Qualifier>)> {
    let app = session.app(reference.app.as_ref());
    match (&reference.name, &reference.at, flag) {
        (_, Some(at), Some(flag)) if *at != flag => {
            let problem = format!("`{reference}` and `--version {flag}` name different versions");
            Err(Problem::usage(problem).into())
        }
        (Subject::Name(name), at @ Some(_), _) => {
            Ok((UnitAt { app, name: name.clone() }, at.clone()))
        }
        (Subject::Name(name), None, flag @ Some(_)) => {
            Ok((UnitAt { app, name: name.clone() }, flag))
        }
        (Subject::Name(name), None, None) if !name.as_str().contains('-') => {
            Ok((UnitAt { app, name: name.clone() }, None))
        }
        (subject, None, None) => joined(session, kind, app, subject).await,
        (Subject::Joined(text), _, _) => Err(not_a_name(text)),
    }
}

/// Asks what a text such as `hello_v1.0.0` or `hello-bla` means.
async fn joined(
    session: &Session,
    kind: Kind,
    app: AppName,
    subject: &Subject,
) -> Result<(UnitAt, Option<Qualifier>)> {
    let path = ["apps", app.as_str(), "resolve"];
    let query = [("ref", subject.as_str().to_owned()), ("kind", kind.to_string())];
    let found: ResolvedView = session.client.get(&path, &query).await?;
    let unit = UnitAt { app, name: found.name };
    let is_whole = unit.name.as_str() == subject.as_str();
    match &found.targets[..] {
        _ if is_whole => Ok((unit, None)),
        [only] => Ok((unit, Some(Qualifier::Number(only.number)))),
        _ => {
            let problem = format!("`{}` is split among versions", subject.as_str());
            Err(Problem::usage(problem).hint("name one of them").into())
        }
    }
}

fn not_a_name(text: &str) -> anyhow::Error {
    let problem = Problem::usage(format!("`{text}` is not a name"));
    problem.hint("a name holds letters, digits and inner dashes; a version follows `@`").into()
}
