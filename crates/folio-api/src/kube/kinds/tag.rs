//! Tags: named sets of function versions.

use async_trait::async_trait;
use folio_core::view::TagView;
use folio_model::{Name, Number, Pointer, Reference, VersionId};
use serde::Deserialize;
use serde_json::json;

use crate::kube::mapping::{Item, Listing, Made, Mapping, Put, Remove};
use crate::kube::resource::WRITE;
use crate::kube::status::Status;
use crate::kube::table::{AGE, Column, column};

/// `Tag` of `folio.dev`.
#[derive(Debug)]
pub(crate) struct Tags;

#[derive(Deserialize)]
struct TagSpec {
    members: Vec<Member>,
}

#[derive(Deserialize)]
struct Member {
    function: Name,
    number: Option<Number>,
    version: Option<String>,
}

#[async_trait]
impl Mapping for Tags {
    fn verbs(&self) -> &'static [&'static str] {
        WRITE
    }

    fn columns(&self) -> Vec<Column> {
        vec![column("Members", &["/status/members"]), AGE]
    }

    async fn list(&self, of: &Listing<'_>) -> Result<Vec<Item>, Status> {
        Ok(of.folio.tags(of.app).await?.into_iter().map(item).collect())
    }

    async fn put(&self, put: &Put<'_>) -> Result<Made, Status> {
        let TagSpec { members } = put.spec()?;
        let tag: VersionId = put.named()?;
        if members.is_empty() {
            return Err(Put::required("spec.members", "a tag has members; delete it instead"));
        }
        let references = members.iter().map(reference).collect::<Result<Vec<_>, _>>()?;
        let expect = if put.before.is_some() { None } else { Some(0) };
        let tag = (put.app()?, &tag);
        let done = put.folio.set_members(put.caller, tag, references, expect).await?;
        Ok(Made::told(put, &done))
    }

    async fn remove(&self, remove: &Remove<'_>) -> Result<(), Status> {
        let name = &remove.found.name;
        let tag: VersionId = name.parse().map_err(|_| remove.target.not_found(name))?;
        remove.folio.delete_tag(remove.caller, (remove.target.app()?, &tag), None).await?;
        Ok(())
    }
}

fn reference(member: &Member) -> Result<Reference, Status> {
    let Member { function, number, version } = member;
    let text = match (number, version) {
        (Some(number), None) => format!("{function}@{number}"),
        (None, Some(version)) => format!("{function}@{version}"),
        _ => {
            let what = "each names a version, by `number` or by `version`";
            return Err(Put::required("spec.members", what));
        }
    };
    text.parse().map_err(|error| Put::wrong("spec.members", format_args!("\"{text}\": {error}")))
}

fn item(tag: TagView) -> Item {
    let members: Vec<_> = tag
        .members
        .iter()
        .map(|member| json!({ "function": member.function, "number": member.number }))
        .collect();
    let each = tag.members.iter().map(|member| format!("{}@{}", member.function, member.id));
    let status = json!({ "members": each.collect::<Vec<_>>() });
    let pointer = Pointer::Tag { app: tag.app.clone(), name: tag.name.clone() };
    let body = json!({ "spec": { "members": members }, "status": status });
    Item { pointers: vec![(pointer, tag.revision)], ..Item::new(&tag.app, tag.name.as_str(), body) }
}
