//! Environments of an app.

use folio_core::Folio;
use folio_core::environment::EnvironmentView;
use folio_core::request::Onto;
use folio_core::view::{Done, Removed};

use super::Outcome;
use crate::decode::{AppPath, Ask, Change, EnvironmentPath, Given, Nothing};
use crate::encode::{Answer, Created};
use crate::wire::{Items, NewEnvironment, NewEnvironmentFields};

pub(crate) async fn list(
    folio: Folio,
    ask: Ask<AppPath>,
) -> Outcome<Answer<Items<EnvironmentView>>> {
    let items = folio.environments(&ask.path.app).await?;
    Ok(Answer(Items { items }))
}

pub(crate) async fn show(
    folio: Folio,
    ask: Ask<EnvironmentPath>,
) -> Outcome<Answer<EnvironmentView>> {
    Ok(Answer(folio.show_environment(&ask.path.key()).await?))
}

pub(crate) async fn create(
    folio: Folio,
    change: Change<AppPath, Nothing, Given<NewEnvironment>>,
) -> Outcome<Created<EnvironmentView>> {
    let onto = (Onto::Nothing, change.revision()?);
    let Given(NewEnvironment { name, fields }) = change.body;
    let key = EnvironmentPath::new(change.path.app, name).key();
    Ok(Created(folio.set_environment(&change.caller, &key, fields, onto).await?))
}

pub(crate) async fn update(
    folio: Folio,
    change: Change<EnvironmentPath, Nothing, Given<NewEnvironmentFields>>,
) -> Outcome<Answer<Done<EnvironmentView>>> {
    let onto = (Onto::Existing, change.revision_of_existing());
    let (key, Given(NewEnvironmentFields { fields })) = (change.path.key(), change.body);
    Ok(Answer(folio.set_environment(&change.caller, &key, fields, onto).await?))
}

pub(crate) async fn delete(
    folio: Folio,
    change: Change<EnvironmentPath>,
) -> Outcome<Answer<Done<Removed>>> {
    let (key, expect) = (change.path.key(), change.revision_of_existing());
    Ok(Answer(folio.delete_environment(&change.caller, &key, expect).await?))
}
