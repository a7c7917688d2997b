//! Tags of an app.

use folio_core::Folio;
use folio_core::moves::{TagMove, TagName};
use folio_core::view::{Done, TagView};

use super::Outcome;
use crate::decode::{AppPath, Ask, Change, Given, MemberPath, Nothing, TagPath};
use crate::encode::Answer;
use crate::wire::{Items, NewMembers};

pub(crate) async fn list(folio: Folio, ask: Ask<AppPath>) -> Outcome<Answer<Items<TagView>>> {
    let items = folio.tags(&ask.path.app).await?;
    Ok(Answer(Items { items }))
}

pub(crate) async fn show(folio: Folio, ask: Ask<TagPath>) -> Outcome<Answer<TagView>> {
    Ok(Answer(folio.show_tag(&ask.path.app, &ask.path.tag).await?))
}

pub(crate) async fn add(
    folio: Folio,
    change: Change<TagPath, Nothing, Given<NewMembers>>,
) -> Outcome<Answer<Done<TagView>>> {
    let expect = change.revision()?;
    let tag = (&change.path.app, &change.path.tag);
    Ok(Answer(folio.tag(&change.caller, tag, change.body.0.functions, expect).await?))
}

pub(crate) async fn remove(
    folio: Folio,
    change: Change<MemberPath>,
) -> Outcome<Answer<Done<TagView>>> {
    let expect = change.revision_of_existing();
    let MemberPath { app, tag, function } = change.path;
    Ok(Answer(folio.untag(&change.caller, (&app, &tag), vec![function], expect).await?))
}

pub(crate) async fn delete(
    folio: Folio,
    change: Change<TagPath>,
) -> Outcome<Answer<Done<TagView>>> {
    let (tag, expect) = ((&change.path.app, &change.path.tag), change.revision_of_existing());
    Ok(Answer(folio.delete_tag(&change.caller, tag, expect).await?))
}

pub(crate) async fn history(folio: Folio, ask: Ask<TagPath>) -> Outcome<Answer<Items<TagMove>>> {
    let TagPath { app, tag } = ask.path;
    Ok(Answer(Items { items: folio.tag_moves(&app, &TagName::Functions(tag)).await? }))
}
