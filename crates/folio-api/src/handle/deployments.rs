//! Deployments: directories of manifests that are applied as one.

use folio_core::Folio;
use folio_core::apply::{Applied, DeployedUnit};
use folio_core::view::Done;

use super::Outcome;
use crate::decode::{AppPath, Ask, Change, DeploymentQuery, Given, Nothing};
use crate::encode::Answer;
use crate::wire::{Items, NewDeployment};

pub(crate) async fn list(
    folio: Folio,
    ask: Ask<AppPath, DeploymentQuery>,
) -> Outcome<Answer<Items<DeployedUnit>>> {
    let items = folio.deployed(&ask.path.app, ask.query.uid.as_deref()).await?;
    Ok(Answer(Items { items }))
}

pub(crate) async fn apply(
    folio: Folio,
    change: Change<AppPath, Nothing, Given<NewDeployment>>,
) -> Outcome<Answer<Done<Applied>>> {
    let Given(deployment) = change.body;
    let (apply, run) = deployment.asked();
    Ok(Answer(folio.apply(&change.caller, &change.path.app, apply, run).await?))
}
