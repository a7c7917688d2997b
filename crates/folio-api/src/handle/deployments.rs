//! Deployments: directories of manifests that are applied as one.

use folio_core::Folio;
use folio_core::apply::{Applied, DeployedUnit, Run};
use folio_core::view::Done;

use super::Outcome;
use crate::decode::{AppPath, Ask, Change, DeploymentQuery, Given, Maybe, MomentPath, Nothing};
use crate::encode::Answer;
use crate::wire::{GroupRollback, Items, NewDeployment};

pub(crate) async fn list(
    folio: Folio,
    ask: Ask<AppPath, DeploymentQuery>,
) -> Outcome<Answer<Items<DeployedUnit>>> {
    let items = folio.deployed(&ask.path.app, ask.query.uid.as_deref()).await?;
    Ok(Answer(Items { items }))
}

pub(crate) async fn roll_back(
    folio: Folio,
    change: Change<MomentPath, Nothing, Maybe<GroupRollback>>,
) -> Outcome<Answer<Done<Applied>>> {
    change.unconditional()?;
    let run = if change.body.0.dry_run { Run::Dry } else { Run::Real };
    let MomentPath { app, at } = &change.path;
    Ok(Answer(folio.roll_back_group(&change.caller, app, at.0.clone(), run).await?))
}

pub(crate) async fn apply(
    folio: Folio,
    change: Change<AppPath, Nothing, Given<NewDeployment>>,
) -> Outcome<Answer<Done<Applied>>> {
    let Given(deployment) = change.body;
    let (apply, run) = deployment.asked();
    Ok(Answer(folio.apply(&change.caller, &change.path.app, apply, run).await?))
}
