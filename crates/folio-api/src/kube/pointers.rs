//! Moves pointers that are shown as objects: aliases, tags, and what is live.

use folio_core::Caller;
use folio_core::release::{Deletion, ReleaseRef};
use folio_core::request::{AliasTarget, Expect};
use folio_model::{Kind, Name, Number, Qualifier, Reference, UnitKey, VersionId};
use serde::Deserialize;
use serde_json::Value;

use super::Asked;
use super::status::Status;

#[derive(Deserialize)]
struct AliasSpec {
    function: Name,
    weights: Vec<Weight>,
}

#[derive(Deserialize)]
struct Weight {
    number: Number,
    weight: u32,
}

#[derive(Deserialize)]
struct TagSpec {
    members: Vec<Member>,
}

#[derive(Deserialize)]
struct Member {
    function: Name,
    number: Number,
}

/// Makes a pointer what an object says.
pub(super) async fn set(
    asked: &Asked,
    caller: &Caller,
    before: Option<&Value>,
    after: &Value,
) -> Result<(), Status> {
    let (folio, app) = (&asked.folio, asked.target.app()?);
    let name = after["metadata"]["name"].as_str().unwrap_or_default();
    let seen = before.map(|_| Expect::Present).unwrap_or(Expect::Absent);
    match asked.target.resource.kind {
        "Alias" => {
            let AliasSpec { function, weights } = spec(after)?;
            let alias = alias_of(name, &function)?;
            let key = UnitKey { app: app.clone(), kind: Kind::Function, name: function };
            let targets = weights.into_iter().map(|Weight { number, weight }| AliasTarget {
                version: Qualifier::Number(number),
                weight,
            });
            folio.point(caller, (&key, &alias), targets.collect(), seen).await?;
        }
        "Tag" => {
            let TagSpec { members } = spec(after)?;
            let tag: VersionId = named(name)?;
            let references: Result<Vec<Reference>, _> = members
                .iter()
                .map(|Member { function, number }| format!("{function}@{number}").parse())
                .collect();
            let references = references
                .map_err(|_| Status::invalid("spec.members", "spec.members: Invalid value"))?;
            let was: Vec<Name> =
                before.map(spec::<TagSpec>).transpose()?.map_or_else(Vec::new, |was| {
                    was.members.into_iter().map(|member| member.function).collect()
                });
            let gone: Vec<_> = was
                .into_iter()
                .filter(|old| !members.iter().any(|member| member.function == *old))
                .collect();
            if !gone.is_empty() {
                let what = "spec.members: Forbidden: a member is taken out with `folio tag remove`";
                return Err(Status::invalid("spec.members", what));
            }
            folio.tag(caller, (app, &tag), references, None).await?;
        }
        _ => {
            if after["spec"]["live"] != true {
                let what = "spec.live: Required value: of a release only `live: true` can be set";
                return Err(Status::invalid("spec.live", what));
            }
            let release: ReleaseRef = name.parse().map_err(|_| asked.target.not_found(name))?;
            folio.set_live(caller, app, &release).await?;
        }
    }
    Ok(())
}

/// Removes a pointer.
pub(super) async fn remove(asked: &Asked, caller: &Caller, name: &str) -> Result<(), Status> {
    let (folio, app) = (&asked.folio, asked.target.app()?);
    match asked.target.resource.kind {
        "Alias" => {
            let found = super::read::one(folio, &asked.target, name).await?;
            let AliasSpec { function, .. } = spec(&found)?;
            let alias = alias_of(name, &function)?;
            let key = UnitKey { app: app.clone(), kind: Kind::Function, name: function };
            folio.delete_alias(caller, (&key, &alias), Expect::Present).await?;
        }
        "Tag" => {
            folio.delete_tag(caller, (app, &named(name)?), None).await?;
        }
        _ => {
            let release: ReleaseRef = name.parse().map_err(|_| asked.target.not_found(name))?;
            folio.delete_release(caller, (app, &release), Deletion::default()).await?;
        }
    }
    Ok(())
}

fn spec<T: for<'de> Deserialize<'de>>(object: &Value) -> Result<T, Status> {
    T::deserialize(&object["spec"])
        .map_err(|error| Status::invalid("spec", format!("spec: Invalid value: {error}")))
}

fn named(name: &str) -> Result<VersionId, Status> {
    name.parse().map_err(|error| {
        Status::invalid(
            "metadata.name",
            format!("metadata.name: Invalid value: \"{name}\": {error}"),
        )
    })
}

/// The alias in the name of its object: that of the function and its own.
fn alias_of(name: &str, function: &Name) -> Result<VersionId, Status> {
    let own = name.strip_prefix(&format!("{function}-"));
    let own = own.ok_or_else(|| {
        let what =
            format!("metadata.name: Invalid value: \"{name}\": it is `{function}-` and the alias");
        Status::invalid("metadata.name", what)
    })?;
    named(own)
}
