//! Aliases as Fission writes them: an object's name is the alias. Where several functions have an alias of that name,
//! each is shown with its function's name before it.

use std::collections::HashMap;

use async_trait::async_trait;
use folio_core::apply::Document;
use folio_core::object::identity;
use folio_core::request::Expect;
use folio_core::view::AliasView;
use folio_model::AppName;
use serde_json::{Value, json};
use uuid::Uuid;

use super::alias;
use crate::kube::mapping::{Item, Listing, Made, Mapping, Put, Remove};
use crate::kube::object::owner;
use crate::kube::resource::WRITE;
use crate::kube::status::Status;
use crate::kube::table::{AGE, Column, column};

/// `FunctionAlias` of `fission.io`.
#[derive(Debug)]
pub(crate) struct FunctionAliases;

#[async_trait]
impl Mapping for FunctionAliases {
    fn verbs(&self) -> &'static [&'static str] {
        WRITE
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            column("Function", &["/spec/functionName"]),
            column("Version", &["/status/resolvedVersion"]),
            column("Weight", &["/spec/weight"]),
            column("Secondary", &["/spec/secondaryVersion"]),
            AGE,
        ]
    }

    fn identity(&self, (_, app): (&str, &AppName), object: &Value) -> Uuid {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let function = text(&object["spec"]["functionName"]).parse();
        match (function, text(&object["metadata"]["name"]).parse()) {
            (Ok(function), Ok(alias)) => identity::function_alias(app, &function, &alias),
            // What has no such names is refused.
            _ => Uuid::nil(),
        }
    }

    async fn list(&self, of: &Listing<'_>) -> Result<Vec<Item>, Status> {
        let all = alias::all(of.folio, of.app).await?;
        let mut named: HashMap<_, usize> = HashMap::new();
        for (_, alias) in &all {
            *named.entry(alias.name.clone()).or_default() += 1;
        }
        // Fission has a word for one version, and for two that share the calls.
        let spoken = all.iter().filter(|(_, alias)| matches!(alias.targets.len(), 1 | 2));
        let items = spoken.map(|(unit, alias)| Item {
            uid: Some(identity::function_alias(of.app, &alias.function, &alias.name)),
            pointers: vec![alias::pointer(*unit, alias)],
            labels: alias::labels(alias),
            ..Item::new(of.app, name(alias, named[&alias.name]), body(alias))
        });
        Ok(items.collect())
    }

    async fn put(&self, put: &Put<'_>) -> Result<Made, Status> {
        let mut manifest = put.after.clone();
        if let Some(before) = put.before {
            let was = &before.body["spec"]["functionName"];
            if manifest["spec"]["functionName"] != *was {
                let what = format!(
                    "spec.functionName: Forbidden: \"{}\" is an alias of {was}; the kind Alias of folio.dev/v1 has a name \
                     for the same alias of another function",
                    put.name
                );
                return Err(Status::invalid("spec.functionName", what));
            }
            let alias = before.labels.iter().find(|(key, _)| *key == "alias");
            manifest["metadata"]["name"] = alias.map(|(_, name)| name.as_str()).into();
        }
        let document = document(put, manifest);
        let done =
            put.folio.put_pointer(put.caller, put.app()?, &document, owner(put.after)).await?;
        let mut made = Made::told(put, &done);
        made.warnings.extend(new_remarks(done.result.remarks));
        Ok(made)
    }

    async fn remove(&self, remove: &Remove<'_>) -> Result<(), Status> {
        let (key, alias) = alias::key_of(remove)?;
        remove.folio.delete_alias(remove.caller, (&key, &alias), Expect::Present).await?;
        Ok(())
    }
}

/// A manifest of a pointer, without what a server adds.
pub(super) fn document(put: &Put<'_>, mut manifest: Value) -> Document {
    if let Some(object) = manifest.as_object_mut() {
        object.remove("status");
    }
    manifest["apiVersion"] = put.target.api_version().into();
    manifest["kind"] = put.target.resource.kind.into();
    let at = format!("{} {}", put.target.resource.kind, put.name);
    Document { at, manifest, source: None, deployment: None }
}

/// What is to be told of a pointer. Fields that nobody knows are told of by whoever reads the request.
pub(super) fn new_remarks(mut remarks: Vec<String>) -> Vec<String> {
    remarks.retain(|remark| !remark.contains("unknown field"));
    remarks
}

fn name(alias: &AliasView, of_that_name: usize) -> String {
    match of_that_name {
        1 => alias.name.to_string(),
        _ => format!("{}-{}", alias.function, alias.name),
    }
}

fn body(alias: &AliasView) -> Value {
    let version = |index: usize| {
        let target = alias.targets.get(index)?;
        Some(target.id.as_ref().map_or_else(|| target.number.to_string(), ToString::to_string))
    };
    let mut spec = json!({ "functionName": alias.function, "version": version(0) });
    if let Some(second) = version(1) {
        spec["weight"] = alias.targets.first().map(|target| target.weight / 100).into();
        spec["secondaryVersion"] = second.into();
    }
    let conditions = json!([{ "type": "Ready", "status": "True", "reason": "Resolved" }]);
    json!({ "spec": spec, "status": { "resolvedVersion": version(0), "conditions": conditions } })
}
