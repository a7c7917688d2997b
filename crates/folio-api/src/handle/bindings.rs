//! Jobs and webhooks: what runs functions at set times, or for whoever calls a URL.

use folio_core::Folio;
use folio_core::binding::{BindingFields, BindingKind, BindingView, NewBinding, NewTerms};
use folio_core::view::Done;
use folio_model::Webhook;

use super::Outcome;
use crate::decode::{AppPath, Ask, BindingPath, Change, Given, Nothing};
use crate::encode::{Answer, Created};
use crate::wire::{Items, NewJob, NewJobFields, NewWebhook, NewWebhookFields};

pub(crate) async fn jobs(folio: Folio, ask: Ask<AppPath>) -> Outcome<Answer<Items<BindingView>>> {
    Ok(Answer(Items { items: folio.bindings(&ask.path.app, BindingKind::Job).await? }))
}

pub(crate) async fn webhooks(
    folio: Folio,
    ask: Ask<AppPath>,
) -> Outcome<Answer<Items<BindingView>>> {
    Ok(Answer(Items { items: folio.bindings(&ask.path.app, BindingKind::Webhook).await? }))
}

pub(crate) async fn job(folio: Folio, ask: Ask<BindingPath>) -> Outcome<Answer<BindingView>> {
    let at = (&ask.path.app, ask.path.id);
    Ok(Answer(folio.show_binding(at, BindingKind::Job).await?))
}

pub(crate) async fn webhook(folio: Folio, ask: Ask<BindingPath>) -> Outcome<Answer<BindingView>> {
    let at = (&ask.path.app, ask.path.id);
    Ok(Answer(folio.show_binding(at, BindingKind::Webhook).await?))
}

pub(crate) async fn create_job(
    folio: Folio,
    change: Change<AppPath, Nothing, Given<NewJob>>,
) -> Outcome<Created<BindingView>> {
    change.unconditional()?;
    let (app, Given(new)) = (&change.path.app, &change.body);
    let to = folio.bound_to(&change.caller, app, &new.function).await?;
    let terms = NewTerms::Job(new.times());
    let new = NewBinding { to, name: new.name.clone(), description: None, terms };
    Ok(Created(folio.bind(&change.caller, app, new).await?))
}

pub(crate) async fn create_webhook(
    folio: Folio,
    change: Change<AppPath, Nothing, Given<NewWebhook>>,
) -> Outcome<Created<BindingView>> {
    change.unconditional()?;
    let (app, Given(new)) = (&change.path.app, &change.body);
    let to = folio.bound_to(&change.caller, app, &new.function).await?;
    let (calls_per_minute_max, signing) = (new.calls_per_minute_max, new.signing.clone());
    let terms = NewTerms::Webhook(Webhook { calls_per_minute_max, signing, ..Webhook::default() });
    let new = NewBinding { to, name: None, description: new.description.clone(), terms };
    Ok(Created(folio.bind(&change.caller, app, new).await?))
}

pub(crate) async fn update_job(
    folio: Folio,
    change: Change<BindingPath, Nothing, Given<NewJobFields>>,
) -> Outcome<Answer<Done<BindingView>>> {
    change.unconditional()?;
    let Given(new) = &change.body;
    let (name, job) = (new.name.clone(), new.fields());
    let fields = BindingFields { name, job, ..BindingFields::default() };
    let at = (&change.path.app, change.path.id);
    Ok(Answer(folio.rebind(&change.caller, at, BindingKind::Job, fields).await?))
}

pub(crate) async fn update_webhook(
    folio: Folio,
    change: Change<BindingPath, Nothing, Given<NewWebhookFields>>,
) -> Outcome<Answer<Done<BindingView>>> {
    change.unconditional()?;
    let Given(new) = &change.body;
    let to = match &new.function {
        Some(function) => Some(folio.bound_to(&change.caller, &change.path.app, function).await?),
        None => None,
    };
    let (calls_per_minute_max, signing) = (new.calls_per_minute_max, new.signing.clone());
    let webhook = Webhook { calls_per_minute_max, signing, ..Webhook::default() };
    let description = new.description.clone();
    let fields = BindingFields { to, description, webhook, ..BindingFields::default() };
    let at = (&change.path.app, change.path.id);
    Ok(Answer(folio.rebind(&change.caller, at, BindingKind::Webhook, fields).await?))
}

pub(crate) async fn delete_job(
    folio: Folio,
    change: Change<BindingPath>,
) -> Outcome<Answer<Done<BindingView>>> {
    change.unconditional()?;
    let at = (&change.path.app, change.path.id);
    Ok(Answer(folio.unbind(&change.caller, at, BindingKind::Job).await?))
}

pub(crate) async fn delete_webhook(
    folio: Folio,
    change: Change<BindingPath>,
) -> Outcome<Answer<Done<BindingView>>> {
    change.unconditional()?;
    let at = (&change.path.app, change.path.id);
    Ok(Answer(folio.unbind(&change.caller, at, BindingKind::Webhook).await?))
}
