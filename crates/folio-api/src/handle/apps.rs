//! Apps, and how much they may have.

use folio_core::Folio;
use folio_core::app::{AppSummary, PlanChange, PlanView};
use folio_core::request::Cascade;
use folio_core::view::Done;

use super::Outcome;
use crate::decode::{AppPath, Ask, CascadeQuery, Change, Given, Nothing};
use crate::encode::{Answer, Created};
use crate::wire::{Items, NewApp};

pub(crate) async fn list(folio: Folio, ask: Ask) -> Outcome<Answer<Items<AppSummary>>> {
    Ok(Answer(Items { items: folio.apps(&ask.caller).await? }))
}

pub(crate) async fn show(folio: Folio, ask: Ask<AppPath>) -> Outcome<Answer<AppSummary>> {
    Ok(Answer(folio.show_app(&ask.path.app).await?))
}

pub(crate) async fn create(
    folio: Folio,
    change: Change<Nothing, Nothing, Given<NewApp>>,
) -> Outcome<Created<AppSummary>> {
    change.unconditional()?;
    Ok(Created(folio.create_app(&change.caller, &change.body.0.name).await?))
}

pub(crate) async fn delete(
    folio: Folio,
    change: Change<AppPath, CascadeQuery>,
) -> Outcome<Answer<Done<AppSummary>>> {
    change.unconditional()?;
    let cascade = if change.query.cascade { Cascade::Yes } else { Cascade::No };
    Ok(Answer(folio.delete_app(&change.caller, &change.path.app, cascade).await?))
}

pub(crate) async fn set_plan(
    folio: Folio,
    change: Change<AppPath, Nothing, Given<PlanChange>>,
) -> Outcome<Answer<Done<PlanView>>> {
    change.unconditional()?;
    let Given(plan) = change.body;
    Ok(Answer(folio.set_plan(&change.caller, &change.path.app, plan).await?))
}
