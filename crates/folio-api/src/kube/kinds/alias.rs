//! Aliases of folio's own: `hello-prod` is the alias `prod` of the function `hello`.

use async_trait::async_trait;
use folio_core::Folio;
use folio_core::request::{AliasTarget, Expect};
use folio_core::view::AliasView;
use folio_model::{
    AppName, FULL_WEIGHT, Kind, Name, Number, Pointer, Qualifier, UnitKey, UnitUid, VersionId,
};
use serde::Deserialize;
use serde_json::json;

use crate::kube::mapping::{Item, Listing, Made, Mapping, Put, Remove};
use crate::kube::resource::WRITE;
use crate::kube::status::Status;
use crate::kube::table::{AGE, Column, column};

/// `Alias` of `folio.dev`.
#[derive(Debug)]
pub(crate) struct Aliases;

#[derive(Deserialize)]
struct AliasSpec {
    function: Name,
    weights: Vec<Weight>,
}

#[derive(Deserialize)]
struct Weight {
    number: Option<Number>,
    version: Option<String>,
    weight: Option<u32>,
}

#[async_trait]
impl Mapping for Aliases {
    fn verbs(&self) -> &'static [&'static str] {
        WRITE
    }

    fn columns(&self) -> Vec<Column> {
        vec![column("Function", &["/spec/function"]), column("To", &["/status/to"]), AGE]
    }

    async fn list(&self, of: &Listing<'_>) -> Result<Vec<Item>, Status> {
        let all = all(of.folio, of.app).await?;
        Ok(all.into_iter().map(|(unit, alias)| item(of.app, unit, alias)).collect())
    }

    async fn put(&self, put: &Put<'_>) -> Result<Made, Status> {
        let AliasSpec { function, weights } = put.spec()?;
        let alias = alias_of(put.name, &function)?;
        let only = weights.len() == 1;
        let targets = weights.into_iter().map(|weight| target(weight, only));
        let targets = targets.collect::<Result<Vec<_>, _>>()?;
        let key = UnitKey { app: put.app()?.clone(), kind: Kind::Function, name: function };
        let expect = if put.before.is_some() { Expect::Present } else { Expect::Absent };
        let done = put.folio.point(put.caller, (&key, &alias), targets, expect).await?;
        Ok(Made::told(put, &done))
    }

    async fn remove(&self, remove: &Remove<'_>) -> Result<(), Status> {
        let (key, alias) = key_of(remove)?;
        remove.folio.delete_alias(remove.caller, (&key, &alias), Expect::Present).await?;
        Ok(())
    }
}

/// The aliases of an app, with their functions' identities.
pub(super) async fn all(folio: &Folio, app: &AppName) -> Result<Vec<(UnitUid, AliasView)>, Status> {
    let units = folio.list(app, Kind::Function).await?;
    let each = units.into_iter().map(|unit| (unit.uid, unit.aliases));
    Ok(each.flat_map(|(uid, all)| all.into_iter().map(move |alias| (uid, alias))).collect())
}

/// The pointer that an alias is, and the entry that last moved it.
pub(super) fn pointer(unit: UnitUid, alias: &AliasView) -> (Pointer, u64) {
    (Pointer::Alias { unit, name: alias.name.clone() }, alias.revision)
}

/// The alias that an object shows, with its function.
pub(super) fn key_of(remove: &Remove<'_>) -> Result<(UnitKey, VersionId), Status> {
    let missing = || remove.target.not_found(&remove.found.name);
    let label = |key: &str| {
        let mut labels = remove.found.labels.iter();
        labels.find(|(own, _)| *own == key).map(|(_, value)| value.as_str())
    };
    let function = label("function").and_then(|name| name.parse().ok()).ok_or_else(missing)?;
    let alias = label("alias").and_then(|name| name.parse().ok()).ok_or_else(missing)?;
    let key = UnitKey { app: remove.target.app()?.clone(), kind: Kind::Function, name: function };
    Ok((key, alias))
}

fn item(app: &AppName, unit: UnitUid, alias: AliasView) -> Item {
    let weights = alias
        .targets
        .iter()
        .map(|target| json!({ "number": target.number, "weight": target.weight }));
    let body = json!({
        "spec": { "function": alias.function, "weights": weights.collect::<Vec<_>>() },
        "status": { "to": to(&alias) },
    });
    let name = format!("{}-{}", alias.function, alias.name);
    Item {
        pointers: vec![pointer(unit, &alias)],
        labels: labels(&alias),
        ..Item::new(app, name, body)
    }
}

/// What an alias can be selected by.
pub(super) fn labels(alias: &AliasView) -> Vec<(&'static str, String)> {
    vec![("function", alias.function.to_string()), ("alias", alias.name.to_string())]
}

/// Where an alias leads, for people: `v1`, or `v1=80%,v2=20%`.
fn to(alias: &AliasView) -> String {
    let each = alias.targets.iter().map(|target| {
        let name =
            target.id.as_ref().map_or_else(|| target.number.to_string(), ToString::to_string);
        let share = folio_model::percent(target.weight).replace(' ', "");
        if alias.targets.len() == 1 { name } else { format!("{name}={share}") }
    });
    each.collect::<Vec<_>>().join(",")
}

fn target(weight: Weight, only: bool) -> Result<AliasTarget, Status> {
    let wrong = |what: &str| Put::wrong("spec.weights", what);
    let required = |what: &str| Put::required("spec.weights", what);
    let version = match (weight.number, weight.version) {
        (Some(number), None) => Qualifier::Number(number),
        (None, Some(text)) => {
            let parsed: Result<Qualifier, _> = text.parse();
            parsed.map_err(|error| wrong(&format!("\"{text}\": {error}")))?
        }
        _ => return Err(required("each names a version, by `number` or by `version`")),
    };
    let weight = weight.weight.or(only.then_some(FULL_WEIGHT));
    let weight = weight.ok_or_else(|| required("each of several has a `weight`"))?;
    Ok(AliasTarget { version, weight })
}

/// The alias in the name of its object: that of the function and its own.
fn alias_of(name: &str, function: &Name) -> Result<VersionId, Status> {
    let own = name.strip_prefix(&format!("{function}-"));
    let own = own.and_then(|own| own.parse().ok());
    own.ok_or_else(|| {
        let what = format!("\"{name}\": it is `{function}-` and the alias");
        Put::wrong("metadata.name", what)
    })
}
