//! Jobs, webhooks, and names for the newest version: what stands for a function and is no unit.
//!
//! Each is a pointer, so that every change is an entry and none makes a version. What one leads to cannot be deleted
//! before it. A run is an execution, always asynchronous. Start at [`Folio::bind`]; `job` keeps the times.

mod error;
mod input;
mod job;
mod name;
mod webhook;

use folio_model::{
    Actor, AppName, Binding, BindingTerms, BoundTo, JobStatus, Kind, Name, Number, Place, Pointer,
    Qualifier, Reference, Right, Timestamp, Unit, UnitUid, VersionId, VersionKey, Webhook,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use self::error::Error;
pub use self::job::{JobFields, NewJob};
pub use self::name::Story;
pub(crate) use self::webhook::Calls;
pub use self::webhook::{SIGNATURE_HEADERS, WebhookCall};

use crate::builder::Builder;
use crate::delete::guard;
use crate::ports::{StandingBinding, State, StoreError};
use crate::request::Caller;
use crate::view::Done;
use crate::{Folio, alias, folio, resolve};

/// Which bindings are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BindingKind {
    /// Names for newest versions.
    Newest,
    /// Webhooks.
    Webhook,
    /// Jobs.
    Job,
}

impl BindingKind {
    fn of(binding: &Binding) -> Self {
        match binding.terms {
            BindingTerms::Newest => Self::Newest,
            BindingTerms::Webhook(_) => Self::Webhook,
            BindingTerms::Job(_) => Self::Job,
        }
    }

    fn noun(self) -> &'static str {
        match self {
            Self::Newest => "alias",
            Self::Webhook => "webhook",
            Self::Job => "job",
        }
    }
}

/// A job or webhook as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BindingView {
    /// The app.
    pub app: AppName,
    /// Its identity.
    pub id: Uuid,
    /// Changes whenever it does.
    pub revision: u64,
    /// What it is.
    #[serde(flatten)]
    pub binding: Binding,
    /// What it leads to, in words, as long as that is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<Reference>,
    /// When a job comes next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Timestamp>,
    /// How often a job will still come, if not for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<u64>,
    /// What calls a webhook: a URL, or its path on the control port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// What is to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewBinding {
    /// What it leads to.
    pub to: BoundTo,
    /// What it is called.
    pub name: Option<String>,
    /// What is said about it.
    pub description: Option<String>,
    /// What it is.
    pub terms: NewTerms,
}

/// What a new binding is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewTerms {
    /// A name for a newest version.
    Newest,
    /// A webhook.
    Webhook(Webhook),
    /// A job.
    Job(NewJob),
}

/// What is to become of a binding; what is left out stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BindingFields {
    /// What it leads to.
    pub to: Option<BoundTo>,
    /// What it is called.
    pub name: Option<String>,
    /// What is said about it.
    pub description: Option<String>,
    /// What becomes of a job.
    pub job: JobFields,
    /// What becomes of a webhook.
    pub webhook: Webhook,
}

impl Folio {
    /// Makes a job, a webhook, or a name for a newest version. What it leads to has to be there.
    pub async fn bind(
        &self,
        caller: &Caller,
        app: &AppName,
        new: NewBinding,
    ) -> Result<Done<BindingView>, Error> {
        self.check_text("description", new.description.as_deref().unwrap_or_default())?;
        self.check_text("name", new.name.as_deref().unwrap_or_default())?;
        if let NewTerms::Job(job) = &new.terms {
            self.check_input(job.input.as_deref())?;
        }
        let id = self.fresh_uuid();
        let (of, now) = (app.clone(), self.clock.now());
        let done = self
            .commit(caller, app, move |builder| {
                let NewBinding { to, name, description, terms } = new.clone();
                leads(builder.state, &of, &to)?;
                let terms = match terms {
                    NewTerms::Newest => {
                        free(builder.state, &of, name.as_deref())?;
                        BindingTerms::Newest
                    }
                    NewTerms::Webhook(webhook) => {
                        signable(builder.state, &of, &webhook)?;
                        BindingTerms::Webhook(webhook)
                    }
                    NewTerms::Job(new) => BindingTerms::Job(new.job(now)?),
                };
                let (created_at, updated_at) = (now, None);
                let binding = Binding { to, name, description, terms, created_at, updated_at };
                put(builder, (&of, id), None, binding)
            })
            .await?;
        self.wind_jobs(Some((app, id))).await?;
        Ok(Done { result: self.whole(done.result).await?, ..done })
    }

    /// Changes a binding of a kind.
    pub async fn rebind(
        &self,
        caller: &Caller,
        (app, id): (&AppName, Uuid),
        kind: BindingKind,
        fields: BindingFields,
    ) -> Result<Done<BindingView>, Error> {
        self.check_text("description", fields.description.as_deref().unwrap_or_default())?;
        self.check_text("name", fields.name.as_deref().unwrap_or_default())?;
        self.check_input(fields.job.input.as_deref())?;
        let (of, now) = (app.clone(), self.clock.now());
        let done = self
            .commit(caller, app, move |builder| {
                let found = find(builder.state, &of, id, kind)?;
                let from = found.binding;
                let mut to = from.clone();
                if let Some(target) = &fields.to {
                    leads(builder.state, &of, target)?;
                    to.to = target.clone();
                }
                to.name = fields.name.clone().or(to.name);
                to.description = fields.description.clone().or(to.description);
                match &mut to.terms {
                    BindingTerms::Job(job) => fields.job.lay_over(job, now)?,
                    BindingTerms::Webhook(webhook) => {
                        let new = &fields.webhook;
                        let max = new.calls_per_minute_max.or(webhook.calls_per_minute_max);
                        let signing = new.signing.clone().or_else(|| webhook.signing.clone());
                        let unsaid = match fields.to {
                            Some(_) => new.version_unsaid,
                            None => webhook.version_unsaid,
                        };
                        *webhook =
                            Webhook { calls_per_minute_max: max, signing, version_unsaid: unsaid };
                        signable(builder.state, &of, webhook)?;
                    }
                    BindingTerms::Newest => {}
                }
                if to != from {
                    to.updated_at = Some(now);
                }
                put(builder, (&of, id), Some(from), to)
            })
            .await?;
        self.wind_jobs(Some((app, id))).await?;
        Ok(Done { result: self.whole(done.result).await?, ..done })
    }

    /// Removes a binding of a kind.
    pub async fn unbind(
        &self,
        caller: &Caller,
        (app, id): (&AppName, Uuid),
        kind: BindingKind,
    ) -> Result<Done<BindingView>, Error> {
        let of = app.clone();
        self.commit(caller, app, move |builder| {
            let found = find(builder.state, &of, id, kind)?;
            let view = seen(builder.state, &found)?;
            let pointer = Pointer::Binding { app: of.clone(), id };
            if let Some(name) = found.binding.alias() {
                let gone = [pointer.clone()].into();
                let leaving = guard::Leaving { gone, ..guard::Leaving::default() };
                in_use(builder.state, (found.binding.to.unit(), &name), &leaving)?;
            }
            let place = Place::Binding(Box::new(found.binding.clone()));
            builder.say(format!("delete {} {}", found.binding.noun(), called(&found)));
            builder.point(pointer, Some(place), None)?;
            Ok(view)
        })
        .await
    }

    /// Lists an app's bindings of a kind, in the order they were made.
    pub async fn bindings(
        &self,
        app: &AppName,
        kind: BindingKind,
    ) -> Result<Vec<BindingView>, Error> {
        let of = app.clone();
        let found = self.look(move |state| {
            if !state.has_app(&of)? {
                return Err(folio::Error::NoApp(of).into());
            }
            let all = state.bindings(Some(&of))?.into_iter();
            let wanted = all.filter(|found| BindingKind::of(&found.binding) == kind);
            wanted.map(|found| Ok::<_, Error>(seen(state, &found)?)).collect::<Result<Vec<_>, _>>()
        });
        let mut views = Vec::new();
        for view in found.await? {
            views.push(self.whole(view).await?);
        }
        Ok(views)
    }

    /// Shows one binding of a kind.
    pub async fn show_binding(
        &self,
        (app, id): (&AppName, Uuid),
        kind: BindingKind,
    ) -> Result<BindingView, Error> {
        let of = app.clone();
        let found = self.look(move |state| {
            let found = find(state, &of, id, kind)?;
            Ok::<_, Error>(seen(state, &found)?)
        });
        self.whole(found.await?).await
    }

    /// What a reference means to a binding: one version, an alias wherever it points, or whatever is newest.
    pub async fn bound_to(
        &self,
        caller: &Caller,
        app: &AppName,
        function: &Reference,
    ) -> Result<BoundTo, resolve::Error> {
        caller.may_name(Right::Deploy, function)?;
        let (app, function) = (app.clone(), function.clone());
        self.look(move |state| {
            let found = resolve::resolve(state, &app, Kind::Function, &function)?;
            let unit = found.unit.uid;
            let is_id = |id: &VersionId| state.version_by_id(unit, id);
            Ok(match &function.at {
                Some(Qualifier::Named(name)) if is_id(name)?.is_none() => {
                    BoundTo::FunctionAlias { unit, alias: name.clone() }
                }
                Some(Qualifier::Named(_) | Qualifier::Number(_)) => match found.what {
                    resolve::What::Version(number) => {
                        BoundTo::Function { unit, number: Some(number) }
                    }
                    _ => BoundTo::Function { unit, number: None },
                },
                None | Some(Qualifier::Latest | Qualifier::Draft) => {
                    BoundTo::Function { unit, number: None }
                }
            })
        })
        .await
    }

    /// A random identity nobody can guess.
    fn fresh_uuid(&self) -> Uuid {
        let bytes = self.clock.chance();
        let half: [u8; 16] = std::array::from_fn(|at| bytes[at]);
        uuid::Builder::from_random_bytes(half).into_uuid()
    }
}

/// Who asks for what nobody asked for by name.
fn by(who: &str) -> Caller {
    Caller::new(who.parse::<Actor>().expect("a word is an actor"))
}

fn put(
    builder: &mut Builder<'_>,
    (app, id): (&AppName, Uuid),
    from: Option<Binding>,
    to: Binding,
) -> Result<BindingView, Error> {
    let verb = if from.is_some() { "change" } else { "create" };
    let mut found = StandingBinding { app: app.clone(), id, binding: to, revision: 0 };
    builder.say(format!("{verb} {} {}", found.binding.noun(), called(&found)));
    let place = |binding: &Binding| Place::Binding(Box::new(binding.clone()));
    let (from, to) = (from.as_ref().map(place), place(&found.binding));
    found.revision = builder.state.head()? + u64::from(from.as_ref() != Some(&to));
    builder.point(Pointer::Binding { app: app.clone(), id }, from, Some(to))?;
    Ok(seen(builder.state, &found)?)
}

fn called(found: &StandingBinding) -> String {
    found.binding.name.clone().unwrap_or_else(|| found.id.to_string())
}

fn find(
    state: &dyn State,
    app: &AppName,
    id: Uuid,
    kind: BindingKind,
) -> Result<StandingBinding, Error> {
    let found = state.binding(app, id)?;
    let found = found.filter(|one| BindingKind::of(&one.binding) == kind);
    found.ok_or(Error::NotFound { noun: kind.noun(), id })
}

fn seen(state: &dyn State, found: &StandingBinding) -> Result<BindingView, StoreError> {
    let function = match reference(state, &found.app, &found.binding.to) {
        Ok(function) => Some(function),
        Err(Error::Folio(folio::Error::Store(error))) => return Err(error),
        Err(_) => None,
    };
    let StandingBinding { app, id, binding, revision } = found.clone();
    Ok(BindingView { app, id, revision, binding, function, next: None, left: None, url: None })
}

/// Refuses what leads nowhere.
fn leads(state: &dyn State, app: &AppName, to: &BoundTo) -> Result<(), Error> {
    let function = reference(state, app, to)?;
    resolve::resolve(state, app, Kind::Function, &function)?;
    Ok(())
}

/// Refuses a webhook whose calls nobody could sign.
fn signable(state: &dyn State, app: &AppName, webhook: &Webhook) -> Result<(), Error> {
    match &webhook.signing {
        Some(signing) => webhook::signed_with(state, app, signing).map(|_| ()),
        None => Ok(()),
    }
}

/// What a binding leads to now, as a reference.
pub(crate) fn reference(
    state: &dyn State,
    app: &AppName,
    to: &BoundTo,
) -> Result<Reference, Error> {
    match to {
        BoundTo::Function { unit, number } => {
            let name = living(state, app, *unit)?.key.name;
            if let Some(number) = number {
                let key = VersionKey { unit: *unit, number: *number };
                state.version(key)?.ok_or_else(|| no_version(&name, *number))?;
            }
            let function = Reference::to(name);
            Ok(match number {
                Some(number) => function.at(Qualifier::Number(*number)),
                None => function,
            })
        }
        BoundTo::FunctionAlias { unit, alias } => {
            let name = living(state, app, *unit)?.key.name;
            match state.alias(*unit, alias)? {
                Some(_) => Ok(Reference::to(name).at(Qualifier::Named(alias.clone()))),
                None => Err(Error::NoAlias(alias.clone())),
            }
        }
        BoundTo::Alias(alias) => {
            for unit in state.units(app, Kind::Function)? {
                if unit.is_visible() && state.alias(unit.uid, alias)?.is_some() {
                    return Ok(Reference::to(unit.key.name).at(Qualifier::Named(alias.clone())));
                }
            }
            match newest(state, app, alias.as_str())?.map(|found| found.binding.to) {
                Some(to @ BoundTo::Function { .. }) => reference(state, app, &to),
                _ => Err(Error::NoAlias(alias.clone())),
            }
        }
    }
}

fn living(state: &dyn State, app: &AppName, unit: UnitUid) -> Result<Unit, Error> {
    let found = state.unit_by_uid(unit)?;
    let found = found.filter(|unit| unit.is_visible() && unit.key.app == *app);
    found.filter(|unit| unit.key.kind == Kind::Function).ok_or(Error::FunctionGone)
}

fn no_version(name: &Name, number: Number) -> Error {
    let (kind, at) = (Kind::Function, number.to_string());
    resolve::Error::NoVersion { kind, name: name.clone(), at, near: None }.into()
}

fn newest(
    state: &dyn State,
    app: &AppName,
    name: &str,
) -> Result<Option<StandingBinding>, StoreError> {
    let mut all = state.bindings(Some(app))?.into_iter();
    Ok(all.find(|found| {
        found.binding.terms == BindingTerms::Newest && found.binding.name.as_deref() == Some(name)
    }))
}

/// Refuses a name for a newest version that something in the app has.
fn free(state: &dyn State, app: &AppName, name: Option<&str>) -> Result<(), Error> {
    let Some(name) = name else { return Ok(()) };
    let taken = || Err(Error::Taken(name.to_owned()));
    let Ok(alias) = name.parse::<VersionId>() else { return taken() };
    match reference(state, app, &BoundTo::Alias(alias)) {
        Ok(_) => taken(),
        Err(Error::NoAlias(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Refuses to take a name from a function as long as something leads to it.
fn in_use(
    state: &dyn State,
    (unit, alias): (Option<UnitUid>, &VersionId),
    leaving: &guard::Leaving,
) -> Result<(), Error> {
    let referrers = guard::users(state, leaving)?;
    if referrers.is_empty() {
        return Ok(());
    }
    let unit = unit.map(|unit| state.unit_by_uid(unit)).transpose()?.flatten();
    let function = unit.ok_or(Error::FunctionGone)?.key.name;
    Err(alias::Error::InUse { function, alias: alias.clone(), referrers }.into())
}

/// Whether a job goes on.
fn goes_on(binding: &Binding) -> bool {
    matches!(&binding.terms, BindingTerms::Job(job) if job.status == JobStatus::Running)
}
