//! Workers as Pods, which can only be read: there is one for each process that serves a function version, and one for
//! all instances of a version that runs as wasm. What waits for a function is in no app and not shown.

use async_trait::async_trait;
use folio_core::Folio;
use folio_core::ports::runtime::WorkerStatus;
use folio_model::{AppName, Name};
use serde_json::{Value, json};

use crate::kube::mapping::{Item, Listing, Mapping};
use crate::kube::object::written;
use crate::kube::status::Status;
use crate::kube::table::{AGE, Column, column, wide};

/// `Pod`.
#[derive(Debug)]
pub(crate) struct Pods;

/// A worker of an app.
#[derive(Debug, Clone)]
pub(crate) struct Worker {
    pub(crate) name: String,
    pub(crate) function: Name,
    /// The version's id, or `draft`.
    pub(crate) version: String,
    /// Its process, if it is one.
    pub(crate) pid: Option<u32>,
    status: WorkerStatus,
}

#[async_trait]
impl Mapping for Pods {
    fn columns(&self) -> Vec<Column> {
        vec![
            column("Ready", &["/status/ready"]),
            column("Status", &["/status/phase"]),
            column("Restarts", &["/status/containerStatuses/0/restartCount"]),
            AGE,
            wide("Function", &["/metadata/labels/function"]),
            wide("Version", &["/metadata/labels/version"]),
            wide("Served", &["/status/served"]),
        ]
    }

    fn is_lively(&self) -> bool {
        true
    }

    async fn list(&self, of: &Listing<'_>) -> Result<Vec<Item>, Status> {
        Ok(workers(of.folio, of.app).iter().map(|worker| item(of.app, worker)).collect())
    }
}

/// The workers of an app.
pub(crate) fn workers(folio: &Folio, app: &AppName) -> Vec<Worker> {
    let all = folio.status().runtime.map(|runtime| runtime.workers).unwrap_or_default();
    let own = all.into_iter().filter(|worker| worker.app.as_ref() == Some(app));
    let named = own.filter_map(|status| {
        let (function, version) = (status.function.clone()?, status.version.clone()?);
        let last = match status.pid {
            Some(pid) => pid.to_string(),
            None => status.environment.to_string(),
        };
        let name = format!("{function}-{version}-{last}").to_lowercase();
        Some(Worker { name, function, version, pid: status.pid, status })
    });
    named.collect()
}

fn item(app: &AppName, worker: &Worker) -> Item {
    let labels = vec![
        ("environment", worker.status.environment.to_string()),
        ("function", worker.function.to_string()),
        ("version", worker.version.clone()),
    ];
    let created_at = Some(worker.status.started_at);
    Item { labels, created_at, ..Item::new(app, worker.name.as_str(), body(worker)) }
}

fn body(worker: &Worker) -> Value {
    let (name, image) = (worker.function.as_str(), worker.status.environment.as_str());
    json!({
        "spec": {
            "containers": [{ "name": name, "image": image, "resources": {} }],
            "restartPolicy": "Always", "nodeName": "folio",
        },
        "status": {
            "phase": "Running", "ready": "1/1", "served": worker.status.served,
            "conditions": [{ "type": "Ready", "status": "True" }],
            "containerStatuses": [{
                "name": name, "image": image, "imageID": "", "ready": true, "started": true,
                "restartCount": 0, "state": { "running": { "startedAt": written(worker.status.started_at) } },
            }],
        },
    })
}
