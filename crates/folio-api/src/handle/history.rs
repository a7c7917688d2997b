//! What is, what was, and how it differs.

use folio_core::Folio;
use folio_core::diff::{AppDiffView, DiffView};
use folio_core::history::{LogLine, Moment};
use folio_core::release::AppVersionView;
use folio_core::undo::Undone;
use folio_core::view::{AppView, Done, ResolvedView};
use folio_model::Number;

use super::Outcome;
use crate::decode::{
    AppPath, Ask, BelowQuery, Change, CompareQuery, DiffQuery, Maybe, MomentPath, Nothing,
    ReferenceQuery, TimeQuery, page_items,
};
use crate::encode::Answer;
use crate::wire::{Page, Undo};

pub(crate) async fn resolve(
    folio: Folio,
    ask: Ask<AppPath, ReferenceQuery>,
) -> Outcome<Answer<ResolvedView>> {
    let ReferenceQuery { reference, kind } = ask.query;
    Ok(Answer(folio.resolve(&ask.caller, &ask.path.app, kind, &reference).await?))
}

pub(crate) async fn diff(folio: Folio, ask: Ask<AppPath, DiffQuery>) -> Outcome<Answer<DiffView>> {
    let DiffQuery { kind, from, to } = ask.query;
    Ok(Answer(folio.diff(&ask.caller, (&ask.path.app, kind), &from, &to).await?))
}

pub(crate) async fn app_versions(
    folio: Folio,
    ask: Ask<AppPath, BelowQuery>,
) -> Outcome<Answer<Page<AppVersionView>>> {
    let limit = page_items(&folio, ask.query.limit);
    let items = folio.app_versions(&ask.path.app, ask.query.below, limit).await?;
    Ok(Answer(Page::new(items, limit, |found| found.version.number.get())))
}

pub(crate) async fn app_version(folio: Folio, ask: Ask<MomentPath>) -> Outcome<Answer<AppView>> {
    Ok(Answer(folio.app_at(&ask.path.app, ask.path.at.0).await?))
}

pub(crate) async fn app_at(folio: Folio, ask: Ask<AppPath, TimeQuery>) -> Outcome<Answer<AppView>> {
    Ok(Answer(folio.app_at(&ask.path.app, Moment::Time(ask.query.time)).await?))
}

pub(crate) async fn compare(
    folio: Folio,
    ask: Ask<AppPath, CompareQuery>,
) -> Outcome<Answer<AppDiffView>> {
    let CompareQuery { from, to } = ask.query;
    Ok(Answer(folio.app_diff(&ask.path.app, from.0, to.0).await?))
}

pub(crate) async fn log(
    folio: Folio,
    ask: Ask<AppPath, BelowQuery>,
) -> Outcome<Answer<Page<LogLine>>> {
    let limit = page_items(&folio, ask.query.limit);
    let below = ask.query.below.map(Number::get);
    let items = folio.log(&ask.path.app, below, limit).await?;
    Ok(Answer(Page::new(items, limit, |line| line.entry.seq)))
}

pub(crate) async fn undo(
    folio: Folio,
    change: Change<AppPath, Nothing, Maybe<Undo>>,
) -> Outcome<Answer<Done<Undone>>> {
    change.unconditional()?;
    let entry = change.body.0.entry;
    Ok(Answer(folio.undo(&change.caller, &change.path.app, entry).await?))
}
