//! Functions and packages, and their drafts.

use folio_core::Folio;
use folio_core::request::{Cascade, Onto};
use folio_core::view::{Done, Removed, UnitView};

use super::Outcome;
use crate::decode::{AppPath, Ask, CascadeQuery, Change, Given, KindPath, Nothing, UnitPath};
use crate::encode::{Answer, Created};
use crate::wire::{Items, NewFields, NewUnit};

pub(crate) async fn list(folio: Folio, ask: Ask<KindPath>) -> Outcome<Answer<Items<UnitView>>> {
    let items = folio.list(&ask.path.app, ask.path.kind.0).await?;
    Ok(Answer(Items { items }))
}

pub(crate) async fn create(
    folio: Folio,
    change: Change<KindPath, Nothing, Given<NewUnit>>,
) -> Outcome<Created<UnitView>> {
    let expect = change.revision()?;
    let Given(NewUnit { name, fields }) = change.body;
    let (key, onto) = (change.path.unit(name), (Onto::Nothing, expect));
    Ok(Created(folio.set_draft(&change.caller, &key, fields, onto).await?))
}

pub(crate) async fn show(folio: Folio, ask: Ask<UnitPath>) -> Outcome<Answer<UnitView>> {
    Ok(Answer(folio.show(&ask.path.key()).await?))
}

pub(crate) async fn update(
    folio: Folio,
    change: Change<UnitPath, Nothing, Given<NewFields>>,
) -> Outcome<Answer<Done<UnitView>>> {
    let onto = (Onto::Existing, change.revision_of_existing());
    let Given(NewFields { fields }) = change.body;
    Ok(Answer(folio.set_draft(&change.caller, &change.path.key(), fields, onto).await?))
}

pub(crate) async fn delete(
    folio: Folio,
    change: Change<UnitPath, CascadeQuery>,
) -> Outcome<Answer<Done<Removed>>> {
    let cascade = if change.query.cascade { Cascade::Yes } else { Cascade::No };
    let expect = change.revision_of_existing();
    Ok(Answer(folio.delete(&change.caller, &change.path.key(), cascade, expect).await?))
}

pub(crate) async fn orphans(folio: Folio, ask: Ask<AppPath>) -> Outcome<Answer<Items<UnitView>>> {
    Ok(Answer(Items { items: folio.orphans(&ask.path.app).await? }))
}

pub(crate) async fn delete_orphans(
    folio: Folio,
    change: Change<AppPath>,
) -> Outcome<Answer<Done<Removed>>> {
    change.unconditional()?;
    Ok(Answer(folio.delete_orphans(&change.caller, &change.path.app).await?))
}
