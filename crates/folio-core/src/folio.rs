//! The platform: its ports, and how a rule becomes one ledger entry.
//!
//! Every verb that changes something goes through `Folio::commit`: the rule runs against the newest state
//! inside the appending transaction, and either one entry is appended or nothing happens. Before it returns,
//! whatever the entry changed the meaning of has heard of it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use folio_model::{Actor, AppName, Digest, Entry, ReleaseId, Right, Timestamp};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::binding::Calls;
use crate::build::Builds;
use crate::builder::{Builder, Finished};
use crate::canary::Windows;
use crate::execution::AtWork;
use crate::logs::Logs;
use crate::ports::{
    Blobs, Clock, Executions, Ledger, Messages, NoVault, Queue, Runtime, State, StoreError, Vault,
};
use crate::request::{Releasing, Run};
use crate::route::Paths;
use crate::serving::{Running, Serving, Unsettled};
use crate::timer::Fires;
use crate::token::{Forbidden, KnownTokens};
use crate::view::Done;
use crate::{Caller, Class, Code, Explain, Limits, apply, object, release};

/// Everything a verb needs. Cheap to clone.
#[derive(Clone)]
pub struct Folio {
    pub(crate) ledger: Arc<dyn Ledger>,
    pub(crate) blobs: Arc<dyn Blobs>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) settings: Settings,
    pub(crate) serving: Arc<Serving>,
    pub(crate) queue: Option<Arc<dyn Queue>>,
    pub(crate) executions: Option<Arc<dyn Executions>>,
    pub(crate) at_work: Arc<AtWork>,
    pub(crate) calls: Arc<Calls>,
    pub(crate) builds: Arc<Builds>,
    pub(crate) paths: Arc<Paths>,
    pub(crate) fires: Arc<Fires>,
    pub(crate) windows: Windows,
    pub(crate) messages: Option<Arc<dyn Messages>>,
    pub(crate) vault: Arc<dyn Vault>,
    pub(crate) applied: Arc<apply::Memory>,
    /// Who comes without a token, if anybody may.
    pub(crate) open_to: Option<Actor>,
    pub(crate) tokens: Arc<KnownTokens>,
}

/// What an operator may set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// How much of everything is allowed.
    pub limits: Limits,
    /// How long bytes nothing reaches are kept, so that an undo finds them.
    pub grace: Duration,
    /// Where clients find the control API, without a slash at its end; as each of them names it if absent.
    pub public_url: Option<String>,
    /// Where apps are found.
    pub hosts: Hosts,
}

/// Where apps are found: each under its own name below one domain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hosts {
    /// `http` or `https`.
    pub scheme: String,
    /// The domain whose hosts are apps.
    pub domain: String,
    /// The port, where it is not the usual one of the scheme.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
}

impl Default for Hosts {
    fn default() -> Self {
        Self { scheme: "http".to_owned(), domain: "localhost".to_owned(), port: None }
    }
}

impl Hosts {
    /// The address of a host.
    pub fn url(&self, host: &str) -> String {
        let port = self.port.map(|port| format!(":{port}")).unwrap_or_default();
        format!("{}://{host}{port}", self.scheme)
    }

    /// The address of an app's release or tag, under one label.
    pub fn of_release(&self, app: &AppName, release: &str) -> String {
        self.url(&format!("{release}--{app}.{}", self.domain))
    }
}

impl Default for Settings {
    fn default() -> Self {
        let grace = Duration::from_secs(24 * 60 * 60);
        Self { limits: Limits::default(), grace, public_url: None, hosts: Hosts::default() }
    }
}

/// Why no rule got to decide.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The app does not exist.
    #[error("app `{0}` does not exist")]
    NoApp(AppName),
    /// The caller may not.
    #[error(transparent)]
    Forbidden(#[from] Forbidden),
    /// The idempotency key was used for something else.
    #[error("idempotency key `{0}` was already used for a different request")]
    KeyReused(String),
    /// A text is over its limit.
    #[error("the {what} has {bytes} bytes, more than the {max} allowed")]
    TextTooLong {
        /// Which text.
        what: &'static str,
        /// Its length.
        bytes: usize,
        /// The limit.
        max: u64,
    },
    /// A rollout moves what is live.
    #[error("rollout `{0}` is moving what is live")]
    Rolling(folio_model::Name),
    /// The tag for a release aside is on one that everybody sees, or is an id.
    #[error("`{tag}` cannot be the tag of a release aside: it is {what}")]
    AsideTag {
        /// The tag.
        tag: ReleaseId,
        /// What it is.
        what: String,
    },
    /// The store refused or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Explain for Error {
    fn code(&self) -> Code {
        match self {
            Self::NoApp(_) => Code("app_not_found"),
            Self::Forbidden(error) => error.code(),
            Self::KeyReused(_) => Code("idempotency_key_reused"),
            Self::TextTooLong { .. } => Code("text_too_long"),
            Self::Rolling(_) => Code("canary_running"),
            Self::AsideTag { .. } => Code("release_tag_taken"),
            Self::Store(error) => error.code(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::NoApp(_) => Class::NotFound,
            Self::Forbidden(error) => error.class(),
            Self::KeyReused(_) | Self::Rolling(_) | Self::AsideTag { .. } => Class::Conflict,
            Self::TextTooLong { .. } => Class::TooLarge,
            Self::Store(error) => error.class(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::NoApp(_) => Some("the app `default` always exists".to_owned()),
            Self::Forbidden(error) => error.hint(),
            Self::KeyReused(_) => Some("use a new key for a new request".to_owned()),
            Self::TextTooLong { .. } => Some("shorten it, or raise `textBytesMax`".to_owned()),
            Self::Rolling(_) => Some(
                "deploy without --promote, or end it with `folio release rollout abort`".to_owned(),
            ),
            Self::AsideTag { .. } => Some("choose another tag, such as `dev-2`".to_owned()),
            Self::Store(error) => error.hint(),
        }
    }
}

impl Folio {
    /// Puts the ports together.
    pub fn new(
        ledger: Arc<dyn Ledger>,
        blobs: Arc<dyn Blobs>,
        clock: Arc<dyn Clock>,
        settings: Settings,
    ) -> Self {
        Self {
            ledger,
            blobs,
            clock,
            settings,
            serving: Arc::default(),
            queue: None,
            executions: None,
            at_work: Arc::default(),
            calls: Arc::default(),
            builds: Arc::default(),
            paths: Arc::default(),
            fires: Arc::default(),
            windows: Windows::default(),
            messages: None,
            vault: Arc::new(NoVault),
            applied: Arc::default(),
            open_to: None,
            tokens: Arc::default(),
        }
    }

    /// Adds what runs and builds functions. Without it, calls say that nothing runs here, and builds wait.
    #[must_use]
    pub fn with_runtime(
        self,
        runtime: Arc<dyn Runtime>,
        queue: Arc<dyn Queue>,
        logs: Arc<Logs>,
    ) -> Self {
        let running = Running { runtime, logs, clock: Arc::clone(&self.clock) };
        Self { serving: Arc::new(Serving::new(running)), queue: Some(queue), ..self }
    }

    /// Adds the record of executions, which has to be the queue's own. Without it, none can be started.
    #[must_use]
    pub fn with_executions(self, executions: Arc<dyn Executions>) -> Self {
        Self { executions: Some(executions), ..self }
    }

    /// Adds what seals secrets. Without it, none can be set or read.
    #[must_use]
    pub fn with_vault(self, vault: Arc<dyn Vault>) -> Self {
        Self { vault, ..self }
    }

    /// Lets everybody in who comes without a token, as somebody. Only for a door that nobody else reaches.
    #[must_use]
    pub fn with_open_door(self, actor: Actor) -> Self {
        Self { open_to: Some(actor), ..self }
    }

    /// The moment.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The limits in force.
    pub fn limits(&self) -> &Limits {
        &self.settings.limits
    }

    /// Where apps are found.
    pub fn hosts(&self) -> &Hosts {
        &self.settings.hosts
    }

    /// Wakes whenever an entry was appended.
    pub fn head(&self) -> tokio::sync::watch::Receiver<u64> {
        self.ledger.head()
    }

    /// Runs a rule as one transaction. What it built becomes one entry; if it built nothing, or failed,
    /// nothing is changed. A repeated request gets the first one's answer.
    pub(crate) async fn commit<T, E, R>(
        &self,
        caller: &Caller,
        app: &AppName,
        mut rule: R,
    ) -> Result<Done<T>, E>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
        E: From<Error> + Send + 'static,
        R: FnMut(&mut Builder<'_>) -> Result<T, E> + Send + 'static,
    {
        caller.may(Right::Deploy, Some(app)).map_err(Error::from)?;
        self.check_text("reason", caller.reason.as_deref().unwrap_or_default())?;
        let known = app.clone();
        let rule = move |builder: &mut Builder<'_>| match builder.state.has_app(&known) {
            Ok(true) => {
                refuse_promotion(builder)?;
                release::refuse_aside(builder)?;
                rule(builder)
            }
            Ok(false) => Err(Error::NoApp(known.clone()).into()),
            Err(error) => Err(Error::from(error).into()),
        };
        self.append(caller, app, rule).await
    }

    /// As [`Folio::commit`], for the entry that makes the app.
    pub(crate) async fn append<T, E, R>(
        &self,
        caller: &Caller,
        app: &AppName,
        mut rule: R,
    ) -> Result<Done<T>, E>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
        E: From<Error> + Send + 'static,
        R: FnMut(&mut Builder<'_>) -> Result<T, E> + Send + 'static,
    {
        let outcome = Arc::new(Mutex::new(None));
        let (folio, by, of) = (self.clone(), caller.clone(), app.clone());
        let seen = Arc::clone(&outcome);
        let plan = Arc::new(Mutex::new(move |state: &dyn State, gone: &[Digest]| {
            let (change, decided) = match folio.decide((&by, &of), state, gone, &mut rule) {
                Ok((Some(Finished { change, compiles, .. }), done)) => {
                    (Some(change), Ok((done, compiles)))
                }
                Ok((None, done)) => (None, Ok((done, Vec::new()))),
                Err(error) => (None, Err(error)),
            };
            *seen.lock().expect("no plan panics while it holds the lock") = Some(decided);
            Ok(change)
        }));
        let unsettled = Unsettled::new(self);
        let mut gone = Vec::new();
        let appended = loop {
            let (plan, lost) = (Arc::clone(&plan), gone.clone());
            let plan = move |state: &dyn State| {
                let mut plan = plan.lock().expect("no plan panics while it holds the lock");
                plan(state, &lost)
            };
            match self.ledger.append(Box::new(plan)).await {
                // What a build made may have been swept; then the change forgets the build as well.
                Err(StoreError::MissingBlob { digest }) if !gone.contains(&digest) => {
                    gone.push(digest);
                }
                appended => break appended.map_err(Error::from),
            }
        };
        if appended.is_err() {
            self.paths.forget();
        }
        unsettled.settle(appended.as_ref().ok().and_then(Option::as_ref)).await;
        let appended = appended?;
        let decided = outcome.lock().expect("the plan has ended").take();
        let (mut done, compiles) = decided.expect("a ledger runs the plan before it answers")?;
        if let Some(Entry { seq, app_version, .. }) = appended {
            done.entry = Some(seq);
            done.app_version = app_version;
            self.compile_ahead(app, compiles).await;
        }
        Ok(done)
    }

    fn decide<T, E, R>(
        &self,
        (caller, app): (&Caller, &AppName),
        state: &dyn State,
        gone: &[Digest],
        rule: &mut R,
    ) -> Result<(Option<Finished>, Done<T>), E>
    where
        T: Serialize + DeserializeOwned,
        E: From<Error>,
        R: FnMut(&mut Builder<'_>) -> Result<T, E>,
    {
        if let Some(done) = remembered(caller, state)? {
            return Ok((None, done));
        }
        unmoved(caller, state)?;
        let mut builder = Builder::new(state, caller, app, self.clock.as_ref());
        for digest in gone {
            builder.forget_builds(*digest).map_err(Error::from)?;
        }
        let result = rule(&mut builder)?;
        if let Some(marking) = &caller.marking {
            object::mark(&mut builder, marking).map_err(Error::from)?;
        }
        let mut finished = builder.finish().map_err(Error::from)?;
        let release = finished.as_mut().and_then(|finished| finished.released.take());
        let changed = finished.is_some();
        let mut done = Done { result, changed, app_version: None, entry: None, release };
        if caller.run == Run::Dry {
            return Ok((None, done));
        }
        if let Some(Finished { change, .. }) = &mut finished {
            done.app_version.clone_from(&change.app_version);
            done.entry = state.head().ok().map(|head| head + 1);
            change.answer = caller.repeat.clone().map(|repeat| folio_model::Answer {
                key: repeat.key,
                request: repeat.request,
                body: serde_json::to_value(&done).expect("answers have string keys"),
            });
        }
        Ok((finished, done))
    }

    /// The answer that a repeated request got the first time, if it is one.
    pub(crate) async fn recall<T>(&self, caller: &Caller) -> Result<Option<Done<T>>, Error>
    where
        T: DeserializeOwned + Send + 'static,
    {
        if caller.repeat.is_none() {
            return Ok(None);
        }
        let caller = caller.clone();
        self.look(move |state| remembered(&caller, state)).await
    }

    /// Reads one consistent state.
    pub(crate) async fn look<T, E, R>(&self, rule: R) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        R: FnOnce(&dyn State) -> Result<T, E> + Send + 'static,
    {
        let outcome = Arc::new(Mutex::new(None));
        let seen = Arc::clone(&outcome);
        let look = move |state: &dyn State| {
            let answer = rule(state);
            *seen.lock().expect("no rule panics while it holds the lock") = Some(answer);
            Ok(())
        };
        self.ledger.view(Box::new(look)).await?;
        let answer = outcome.lock().expect("the look has ended").take();
        answer.expect("a ledger runs the look before it answers")
    }

    /// Refuses a name or description that is longer than those that people read.
    pub fn check_text(&self, what: &'static str, text: &str) -> Result<(), Error> {
        let max = self.limits().text_bytes_max;
        let bytes = text.len();
        if bytes as u64 > max { Err(Error::TextTooLong { what, bytes, max }) } else { Ok(()) }
    }
}

/// Refuses to have live follow a new release while a rollout moves it.
pub(crate) fn refuse_promotion(builder: &Builder<'_>) -> Result<(), Error> {
    if *builder.releasing() != Releasing::Promote {
        return Ok(());
    }
    match crate::canary::rollout(builder.state, builder.app())? {
        Some(found) => Err(Error::Rolling(found.name)),
        None => Ok(()),
    }
}

/// Refuses to act on pointers that moved since the caller looked.
fn unmoved(caller: &Caller, state: &dyn State) -> Result<(), Error> {
    for (pointer, seen) in &caller.seen {
        let found = state.place(pointer)?.map(|(_, revision)| revision);
        if found != *seen {
            return Err(StoreError::Conflict { what: pointer.to_string() }.into());
        }
    }
    Ok(())
}

fn remembered<T: DeserializeOwned>(
    caller: &Caller,
    state: &dyn State,
) -> Result<Option<Done<T>>, Error> {
    let Some(repeat) = &caller.repeat else { return Ok(None) };
    match state.answer(&repeat.key)? {
        None => Ok(None),
        Some(answer) if answer.request != repeat.request => {
            Err(Error::KeyReused(repeat.key.clone()))
        }
        Some(answer) => serde_json::from_value(answer.body)
            .map(Some)
            .map_err(|_| StoreError::corrupt(format!("the answer to `{}`", repeat.key)).into()),
    }
}
