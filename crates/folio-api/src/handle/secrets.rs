//! Secrets of an app. Values come in and never go out.

use folio_core::Folio;
use folio_core::request::Onto;
use folio_core::secret::{SecretSet, SecretView};
use folio_core::settings::SettingRemoved;
use folio_core::view::Done;

use super::Outcome;
use crate::decode::{AppPath, Ask, Change, Given, Nothing, SecretPath};
use crate::encode::{Answer, Created};
use crate::wire::{Items, NewName, NewSecret, NewSecretFields};

pub(crate) async fn list(folio: Folio, ask: Ask<AppPath>) -> Outcome<Answer<Items<SecretView>>> {
    let items = folio.secrets(&ask.path.app).await?;
    Ok(Answer(Items { items }))
}

pub(crate) async fn show(folio: Folio, ask: Ask<SecretPath>) -> Outcome<Answer<SecretView>> {
    Ok(Answer(folio.show_secret(&ask.path.key()).await?))
}

pub(crate) async fn create(
    folio: Folio,
    change: Change<AppPath, Nothing, Given<NewSecret>>,
) -> Outcome<Created<SecretSet>> {
    let onto = (Onto::Nothing, change.revision()?);
    let Given(NewSecret { name, fields }) = change.body;
    let key = SecretPath::new(change.path.app, name).key();
    Ok(Created(folio.set_secret(&change.caller, &key, fields, onto).await?))
}

pub(crate) async fn update(
    folio: Folio,
    change: Change<SecretPath, Nothing, Given<NewSecretFields>>,
) -> Outcome<Answer<Done<SecretSet>>> {
    let onto = (Onto::Existing, change.revision_of_existing());
    let (key, Given(NewSecretFields { fields })) = (change.path.key(), change.body);
    Ok(Answer(folio.set_secret(&change.caller, &key, fields, onto).await?))
}

pub(crate) async fn rename(
    folio: Folio,
    change: Change<SecretPath, Nothing, Given<NewName>>,
) -> Outcome<Answer<Done<SecretSet>>> {
    let (key, expect) = (change.path.key(), change.revision_of_existing());
    let Given(NewName { name }) = change.body;
    Ok(Answer(folio.rename_secret(&change.caller, &key, &name, expect).await?))
}

pub(crate) async fn delete(
    folio: Folio,
    change: Change<SecretPath>,
) -> Outcome<Answer<Done<SettingRemoved>>> {
    let (key, expect) = (change.path.key(), change.revision_of_existing());
    Ok(Answer(folio.delete_secret(&change.caller, &key, expect).await?))
}
