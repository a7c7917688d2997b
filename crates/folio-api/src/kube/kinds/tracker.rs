//! The ordered versions of a function or package, to be read.

use async_trait::async_trait;
use folio_core::ports::Page;
use folio_model::Kind;
use serde_json::json;

use super::version::key;
use crate::kube::mapping::{Item, Listing, Mapping};
use crate::kube::status::Status;
use crate::kube::table::{AGE, Column, LATEST, VERSIONS};

/// `FunctionVersionTracker` and `PackageVersionTracker`.
#[derive(Debug)]
pub(crate) struct Trackers(pub(crate) Kind);

#[async_trait]
impl Mapping for Trackers {
    fn columns(&self) -> Vec<Column> {
        vec![LATEST, VERSIONS, AGE]
    }

    async fn list(&self, of: &Listing<'_>) -> Result<Vec<Item>, Status> {
        let mut items = Vec::new();
        for unit in of.folio.list(of.app, self.0).await? {
            let versions = of.folio.versions(&key(of, &unit), Page::ALL).await?;
            let listed = versions
                .iter()
                .map(|version| json!({ "number": version.number, "id": version.id }));
            let mut spec = json!({ "versions": listed.collect::<Vec<_>>() });
            spec[self.0.as_str()] = unit.name.as_str().into();
            let mut status = json!({ "versions": versions.len() });
            if let Some(latest) = &unit.latest {
                spec["latest"] = json!(latest.number);
                status["latest"] = latest.id.as_str().into();
            }
            let body = json!({ "spec": spec, "status": status });
            items.push(Item {
                changed_in: Some(unit.revision),
                created_at: versions.first().map(|version| version.created_at),
                labels: vec![(self.0.as_str(), unit.name.to_string())],
                ..Item::new(of.app, unit.name.as_str(), body)
            });
        }
        Ok(items)
    }
}
