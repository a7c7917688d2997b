//! Domains: hosts of an app's own, on which what is live is shown as on the app's host below the platform's domain.
//!
//! A domain is a pointer to one app. Who gets it first has it until it is removed; a route that names the host does not
//! share it with other apps. Start at [`Folio::add_domain`].

use folio_model::{
    Actor, AppName, DomainName, Grant, Place, Pointer, Right, Timestamp, TriggerSpec,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::moves::{self, Step};
use crate::ports::{StandingDomain, State, StoreError};
use crate::request::Caller;
use crate::view::Done;
use crate::{Class, Code, Explain, Folio, Referrer, folio};

/// Why a domain was not added, found or removed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another app has it.
    #[error("domain `{domain}` is of {}", whose(.app.as_ref()))]
    Taken {
        /// The domain.
        domain: DomainName,
        /// The app that has it, if whoever asks may know.
        app: Option<AppName>,
    },
    /// Routes of other apps name it.
    #[error("domain `{domain}` is named by {}", routes(.referrers))]
    Routed {
        /// The domain.
        domain: DomainName,
        /// The routes that whoever asks may know.
        referrers: Vec<Referrer>,
    },
    /// The platform gives its own hosts to apps by their names.
    #[error("`{domain}` is below `{below}`, whose hosts are the apps' by their names")]
    Platform {
        /// The domain.
        domain: DomainName,
        /// The platform's domain.
        below: String,
    },
    /// The app has no such domain.
    #[error("app `{app}` has no domain `{domain}`")]
    NotFound {
        /// The app.
        app: AppName,
        /// The domain.
        domain: DomainName,
        /// The nearest it has.
        near: Option<String>,
    },
    /// No rule got to decide.
    #[error(transparent)]
    Folio(#[from] folio::Error),
}

fn whose(app: Option<&AppName>) -> String {
    app.map_or_else(|| "another app".to_owned(), |app| format!("app `{app}`"))
}

fn routes(referrers: &[Referrer]) -> String {
    if referrers.is_empty() {
        return "routes of other apps".to_owned();
    }
    let names = referrers.iter().map(|route| format!("{} `{}`", route.kind, route.name));
    names.collect::<Vec<_>>().join(", ")
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Folio(error.into())
    }
}

impl Explain for Error {
    fn code(&self) -> Code {
        match self {
            Self::Taken { .. } | Self::Routed { .. } => Code("domain_taken"),
            Self::Platform { .. } => Code("domain_reserved"),
            Self::NotFound { .. } => Code("domain_not_found"),
            Self::Folio(error) => error.code(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Taken { .. } | Self::Routed { .. } => Class::Conflict,
            Self::Platform { .. } => Class::Invalid,
            Self::NotFound { .. } => Class::NotFound,
            Self::Folio(error) => error.class(),
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Taken { domain, app } => {
                let app = app.as_ref().map_or("APP", AppName::as_str);
                format!(
                    "whoever deploys there frees it with `folio domain remove {domain} --app {app}`"
                )
            }
            Self::Routed { .. } => "these routes have to leave the host first".to_owned(),
            Self::Platform { below, .. } => {
                format!("an app `NAME` is found at `NAME.{below}` without further ado")
            }
            Self::NotFound { near: Some(near), .. } => format!("did you mean `{near}`?"),
            Self::NotFound { app, .. } => {
                format!("`folio domain list --app {app}` shows what it has")
            }
            Self::Folio(error) => return error.hint(),
        })
    }

    fn referrers(&self) -> Vec<Referrer> {
        match self {
            Self::Routed { referrers, .. } => referrers.clone(),
            _ => Vec::new(),
        }
    }
}

/// A domain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DomainView {
    /// Its name.
    pub domain: DomainName,
    /// The app it shows.
    pub app: AppName,
    /// The ledger entry that made it so.
    pub revision: u64,
}

impl From<StandingDomain> for DomainView {
    fn from(found: StandingDomain) -> Self {
        let StandingDomain { domain, app, revision } = found;
        Self { domain, app, revision }
    }
}

/// One move of a domain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DomainMove {
    /// The ledger entry.
    pub entry: u64,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub by: Actor,
    /// What was done.
    pub message: String,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether the app has it since.
    pub added: bool,
}

impl Folio {
    /// Has a domain show an app. One that it has already is answered with.
    pub async fn add_domain(
        &self,
        caller: &Caller,
        app: &AppName,
        domain: &DomainName,
    ) -> Result<Done<DomainView>, Error> {
        let (app, domain) = (app.clone(), domain.clone());
        let (own, grant) = (self.hosts().domain.clone(), caller.grant.clone());
        self.commit(caller, &app.clone(), move |builder| {
            // `localhost` is the default app's on every server.
            for below in [own.as_str(), "localhost"] {
                if domain.is_within(below) {
                    let below = below.to_owned();
                    return Err(Error::Platform { domain: domain.clone(), below });
                }
            }
            match owner(builder.state, &domain)? {
                Some(found) if found.app == app => return Ok(found.into()),
                Some(StandingDomain { app, domain, .. }) => {
                    let app = Some(app).filter(|app| grant.allows(Right::View, Some(app)));
                    return Err(Error::Taken { domain, app });
                }
                None => refuse_routed(builder.state, &app, &domain, &grant)?,
            }
            builder.say(format!("add domain {domain}"));
            let pointer = Pointer::Domain { name: domain.clone() };
            builder.point(pointer, None, Some(Place::App(app.clone())))?;
            let revision = builder.state.head()? + 1;
            Ok(DomainView { domain: domain.clone(), app: app.clone(), revision })
        })
        .await
    }

    /// Lists an app's domains, by name.
    pub async fn domains(&self, app: &AppName) -> Result<Vec<DomainView>, Error> {
        let app = app.clone();
        self.look(move |state| {
            known(state, &app)?;
            Ok(state.domains(Some(&app))?.into_iter().map(DomainView::from).collect())
        })
        .await
    }

    /// Takes a domain from an app; its host is nobody's from then on.
    pub async fn remove_domain(
        &self,
        caller: &Caller,
        app: &AppName,
        domain: &DomainName,
    ) -> Result<Done<DomainView>, Error> {
        let (app, domain) = (app.clone(), domain.clone());
        self.commit(caller, &app.clone(), move |builder| {
            let found = owner(builder.state, &domain)?.filter(|found| found.app == app);
            let Some(found) = found else { return Err(unknown(builder.state, &app, &domain)?) };
            builder.say(format!("remove domain {domain}"));
            let pointer = Pointer::Domain { name: domain.clone() };
            builder.point(pointer, Some(Place::App(app.clone())), None)?;
            Ok(found.into())
        })
        .await
    }

    /// Lists when an app got and lost a domain, newest first.
    pub async fn domain_history(
        &self,
        app: &AppName,
        domain: &DomainName,
    ) -> Result<Vec<DomainMove>, Error> {
        let (app, domain) = (app.clone(), domain.clone());
        self.look(move |state| {
            known(state, &app)?;
            let pointer = Pointer::Domain { name: domain.clone() };
            // What other apps did with it is theirs to see.
            let own = moves::steps(state, &pointer)?.into_iter().rev();
            let own = own.filter(|step| step.entry.app == app);
            let moves: Vec<_> = own.map(DomainMove::of).collect();
            if moves.is_empty() { Err(unknown(state, &app, &domain)?) } else { Ok(moves) }
        })
        .await
    }
}

impl DomainMove {
    fn of(Step { entry, to, .. }: Step) -> Self {
        Self {
            entry: entry.seq,
            at: entry.at,
            by: entry.by,
            message: entry.message,
            reason: entry.reason,
            added: to.is_some(),
        }
    }
}

/// The domain of a host that another app has, if one does.
pub(crate) fn of_another(
    state: &dyn State,
    app: &AppName,
    host: &str,
) -> Result<Option<StandingDomain>, StoreError> {
    let Ok(domain) = DomainName::written(host) else { return Ok(None) };
    Ok(owner(state, &domain)?.filter(|found| found.app != *app))
}

fn owner(state: &dyn State, domain: &DomainName) -> Result<Option<StandingDomain>, StoreError> {
    match state.place(&Pointer::Domain { name: domain.clone() })? {
        Some((Place::App(app), revision)) => {
            Ok(Some(StandingDomain { domain: domain.clone(), app, revision }))
        }
        Some(_) => Err(StoreError::corrupt(format!("domain `{domain}`"))),
        None => Ok(None),
    }
}

/// Refuses a domain that routes of other apps answer on. They are named to whoever may see them.
fn refuse_routed(
    state: &dyn State,
    app: &AppName,
    domain: &DomainName,
    grant: &Grant,
) -> Result<(), Error> {
    let named = |host: &str| DomainName::written(host).is_ok_and(|named| named == *domain);
    let (mut referrers, mut is_free) = (Vec::new(), true);
    for found in state.triggers()?.into_iter().filter(|found| found.unit.key.app != *app) {
        if let TriggerSpec::Http(spec) = &found.spec
            && spec.host.as_deref().is_some_and(named)
        {
            let key = found.unit.key;
            is_free = false;
            if grant.allows(Right::View, Some(&key.app)) {
                let name = format!("{}/{}", key.app, key.name);
                referrers.push(Referrer { kind: "route".to_owned(), name });
            }
        }
    }
    if is_free {
        return Ok(());
    }
    Err(Error::Routed { domain: domain.clone(), referrers })
}

fn unknown(state: &dyn State, app: &AppName, domain: &DomainName) -> Result<Error, StoreError> {
    let own = state.domains(Some(app))?;
    let near = crate::resolve::nearest(domain.as_str(), own.iter().map(|own| own.domain.as_str()));
    Ok(Error::NotFound { app: app.clone(), domain: domain.clone(), near })
}

fn known(state: &dyn State, app: &AppName) -> Result<(), folio::Error> {
    if state.has_app(app)? { Ok(()) } else { Err(folio::Error::NoApp(app.clone())) }
}
