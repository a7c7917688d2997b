//! Releases that share what is live, rollouts from one to another, and how an app treats its releases.

use folio_core::Folio;
use folio_core::canary::{CanaryView, NewRollout};
use folio_core::release::{Keeping, LiveSplit, LiveView, PolicyChange, ReleaseView};
use folio_core::view::Done;
use folio_model::ReleasePolicy;

use super::Outcome;
use crate::decode::{AppPath, Ask, Change, Given, Nothing, ReleasePath};
use crate::encode::{Answer, Created};
use crate::wire::{MoveRollout, NewLiveSplit, StartRollout};

pub(crate) async fn live(folio: Folio, ask: Ask<AppPath>) -> Outcome<Answer<LiveView>> {
    Ok(Answer(folio.show_live(&ask.path.app).await?))
}

pub(crate) async fn split(
    folio: Folio,
    change: Change<AppPath, Nothing, Given<NewLiveSplit>>,
) -> Outcome<Answer<Done<LiveView>>> {
    change.unconditional()?;
    let Given(NewLiveSplit { shares, sticky }) = change.body;
    let shares = shares.into_iter().map(|share| (share.release.0, share.weight)).collect();
    let split = LiveSplit { shares, sticky };
    Ok(Answer(folio.split_live(&change.caller, &change.path.app, split).await?))
}

pub(crate) async fn start(
    folio: Folio,
    change: Change<AppPath, Nothing, Given<StartRollout>>,
) -> Outcome<Created<CanaryView>> {
    change.unconditional()?;
    let Given(StartRollout { release, sticky, fields }) = change.body;
    let new = NewRollout { release: release.0, sticky, fields };
    Ok(Created(folio.start_rollout(&change.caller, &change.path.app, new).await?))
}

pub(crate) async fn show(folio: Folio, ask: Ask<AppPath>) -> Outcome<Answer<CanaryView>> {
    Ok(Answer(folio.show_rollout(&ask.path.app).await?))
}

pub(crate) async fn drive(
    folio: Folio,
    change: Change<AppPath, Nothing, Given<MoveRollout>>,
) -> Outcome<Answer<Done<CanaryView>>> {
    change.unconditional()?;
    let Given(MoveRollout { to }) = change.body;
    Ok(Answer(folio.move_rollout(&change.caller, &change.path.app, to).await?))
}

pub(crate) async fn policy(folio: Folio, ask: Ask<AppPath>) -> Outcome<Answer<ReleasePolicy>> {
    Ok(Answer(folio.show_policy(&ask.path.app).await?))
}

pub(crate) async fn set_policy(
    folio: Folio,
    change: Change<AppPath, Nothing, Given<PolicyChange>>,
) -> Outcome<Answer<Done<ReleasePolicy>>> {
    change.unconditional()?;
    let Given(policy) = change.body;
    Ok(Answer(folio.set_policy(&change.caller, &change.path.app, policy).await?))
}

pub(crate) async fn keep(
    folio: Folio,
    change: Change<ReleasePath>,
) -> Outcome<Answer<Done<ReleaseView>>> {
    change.unconditional()?;
    let which = (&change.path.app, &change.path.release.0);
    Ok(Answer(folio.keep_release(&change.caller, which, Keeping::Keep).await?))
}

pub(crate) async fn let_go(
    folio: Folio,
    change: Change<ReleasePath>,
) -> Outcome<Answer<Done<ReleaseView>>> {
    change.unconditional()?;
    let which = (&change.path.app, &change.path.release.0);
    Ok(Answer(folio.keep_release(&change.caller, which, Keeping::LetGo).await?))
}
