//! Versions, trackers, pointers, app versions, releases and events, as objects that can be read.

use std::collections::HashMap;

use folio_core::Folio;
use folio_core::history::Moment;
use folio_core::ports::Page;
use folio_core::view::{AliasView, TagView, UnitView, VersionView};
use folio_model::{AppName, Entry, Kind, UnitKey};
use serde_json::{Value, json};

use super::object::written;
use super::status::Status;
use super::views::{Item, identity};

/// Things of a long list that are shown.
const NEWEST: usize = 500;

/// Groups that are shown; each holds all of the app.
const GROUPS: usize = 100;

/// The objects of one of folio's own kinds.
pub(crate) async fn items(folio: &Folio, app: &AppName, kind: &str) -> Result<Vec<Item>, Status> {
    match kind {
        "FunctionVersion" => versions(folio, app, Kind::Function).await,
        "PackageVersion" => versions(folio, app, Kind::Package).await,
        "FunctionVersionTracker" => trackers(folio, app, Kind::Function).await,
        "PackageVersionTracker" => trackers(folio, app, Kind::Package).await,
        "Alias" => aliases(folio, app).await,
        "Tag" => Ok(folio.tags(app).await?.into_iter().map(tag).collect()),
        "AppVersion" => app_versions(folio, app).await,
        "GroupVersionTracker" => groups(folio, app).await,
        "Release" => releases(folio, app).await,
        "App" => apps(folio, app).await,
        _ => Ok(Vec::new()),
    }
}

fn key(app: &AppName, unit: &UnitView) -> UnitKey {
    UnitKey { app: app.clone(), kind: unit.kind, name: unit.name.clone() }
}

async fn versions(folio: &Folio, app: &AppName, kind: Kind) -> Result<Vec<Item>, Status> {
    let mut items = Vec::new();
    for unit in folio.list(app, kind).await? {
        for version in folio.versions(&key(app, &unit), Page::ALL).await? {
            items.push(of_version(app, kind, unit.revision, version));
        }
    }
    Ok(items)
}

fn of_version(app: &AppName, kind: Kind, revision: u64, version: VersionView) -> Item {
    let mut spec = json!({
        "number": version.number, "id": version.id, "snapshot": version.digest,
        "createdAt": written(version.created_at), "createdBy": version.created_by,
    });
    let name = version.name.to_string();
    spec[kind.as_str()] = name.clone().into();
    if !version.description.is_empty() {
        spec["description"] = version.description.into();
    }
    Item {
        app: Some(app.clone()),
        name: format!("{name}-{}", version.id),
        revision,
        created_at: Some(version.created_at),
        labels: vec![(kind.as_str(), name)],
        body: json!({ "spec": spec, "status": { "buildstatus": version.build, "latest": version.latest } }),
    }
}

async fn trackers(folio: &Folio, app: &AppName, kind: Kind) -> Result<Vec<Item>, Status> {
    let mut items = Vec::new();
    for unit in folio.list(app, kind).await? {
        let versions = folio.versions(&key(app, &unit), Page::ALL).await?;
        let listed: Vec<_> = versions
            .iter()
            .map(|version| json!({ "number": version.number, "id": version.id }))
            .collect();
        let mut spec = json!({});
        spec[kind.as_str()] = unit.name.as_str().into();
        if let Some(latest) = &unit.latest {
            spec["latest"] = json!(latest.number);
        }
        spec["versions"] = listed.into();
        items.push(Item {
            app: Some(app.clone()),
            name: unit.name.to_string(),
            revision: unit.revision,
            created_at: versions.first().map(|version| version.created_at),
            labels: Vec::new(),
            body: json!({ "spec": spec, "status": { "versions": versions.len() } }),
        });
    }
    Ok(items)
}

async fn aliases(folio: &Folio, app: &AppName) -> Result<Vec<Item>, Status> {
    let units = folio.list(app, Kind::Function).await?;
    let all = units.into_iter().flat_map(|unit| unit.aliases);
    Ok(all.map(|alias| of_alias(app, alias)).collect())
}

fn of_alias(app: &AppName, alias: AliasView) -> Item {
    let weights: Vec<_> = alias
        .targets
        .iter()
        .map(|target| json!({ "number": target.number, "weight": target.weight }))
        .collect();
    let to: Vec<_> = alias
        .targets
        .iter()
        .map(|target| {
            let name =
                target.id.as_ref().map_or_else(|| target.number.to_string(), ToString::to_string);
            let share = folio_model::percent(target.weight).replace(' ', "");
            if alias.targets.len() == 1 { name } else { format!("{name}={share}") }
        })
        .collect();
    Item {
        app: Some(app.clone()),
        name: format!("{}-{}", alias.function, alias.name),
        revision: alias.revision,
        created_at: None,
        labels: vec![("function", alias.function.to_string()), ("alias", alias.name.to_string())],
        body: json!({
            "spec": { "function": alias.function, "weights": weights },
            "status": { "to": to.join(",") },
        }),
    }
}

fn tag(tag: TagView) -> Item {
    let members: Vec<_> = tag
        .members
        .iter()
        .map(|member| json!({ "function": member.function, "number": member.number }))
        .collect();
    Item {
        app: Some(tag.app),
        name: tag.name.to_string(),
        revision: tag.revision,
        created_at: None,
        labels: Vec::new(),
        body: json!({ "status": { "members": members.len() }, "spec": { "members": members } }),
    }
}

async fn app_versions(folio: &Folio, app: &AppName) -> Result<Vec<Item>, Status> {
    let versions = folio.app_versions(app, None, NEWEST).await?;
    let items = versions.into_iter().map(|view| {
        let version = view.version;
        let mut spec = json!({
            "app": app, "number": version.number, "entry": version.entry, "at": written(version.at),
            "by": version.by, "message": version.message,
        });
        if let Some(git) = &version.git {
            spec["git"] = json!({ "commit": git.commit, "branch": git.branch, "clean": git.clean });
        }
        Item {
            app: Some(app.clone()),
            name: version.id.to_string(),
            revision: version.entry,
            created_at: Some(version.at),
            labels: Vec::new(),
            body: json!({ "spec": spec }),
        }
    });
    Ok(items.collect())
}

async fn groups(folio: &Folio, app: &AppName) -> Result<Vec<Item>, Status> {
    let mut items = Vec::new();
    for version in folio.app_versions(app, None, GROUPS).await? {
        let version = version.version;
        let view = folio.app_at(app, Moment::Id(version.id.clone())).await?;
        let members: Vec<_> = view
            .units
            .iter()
            .filter(|unit| matches!(unit.kind, Kind::Function | Kind::Package))
            .map(|unit| json!({ "kind": unit.kind, "name": unit.name, "number": unit.number, "id": unit.newest() }))
            .collect();
        let mut spec = json!({ "appVersion": version.id, "members": members });
        let members = members.len();
        if let Some(git) = &view.git {
            spec["commit"] = git.commit.clone().into();
            spec["branch"] = git.branch.clone().into();
            spec["clean"] = if git.clean { "yes" } else { "no" }.into();
        }
        items.push(Item {
            app: Some(app.clone()),
            name: version.id.to_string(),
            revision: version.entry,
            created_at: Some(version.at),
            labels: Vec::new(),
            body: json!({ "spec": spec, "status": { "members": members } }),
        });
    }
    Ok(items)
}

async fn releases(folio: &Folio, app: &AppName) -> Result<Vec<Item>, Status> {
    let releases = folio.releases(app, None, NEWEST).await?;
    let items = releases.into_iter().map(|release| {
        let label = release.label;
        let live = label.live.map_or_else(String::new, folio_model::percent).replace(' ', "");
        Item {
            app: Some(app.clone()),
            name: label.id.to_string(),
            revision: release.made_in,
            created_at: Some(release.created_at),
            labels: Vec::new(),
            body: json!({
                "spec": { "appVersion": release.shows, "createdAt": written(release.created_at) },
                "status": {
                    "state": label.state, "live": live, "latest": label.latest, "tags": label.tags,
                },
            }),
        }
    });
    Ok(items.collect())
}

async fn apps(folio: &Folio, app: &AppName) -> Result<Vec<Item>, Status> {
    let summary = folio.show_app(app).await?;
    let mut spec = json!({});
    if let Some(newest) = &summary.newest {
        spec["appVersion"] = newest.as_str().into();
    }
    Ok(vec![Item {
        app: Some(app.clone()),
        name: app.to_string(),
        revision: (*folio.head().borrow()).max(1),
        created_at: summary.changed_at,
        labels: Vec::new(),
        body: json!({ "spec": spec, "status": { "latest": summary.latest, "live": summary.live } }),
    }])
}

/// What happened, as events of the app.
pub(crate) async fn events(folio: &Folio, app: &AppName) -> Result<Vec<Item>, Status> {
    let lines = folio.log(app, None, NEWEST).await?;
    let told = |entry: &Entry| !entry.message.is_empty() && !entry.message.starts_with("mark ");
    let entries = lines.into_iter().map(|line| line.entry).filter(told);
    let mut known = HashMap::new();
    let mut items = Vec::new();
    for Entry { seq, at, by, message, .. } in entries {
        let mut words = message.split_whitespace();
        let reason = words.next().unwrap_or("change");
        let mut reason = reason.to_owned();
        if let Some(first) = reason.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        let involved = involved(folio, app, &message, &mut known).await?;
        items.push(Item {
            app: Some(app.clone()),
            name: format!("{app}.{seq}"),
            revision: seq,
            created_at: Some(at),
            labels: Vec::new(),
            body: json!({
                "involvedObject": involved, "reason": reason, "message": message, "type": "Normal",
                "source": { "component": by }, "reportingComponent": "folio",
                "reportingInstance": "", "count": 1,
                "firstTimestamp": written(at), "lastTimestamp": written(at), "eventTime": null,
            }),
        });
    }
    Ok(items)
}

/// What an entry of the ledger is about, as far as its message says: `publish function hello as v1`.
async fn involved(
    folio: &Folio,
    app: &AppName,
    message: &str,
    known: &mut HashMap<UnitKey, Value>,
) -> Result<Value, Status> {
    let words: Vec<_> = message.split_whitespace().collect();
    let kind = |word: &str| match word {
        "function" => Some((Kind::Function, "Function")),
        "package" => Some((Kind::Package, "Package")),
        "environment" => Some((Kind::Environment, "Environment")),
        "route" | "trigger" => Some((Kind::Trigger, "HTTPTrigger")),
        _ => None,
    };
    let found = words.windows(2).find_map(|pair| Some((kind(pair[0])?, pair[1].parse().ok()?)));
    let Some(((unit, kind), name)) = found else {
        let uid = identity(&["Namespace", "", app.as_str()]).to_string();
        return Ok(json!({ "kind": "Namespace", "namespace": app, "name": app, "uid": uid }));
    };
    let key = UnitKey { app: app.clone(), kind: unit, name };
    if let Some(known) = known.get(&key) {
        return Ok(known.clone());
    }
    let uid = folio.object(&key).await?.map(|view| view.uid.to_string());
    let about = json!({ "kind": kind, "namespace": app, "name": key.name, "uid": uid });
    known.insert(key, about.clone());
    Ok(about)
}
