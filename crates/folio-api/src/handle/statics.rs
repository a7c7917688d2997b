//! Static items: files that are served as they are.

use folio_core::Folio;
use folio_core::static_item::{StaticFields, StaticView};
use folio_core::view::{Done, Removed};

use super::Outcome;
use crate::decode::{AppPath, Ask, Change, Given, Nothing, StaticPath};
use crate::encode::Answer;
use crate::wire::Items;

pub(crate) async fn list(folio: Folio, ask: Ask<AppPath>) -> Outcome<Answer<Items<StaticView>>> {
    Ok(Answer(Items { items: folio.statics(&ask.path.app).await? }))
}

pub(crate) async fn show(folio: Folio, ask: Ask<StaticPath>) -> Outcome<Answer<StaticView>> {
    Ok(Answer(folio.show_static(&ask.path.app, &ask.path.name).await?))
}

pub(crate) async fn set(
    folio: Folio,
    change: Change<StaticPath, Nothing, Given<StaticFields>>,
) -> Outcome<Answer<Done<StaticView>>> {
    let expect = change.revision()?;
    let (StaticPath { app, name }, Given(fields)) = (&change.path, change.body);
    Ok(Answer(folio.set_static(&change.caller, (app, name), fields, expect).await?))
}

pub(crate) async fn delete(
    folio: Folio,
    change: Change<StaticPath>,
) -> Outcome<Answer<Done<Removed>>> {
    let expect = change.revision_of_existing();
    let StaticPath { app, name } = &change.path;
    Ok(Answer(folio.delete_static(&change.caller, (app, name), expect).await?))
}
