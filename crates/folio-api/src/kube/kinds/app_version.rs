//! App versions, and what each holds, to be read.

use async_trait::async_trait;
use folio_core::history::Moment;
use folio_model::Kind;
use serde_json::json;

use super::NEWEST;
use crate::kube::mapping::{Item, Listing, Mapping};
use crate::kube::object::written;
use crate::kube::status::Status;
use crate::kube::table::{AGE, Column, column, wide};

/// Groups that are shown; each holds all of the app.
const GROUPS: usize = 100;

/// `AppVersion` of `folio.dev`.
#[derive(Debug)]
pub(crate) struct AppVersions;

/// `GroupVersionTracker` of `folio.dev`.
#[derive(Debug)]
pub(crate) struct Groups;

#[async_trait]
impl Mapping for AppVersions {
    fn columns(&self) -> Vec<Column> {
        vec![
            column("Number", &["/spec/number"]),
            column("Message", &["/spec/message"]),
            column("By", &["/spec/by"]),
            AGE,
            wide("Commit", &["/spec/git/commit"]),
        ]
    }

    async fn list(&self, of: &Listing<'_>) -> Result<Vec<Item>, Status> {
        let versions = of.folio.app_versions(of.app, None, NEWEST).await?;
        let items = versions.into_iter().map(|view| {
            let version = view.version;
            let mut spec = json!({
                "app": of.app, "number": version.number, "entry": version.entry,
                "at": written(version.at), "by": version.by, "message": version.message,
            });
            if let Some(git) = &version.git {
                spec["git"] =
                    json!({ "commit": git.commit, "branch": git.branch, "clean": git.clean });
            }
            Item {
                changed_in: Some(version.entry),
                created_at: Some(version.at),
                ..Item::new(of.app, version.id.as_str(), json!({ "spec": spec }))
            }
        });
        Ok(items.collect())
    }
}

#[async_trait]
impl Mapping for Groups {
    fn columns(&self) -> Vec<Column> {
        vec![
            column("Members", &["/status/members"]),
            column("Commit", &["/spec/commit"]),
            column("Clean", &["/spec/clean"]),
            AGE,
            wide("Branch", &["/spec/branch"]),
        ]
    }

    async fn list(&self, of: &Listing<'_>) -> Result<Vec<Item>, Status> {
        let mut items = Vec::new();
        for version in of.folio.app_versions(of.app, None, GROUPS).await? {
            let version = version.version;
            let view = of.folio.app_at(of.app, Moment::Id(version.id.clone())).await?;
            let units = view.units.iter();
            let units = units.filter(|unit| matches!(unit.kind, Kind::Function | Kind::Package));
            let members = units.map(|unit| {
                json!({ "kind": unit.kind, "name": unit.name, "number": unit.number, "id": unit.newest() })
            });
            let members: Vec<_> = members.collect();
            let status = json!({ "members": members.len() });
            let mut spec = json!({ "appVersion": version.id, "members": members });
            if let Some(git) = &view.git {
                spec["commit"] = git.commit.clone().into();
                spec["branch"] = git.branch.clone().into();
                spec["clean"] = if git.clean { "yes" } else { "no" }.into();
            }
            items.push(Item {
                changed_in: Some(version.entry),
                created_at: Some(version.at),
                ..Item::new(of.app, version.id.as_str(), json!({ "spec": spec, "status": status }))
            });
        }
        Ok(items)
    }
}
