//! Expires releases without being asked: what the rules of an app no longer keep, and what is over its budget of bytes. It
//! decides as [`Folio::expire_releases`] does, but for the plan, which acts when a release is made and when it is lowered.
//! Start at [`Folio::run_expiry`].

use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

use folio_model::{Actor, AppName, Place, Pointer};
use tokio::time::Instant;

use super::make::expire;
use super::retention;
use super::{Error, Standing};
use crate::Folio;
use crate::ports::{Releases, State, StoreError};
use crate::request::Caller;

/// How long it may take until a release goes that only became too old, or is over a budget that was lowered. Whoever
/// changes the rules has that long to see with a dry run what they would take, and to keep it.
const PAUSE: Duration = Duration::from_secs(10 * 60);

/// How long changes are waited for, so that all apps are not looked at once for each of many.
const REST: Duration = Duration::from_secs(1);

/// Why an app is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Because {
    /// A release was made.
    Released,
    /// Time went by.
    Time,
}

/// The newest release of every app that was looked at.
type Looked = BTreeMap<AppName, u64>;

/// An app that has a budget or rules, and the entries that say so and that made its newest release.
struct Ruled {
    app: AppName,
    rules: u64,
    newest: u64,
    budget: bool,
}

impl Folio {
    /// Expires what is due until told to stop: what is over its budget of bytes within a second of the release that made it so,
    /// and everything every ten minutes.
    pub async fn run_expiry(&self, shutdown: impl Future<Output = ()>) -> Result<(), StoreError> {
        let (mut head, mut looked, mut because) = (self.head(), Looked::new(), Because::Released);
        tokio::pin!(shutdown);
        let mut again = tokio::time::interval_at(Instant::now() + PAUSE, PAUSE);
        loop {
            head.borrow_and_update();
            if let Err(error) = self.expire_due(&mut looked, because).await {
                tracing::error!(%error, "Releases that are due could not be expired");
            }
            because = tokio::select! {
                () = &mut shutdown => return Ok(()),
                _ = head.changed() => Because::Released,
                _ = again.tick() => Because::Time,
            };
            if because == Because::Released {
                tokio::select! {
                    () = &mut shutdown => return Ok(()),
                    () = tokio::time::sleep(REST) => {}
                }
            }
        }
    }

    async fn expire_due(&self, looked: &mut Looked, because: Because) -> Result<(), Error> {
        let ruled = self.look(|state| {
            let ruled = state.apps()?.into_iter().map(|app| ruled(state, app));
            ruled.collect::<Result<Vec<_>, StoreError>>()
        });
        for found in ruled.await?.into_iter().flatten() {
            let is_new = looked.insert(found.app.clone(), found.newest) != Some(found.newest);
            let is_due = match because {
                // The other rules acted when it was made.
                Because::Released => is_new && found.budget && found.rules < found.newest,
                Because::Time => true,
            };
            if is_due {
                self.expire_of(&found).await?;
            }
        }
        Ok(())
    }

    async fn expire_of(&self, ruled: &Ruled) -> Result<(), Error> {
        let app = &ruled.app;
        let sizes = self.release_sizes(app).await?;
        let (of, clock, known) = (app.clone(), self.clock.clone(), sizes.clone());
        let due = self.look(move |state| {
            let standing = unplanned(Standing::read(state, &of)?);
            let fates = retention::judge(&standing, clock.now(), known.as_ref());
            Ok::<_, Error>(fates.iter().any(|fate| fate.expires.is_some()))
        });
        if !due.await? {
            return Ok(());
        }
        let (of, caller, rules) = (app.clone(), Caller::new(Actor::system()), ruled.rules);
        let done = self.commit(&caller, app, move |builder| {
            let now = self::ruled(builder.state, of.clone())?;
            // Rules that were changed meanwhile have their time as well.
            if now.is_none_or(|now| now.rules != rules) {
                return Ok(Vec::new());
            }
            let mut standing = unplanned(Standing::read(builder.state, &of)?);
            builder.say("expire releases that are due".to_owned());
            Ok::<_, Error>(expire(builder, &mut standing, sizes.as_ref())?.expired)
        });
        let expired = done.await?.result;
        tracing::info!(app.name = %app, "Expired {} releases of `{app}` that were due", expired.len());
        Ok(())
    }
}

/// What decides when an app is looked at; none if nothing of it is ever due.
fn ruled(state: &dyn State, app: AppName) -> Result<Option<Ruled>, StoreError> {
    let Some((Place::Plan(plan), rules)) = state.place(&Pointer::Plan { app: app.clone() })? else {
        return Ok(None);
    };
    let retention = &plan.policy.retention;
    if !retention.is_timely() {
        return Ok(None);
    }
    let newest = state.releases(&app, Releases::Before(u64::MAX, 1))?.pop();
    let budget = retention.bytes.is_some();
    Ok(newest.map(|newest| Ruled { app, rules, newest: newest.release.entry, budget }))
}

/// How everything stands, without the plan: what it leaves no room for goes when a release is made.
fn unplanned(mut standing: Standing) -> Standing {
    standing.plan.releases = u32::MAX;
    standing
}
