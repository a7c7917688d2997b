//! Releases of an app, the tags on them, and what is live.

use folio_core::Folio;
use folio_core::moves::{TagMove, TagName};
use folio_core::release::{Deletion, Expiry, LiveMove, ReleaseView};
use folio_core::view::Done;
use folio_model::Number;

use super::Outcome;
use crate::decode::{
    AppPath, Ask, BelowQuery, Change, DeletionQuery, Given, Maybe, Nothing, ReleasePath,
    ReleaseTagPath, page_items,
};
use crate::encode::{Answer, Created};
use crate::wire::{Items, NewLive, NewRelease, NewReleaseTag, Page, RollBackLive};

pub(crate) async fn list(
    folio: Folio,
    ask: Ask<AppPath, BelowQuery>,
) -> Outcome<Answer<Page<ReleaseView>>> {
    let limit = page_items(&folio, ask.query.limit);
    let below = ask.query.below.map(Number::get);
    let items = folio.releases(&ask.path.app, below, limit).await?;
    Ok(Answer(Page::new(items, limit, |release| release.made_in)))
}

pub(crate) async fn show(folio: Folio, ask: Ask<ReleasePath>) -> Outcome<Answer<ReleaseView>> {
    Ok(Answer(folio.show_release(&ask.path.app, &ask.path.release.0).await?))
}

pub(crate) async fn create(
    folio: Folio,
    change: Change<AppPath, Nothing, Given<NewRelease>>,
) -> Outcome<Created<ReleaseView>> {
    change.unconditional()?;
    let Given(NewRelease { app_version, if_same }) = change.body;
    let (caller, app) = (&change.caller, &change.path.app);
    Ok(Created(folio.create_release(caller, app, app_version.0, if_same).await?))
}

pub(crate) async fn delete(
    folio: Folio,
    change: Change<ReleasePath, DeletionQuery>,
) -> Outcome<Answer<Done<ReleaseView>>> {
    change.unconditional()?;
    let DeletionQuery { replace_with, untag } = change.query;
    let deletion = Deletion { replace_with: replace_with.map(|name| name.0), untag };
    let which = (&change.path.app, &change.path.release.0);
    Ok(Answer(folio.delete_release(&change.caller, which, deletion).await?))
}

pub(crate) async fn would_expire(folio: Folio, ask: Ask<AppPath>) -> Outcome<Answer<Expiry>> {
    Ok(Answer(folio.would_expire(&ask.path.app).await?))
}

pub(crate) async fn expire(folio: Folio, change: Change<AppPath>) -> Outcome<Answer<Done<Expiry>>> {
    change.unconditional()?;
    Ok(Answer(folio.expire_releases(&change.caller, &change.path.app).await?))
}

pub(crate) async fn tag(
    folio: Folio,
    change: Change<ReleaseTagPath, Nothing, Given<NewReleaseTag>>,
) -> Outcome<Answer<Done<ReleaseView>>> {
    change.unconditional()?;
    let Given(NewReleaseTag { release, from }) = change.body;
    let tag = (&change.path.app, &change.path.tag);
    Ok(Answer(folio.tag_release(&change.caller, tag, &release.0, from.as_ref()).await?))
}

pub(crate) async fn untag(
    folio: Folio,
    change: Change<ReleaseTagPath>,
) -> Outcome<Answer<Done<ReleaseView>>> {
    change.unconditional()?;
    let ReleaseTagPath { app, tag } = &change.path;
    Ok(Answer(folio.untag_release(&change.caller, app, tag).await?))
}

pub(crate) async fn tag_history(
    folio: Folio,
    ask: Ask<ReleaseTagPath>,
) -> Outcome<Answer<Items<TagMove>>> {
    let ReleaseTagPath { app, tag } = ask.path;
    Ok(Answer(Items { items: folio.tag_moves(&app, &TagName::Release(tag)).await? }))
}

pub(crate) async fn set_live(
    folio: Folio,
    change: Change<AppPath, Nothing, Given<NewLive>>,
) -> Outcome<Answer<Done<ReleaseView>>> {
    change.unconditional()?;
    let Given(NewLive { release }) = change.body;
    Ok(Answer(folio.set_live(&change.caller, &change.path.app, &release.0).await?))
}

pub(crate) async fn follow(
    folio: Folio,
    change: Change<AppPath>,
) -> Outcome<Answer<Done<ReleaseView>>> {
    change.unconditional()?;
    Ok(Answer(folio.follow_live(&change.caller, &change.path.app).await?))
}

pub(crate) async fn roll_back(
    folio: Folio,
    change: Change<AppPath, Nothing, Maybe<RollBackLive>>,
) -> Outcome<Answer<Done<ReleaseView>>> {
    change.unconditional()?;
    let to = change.body.0.to.map(|name| name.0);
    Ok(Answer(folio.roll_back_live(&change.caller, &change.path.app, to.as_ref()).await?))
}

pub(crate) async fn history(folio: Folio, ask: Ask<AppPath>) -> Outcome<Answer<Items<LiveMove>>> {
    Ok(Answer(Items { items: folio.live_history(&ask.path.app).await? }))
}
