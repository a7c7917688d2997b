//! Canaries over routes, as manifests of either group write them. Those over aliases and releases have no manifest.

use async_trait::async_trait;
use folio_core::canary::CanaryView;
use folio_kinds::spec;
use folio_model::{CanaryPhase, Name, Pointer};
use serde_json::{Value, json};

use super::function_alias::{document, new_remarks};
use crate::kube::mapping::{Item, Listing, Made, Mapping, Put, Remove};
use crate::kube::object::owner;
use crate::kube::resource::WRITE;
use crate::kube::status::Status;
use crate::kube::table::{AGE, Column, column};

/// `CanaryConfig`.
#[derive(Debug)]
pub(crate) struct Canaries;

#[async_trait]
impl Mapping for Canaries {
    fn verbs(&self) -> &'static [&'static str] {
        WRITE
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            column("Route", &["/spec/trigger", "/spec/route"]),
            column("New", &["/spec/newfunction", "/spec/new"]),
            column("Weight", &["/status/weight"]),
            column("Status", &["/status/status"]),
            AGE,
        ]
    }

    /// A canary moves by itself; what was written of how it goes about it holds as long as it means the same.
    fn still_says(&self, shown: &Item, asked: &Value, _since: u64) -> bool {
        let spoken = |spec: &Value| {
            let group =
                if spec.get("trigger").is_some() { "fission.io/v1" } else { "folio.dev/v1" };
            let manifest = json!({
                "apiVersion": group, "kind": "CanaryConfig", "metadata": { "name": shown.name },
                "spec": spec,
            });
            let written = spec::written(manifest).ok().flatten()?;
            spec::pointer(&written.manifest).ok().flatten()
        };
        let is_same_group =
            asked.get("trigger").is_some() == shown.body["spec"].get("trigger").is_some();
        is_same_group
            && spoken(asked).is_some_and(|asked| spoken(&shown.body["spec"]) == Some(asked))
    }

    async fn list(&self, of: &Listing<'_>) -> Result<Vec<Item>, Status> {
        let canaries = of.folio.canaries(of.app).await?;
        let routes = canaries.into_iter().filter(|canary| canary.trigger.is_some());
        Ok(routes.map(|canary| item(of, canary)).collect())
    }

    async fn put(&self, put: &Put<'_>) -> Result<Made, Status> {
        let document = document(put, put.after.clone());
        let done =
            put.folio.put_pointer(put.caller, put.app()?, &document, owner(put.after)).await?;
        let mut made = Made::told(put, &done);
        made.warnings.extend(new_remarks(done.result.remarks));
        Ok(made)
    }

    async fn remove(&self, remove: &Remove<'_>) -> Result<(), Status> {
        let name = &remove.found.name;
        let name: Name = name.parse().map_err(|_| remove.target.not_found(name))?;
        let of = (remove.target.app()?, &name);
        remove.folio.delete_canary(remove.caller, of, None).await?;
        Ok(())
    }
}

fn item(of: &Listing<'_>, canary: CanaryView) -> Item {
    let pointer = Pointer::Canary { app: of.app.clone(), name: canary.name.clone() };
    let (step, interval) = (canary.plan.step / 100, duration(canary.plan.interval_ms));
    let failures = canary.plan.threshold_percent;
    let spec = match of.target.resource.group {
        "fission.io" => json!({
            "trigger": canary.trigger, "newfunction": canary.new, "oldfunction": canary.old,
            "weightincrement": step, "duration": interval, "failurethreshold": failures,
            "failureType": "status-code",
        }),
        _ => json!({
            "route": canary.trigger, "new": canary.new, "old": canary.old, "step": step,
            "interval": interval, "failuresMax": failures, "failureType": "status-code",
        }),
    };
    let weight = folio_model::percent(canary.weight).replace(' ', "");
    let status = json!({ "status": phase(&canary.phase), "weight": weight });
    let body = json!({ "spec": spec, "status": status });
    let created_at = canary.steps.first().map(|step| step.at);
    let pointers = vec![(pointer, canary.revision)];
    Item { pointers, created_at, ..Item::new(of.app, canary.name.as_str(), body) }
}

/// How far a canary is, in Fission's words.
fn phase(phase: &CanaryPhase) -> &'static str {
    match phase {
        CanaryPhase::Succeeded => "succeeded",
        CanaryPhase::Failed { .. } => "failed",
        CanaryPhase::Aborted { .. } => "aborted",
        _ => "pending",
    }
}

/// A duration as manifests write it: `90s`, `2m`, `1h`.
fn duration(ms: u64) -> String {
    match ms {
        ms if ms % 3_600_000 == 0 => format!("{}h", ms / 3_600_000),
        ms if ms % 60_000 == 0 => format!("{}m", ms / 60_000),
        ms if ms % 1000 == 0 => format!("{}s", ms / 1000),
        ms => format!("{ms}ms"),
    }
}
