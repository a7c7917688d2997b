//! Canaries of an app.

use folio_core::Folio;
use folio_core::canary::CanaryView;
use folio_core::view::Done;

use super::Outcome;
use crate::decode::{AppPath, Ask, CanaryPath, Change, Given, Nothing};
use crate::encode::{Answer, Created};
use crate::wire::{Items, NewCanaryFields, StartCanary};

pub(crate) async fn list(folio: Folio, ask: Ask<AppPath>) -> Outcome<Answer<Items<CanaryView>>> {
    Ok(Answer(Items { items: folio.canaries(&ask.path.app).await? }))
}

pub(crate) async fn show(folio: Folio, ask: Ask<CanaryPath>) -> Outcome<Answer<CanaryView>> {
    Ok(Answer(folio.show_canary(&ask.path.app, &ask.path.name).await?))
}

pub(crate) async fn start(
    folio: Folio,
    change: Change<AppPath, Nothing, Given<StartCanary>>,
) -> Outcome<Created<CanaryView>> {
    let Given(StartCanary { name, canary }) = change.body;
    let at = (&change.path.app, &name);
    Ok(Created(folio.start_canary(&change.caller, at, canary).await?))
}

pub(crate) async fn update(
    folio: Folio,
    change: Change<CanaryPath, Nothing, Given<NewCanaryFields>>,
) -> Outcome<Answer<Done<CanaryView>>> {
    let expect = change.revision_of_existing();
    let Given(NewCanaryFields { fields }) = change.body;
    let at = (&change.path.app, &change.path.name);
    Ok(Answer(folio.change_canary(&change.caller, at, fields, expect).await?))
}

pub(crate) async fn delete(
    folio: Folio,
    change: Change<CanaryPath>,
) -> Outcome<Answer<Done<CanaryView>>> {
    let expect = change.revision_of_existing();
    let at = (&change.path.app, &change.path.name);
    Ok(Answer(folio.delete_canary(&change.caller, at, expect).await?))
}
