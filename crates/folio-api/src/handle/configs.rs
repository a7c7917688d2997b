//! Configs of an app.

use folio_core::Folio;
use folio_core::config::{ConfigSet, ConfigView};
use folio_core::settings::SettingRemoved;
use folio_core::view::Done;

use super::Outcome;
use crate::decode::{AppPath, Ask, Change, ConfigPath, Given, Nothing};
use crate::encode::Answer;
use crate::wire::{Items, NewConfigFields};

pub(crate) async fn list(folio: Folio, ask: Ask<AppPath>) -> Outcome<Answer<Items<ConfigView>>> {
    let items = folio.configs(&ask.path.app).await?;
    Ok(Answer(Items { items }))
}

pub(crate) async fn show(folio: Folio, ask: Ask<ConfigPath>) -> Outcome<Answer<ConfigView>> {
    Ok(Answer(folio.show_config(&ask.path.key()).await?))
}

pub(crate) async fn set(
    folio: Folio,
    change: Change<ConfigPath, Nothing, Given<NewConfigFields>>,
) -> Outcome<Answer<Done<ConfigSet>>> {
    let (key, expect) = (change.path.key(), change.revision()?);
    let Given(NewConfigFields { fields }) = change.body;
    Ok(Answer(folio.set_config(&change.caller, &key, fields, expect).await?))
}

pub(crate) async fn delete(
    folio: Folio,
    change: Change<ConfigPath>,
) -> Outcome<Answer<Done<SettingRemoved>>> {
    let (key, expect) = (change.path.key(), change.revision_of_existing());
    Ok(Answer(folio.delete_config(&change.caller, &key, expect).await?))
}
