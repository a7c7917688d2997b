//! Aliases of functions.

use folio_core::Folio;
use folio_core::request::Expect;
use folio_core::view::{AliasView, Done, MoveView};

use super::Outcome;
use crate::decode::{AliasPath, Ask, Change, FunctionPath, Given, Maybe, Nothing};
use crate::encode::{Answer, Created};
use crate::wire::{Items, NewAlias, NewTargets, Rollback, targets};

pub(crate) async fn list(
    folio: Folio,
    ask: Ask<FunctionPath>,
) -> Outcome<Answer<Items<AliasView>>> {
    let items = folio.aliases(&ask.path.key()).await?;
    Ok(Answer(Items { items }))
}

pub(crate) async fn create(
    folio: Folio,
    change: Change<FunctionPath, Nothing, Given<NewAlias>>,
) -> Outcome<Created<AliasView>> {
    change.unconditional()?;
    let (key, Given(alias)) = (change.path.key(), change.body);
    let (to, expect) = (targets(alias.targets), Expect::Absent);
    Ok(Created(folio.point(&change.caller, (&key, &alias.name), to, expect).await?))
}

pub(crate) async fn point(
    folio: Folio,
    change: Change<AliasPath, Nothing, Given<NewTargets>>,
) -> Outcome<Answer<Done<AliasView>>> {
    let (key, expect) = (change.path.key(), change.expect());
    let (alias, to) = (&change.path.alias, targets(change.body.0.targets));
    Ok(Answer(folio.point(&change.caller, (&key, alias), to, expect).await?))
}

pub(crate) async fn delete(
    folio: Folio,
    change: Change<AliasPath>,
) -> Outcome<Answer<Done<AliasView>>> {
    let alias = (&change.path.key(), &change.path.alias);
    Ok(Answer(folio.delete_alias(&change.caller, alias, change.expect()).await?))
}

pub(crate) async fn history(folio: Folio, ask: Ask<AliasPath>) -> Outcome<Answer<Items<MoveView>>> {
    let items = folio.alias_history(&ask.path.key(), &ask.path.alias).await?;
    Ok(Answer(Items { items }))
}

pub(crate) async fn roll_back(
    folio: Folio,
    change: Change<AliasPath, Nothing, Maybe<Rollback>>,
) -> Outcome<Answer<Done<AliasView>>> {
    let (key, expect) = (change.path.key(), change.expect());
    let (alias, to) = (&change.path.alias, change.body.0.target());
    Ok(Answer(folio.roll_back(&change.caller, (&key, alias), to, expect).await?))
}
