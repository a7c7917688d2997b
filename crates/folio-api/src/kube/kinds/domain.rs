//! Domains: hosts of an app's own. An object's name is the host; there is nothing else to say.

use async_trait::async_trait;
use folio_core::domain::DomainView;
use folio_model::{DomainName, Pointer, Timestamp};
use serde_json::json;

use crate::kube::mapping::{Item, Listing, Made, Mapping, Put, Remove};
use crate::kube::resource::WRITE;
use crate::kube::status::Status;
use crate::kube::table::{AGE, Column};

/// `Domain` of `folio.dev`.
#[derive(Debug)]
pub(crate) struct Domains;

#[async_trait]
impl Mapping for Domains {
    fn verbs(&self) -> &'static [&'static str] {
        WRITE
    }

    fn columns(&self) -> Vec<Column> {
        vec![AGE]
    }

    async fn list(&self, of: &Listing<'_>) -> Result<Vec<Item>, Status> {
        let mut items = Vec::new();
        for view in of.folio.domains(of.app).await? {
            let moves = of.folio.domain_history(of.app, &view.domain).await?;
            items.push(item(&view, moves.iter().find(|step| step.added).map(|step| step.at)));
        }
        Ok(items)
    }

    async fn put(&self, put: &Put<'_>) -> Result<Made, Status> {
        let domain: DomainName = put.named()?;
        let host = &put.after["spec"]["host"];
        if !host.is_null() && host != domain.as_str() {
            let what = format!("{host}: the host is the object's name, `{domain}`");
            return Err(Put::wrong("spec.host", what));
        }
        put.folio.add_domain(put.caller, put.app()?, &domain).await?;
        Ok(Made::default())
    }

    async fn remove(&self, remove: &Remove<'_>) -> Result<(), Status> {
        let (name, target) = (&remove.found.name, remove.target);
        let domain: DomainName = name.parse().map_err(|_| target.not_found(name))?;
        remove.folio.remove_domain(remove.caller, target.app()?, &domain).await?;
        Ok(())
    }
}

fn item(view: &DomainView, since: Option<Timestamp>) -> Item {
    let pointer = Pointer::Domain { name: view.domain.clone() };
    let body = json!({ "spec": { "host": view.domain } });
    Item {
        pointers: vec![(pointer, view.revision)],
        created_at: since,
        ..Item::new(&view.app, view.domain.as_str(), body)
    }
}
