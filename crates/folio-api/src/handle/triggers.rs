//! Triggers of an app that are no routes: timers, message queues and watches.

use folio_core::Folio;
use folio_core::request::Onto;
use folio_core::trigger::TriggerView;
use folio_core::view::{Done, Removed};

use super::Outcome;
use crate::decode::{AppPath, Ask, Change, Given, Nothing, TriggerPath, TriggerQuery};
use crate::encode::{Answer, Created};
use crate::wire::{Items, NewTrigger, NewTriggerFields};

pub(crate) async fn list(
    folio: Folio,
    ask: Ask<AppPath, TriggerQuery>,
) -> Outcome<Answer<Items<TriggerView>>> {
    let items = folio.triggers_of(&ask.path.app, ask.query.of).await?;
    Ok(Answer(Items { items }))
}

pub(crate) async fn show(folio: Folio, ask: Ask<TriggerPath>) -> Outcome<Answer<TriggerView>> {
    Ok(Answer(folio.show_trigger(&ask.path.app, &ask.path.name).await?))
}

pub(crate) async fn create(
    folio: Folio,
    change: Change<AppPath, Nothing, Given<NewTrigger>>,
) -> Outcome<Created<TriggerView>> {
    let onto = (Onto::Nothing, change.revision()?);
    let Given(NewTrigger { name, fields }) = change.body;
    let trigger = (&change.path.app, name.as_ref());
    Ok(Created(folio.set_trigger(&change.caller, trigger, fields, onto).await?))
}

pub(crate) async fn update(
    folio: Folio,
    change: Change<TriggerPath, Nothing, Given<NewTriggerFields>>,
) -> Outcome<Answer<Done<TriggerView>>> {
    let onto = (Onto::Existing, change.revision_of_existing());
    let Given(NewTriggerFields { fields }) = change.body;
    let trigger = (&change.path.app, Some(&change.path.name));
    Ok(Answer(folio.set_trigger(&change.caller, trigger, fields, onto).await?))
}

pub(crate) async fn delete(
    folio: Folio,
    change: Change<TriggerPath>,
) -> Outcome<Answer<Done<Removed>>> {
    let expect = change.revision_of_existing();
    let trigger = (&change.path.app, &change.path.name);
    Ok(Answer(folio.delete_trigger(&change.caller, trigger, expect).await?))
}
