//! Webhooks: URLs that run a function for whoever calls them.

use async_trait::async_trait;
use folio_core::binding::{BindingFields, BindingKind, BindingView, NewBinding, NewTerms};
use folio_model::{BindingTerms, Name, Reference, Signing, Webhook};
use serde::Deserialize;
use serde_json::{Value, json};

use super::binding;
use crate::kube::mapping::{Item, Listing, Made, Mapping, Put, Remove};
use crate::kube::resource::WRITE;
use crate::kube::status::Status;
use crate::kube::table::{AGE, Column, column, wide};

/// `Webhook` of `folio.dev`.
#[derive(Debug)]
pub(crate) struct Webhooks;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WebhookSpec {
    function: Reference,
    calls_per_minute_max: Option<u32>,
    signing: Option<Signing>,
    description: Option<String>,
}

#[async_trait]
impl Mapping for Webhooks {
    fn verbs(&self) -> &'static [&'static str] {
        WRITE
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            column("Function", &["/spec/function"]),
            column("Url", &["/status/url"]),
            AGE,
            wide("Calls/Minute", &["/spec/callsPerMinuteMax"]),
            wide("Signed", &["/spec/signing/secret"]),
            wide("Description", &["/spec/description"]),
        ]
    }

    async fn list(&self, of: &Listing<'_>) -> Result<Vec<Item>, Status> {
        binding::list(of, BindingKind::Webhook, body).await
    }

    async fn put(&self, put: &Put<'_>) -> Result<Made, Status> {
        let spec: WebhookSpec = put.spec()?;
        match put.before {
            Some(before) => change(put, before, spec).await?,
            None => make(put, spec).await?,
        }
        Ok(Made::default())
    }

    async fn remove(&self, remove: &Remove<'_>) -> Result<(), Status> {
        let (found, target) = (remove.found, remove.target);
        let id = binding::id(found).ok_or_else(|| target.not_found(&found.name))?;
        remove.folio.unbind(remove.caller, (target.app()?, id), BindingKind::Webhook).await?;
        Ok(())
    }
}

async fn make(put: &Put<'_>, spec: WebhookSpec) -> Result<(), Status> {
    let name: Name = put.named()?;
    let to = binding::to(put, &spec.function).await?;
    let WebhookSpec { calls_per_minute_max, signing, description, .. } = spec;
    let terms = NewTerms::Webhook(Webhook { calls_per_minute_max, signing, ..Webhook::default() });
    let new = NewBinding { to, name: Some(name.to_string()), description, terms };
    put.folio.bind(put.caller, put.app()?, new).await?;
    Ok(())
}

async fn change(put: &Put<'_>, before: &Item, spec: WebhookSpec) -> Result<(), Status> {
    let what = "it can be changed, not taken away; delete the webhook and make it anew";
    binding::refuse_removed(put, before, &["callsPerMinuteMax", "signing"], what)?;
    let mut fields = BindingFields::default();
    if binding::differs(put, before, "function") {
        fields.to = Some(binding::to(put, &spec.function).await?);
    }
    if binding::differs(put, before, "description") {
        fields.description = Some(spec.description.unwrap_or_default());
    }
    let WebhookSpec { calls_per_minute_max, signing, .. } = spec;
    fields.webhook = Webhook { calls_per_minute_max, signing, ..Webhook::default() };
    let id = binding::id(before).ok_or_else(|| put.target.not_found(put.name))?;
    put.folio.rebind(put.caller, (put.app()?, id), BindingKind::Webhook, fields).await?;
    Ok(())
}

fn body(view: &BindingView) -> Value {
    let BindingTerms::Webhook(webhook) = &view.binding.terms else { return json!({}) };
    let mut spec = json!({ "function": view.function });
    if let Some(max) = webhook.calls_per_minute_max {
        spec["callsPerMinuteMax"] = max.into();
    }
    if let Some(signing) = &webhook.signing {
        spec["signing"] = json!(signing);
    }
    if let Some(text) = view.binding.description.as_deref().filter(|text| !text.is_empty()) {
        spec["description"] = text.into();
    }
    json!({ "spec": spec, "status": { "id": view.id, "url": view.url } })
}
