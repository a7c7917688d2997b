//! Domains: hosts of an app's own.

use folio_core::Folio;
use folio_core::domain::{DomainMove, DomainView};
use folio_core::view::Done;

use super::Outcome;
use crate::decode::{AppPath, Ask, Change, DomainPath};
use crate::encode::Answer;
use crate::wire::Items;

pub(crate) async fn list(folio: Folio, ask: Ask<AppPath>) -> Outcome<Answer<Items<DomainView>>> {
    Ok(Answer(Items { items: folio.domains(&ask.path.app).await? }))
}

pub(crate) async fn add(
    folio: Folio,
    change: Change<DomainPath>,
) -> Outcome<Answer<Done<DomainView>>> {
    change.unconditional()?;
    let DomainPath { app, domain } = &change.path;
    Ok(Answer(folio.add_domain(&change.caller, app, domain).await?))
}

pub(crate) async fn remove(
    folio: Folio,
    change: Change<DomainPath>,
) -> Outcome<Answer<Done<DomainView>>> {
    change.unconditional()?;
    let DomainPath { app, domain } = &change.path;
    Ok(Answer(folio.remove_domain(&change.caller, app, domain).await?))
}

pub(crate) async fn history(
    folio: Folio,
    ask: Ask<DomainPath>,
) -> Outcome<Answer<Items<DomainMove>>> {
    let items = folio.domain_history(&ask.path.app, &ask.path.domain).await?;
    Ok(Answer(Items { items }))
}
