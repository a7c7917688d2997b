//! What must hold after every step, whatever the commands were.

use folio_core::Folio;
use folio_core::history::Moment;
use folio_core::ports::Page;
use folio_core::view::{DraftView, PlacedView, UnitView};
use folio_model::{AppName, Digest, FULL_WEIGHT, Kind, Name, Number, UnitKey, VersionId};
use serde_json::Value;

use super::perform::Outcome;

/// Compares the state before and after a step with what the step answered.
pub(super) fn check_step(before: &Value, after: &Value, outcome: &Outcome, context: &str) {
    let head = |dump: &Value| dump["head"].as_u64().expect("every dump says it");
    let grown = head(after) - head(before);
    match outcome {
        Err((code, message)) => {
            // Nobody else changed anything in between, so a rule let through what the store refused.
            assert_ne!(code, "conflict", "{message}: {context}");
            assert_eq!(before, after, "refused with `{code}`, but changed: {context}");
        }
        Ok(answer) => {
            assert!(grown <= 1 || answer.get("builds").is_some(), "more than one entry: {context}");
            let entry = answer.get("entry").and_then(Value::as_u64);
            let changed = answer.get("changed").and_then(Value::as_bool);
            if changed == Some(false) {
                assert_eq!(before, after, "says unchanged, but changed: {context}");
            }
            // A repeated request names the entry its first run made.
            if changed == Some(true) && grown == 1 {
                assert_eq!(entry, Some(head(after)), "{context}");
            }
        }
    }
    let app_versions = |dump: &Value| dump["appVersions"].as_array().map_or(0, Vec::len);
    let made = app_versions(after) - app_versions(before);
    assert!(made as u64 <= grown, "app version without entry: {context}");
    check_only_appended(before, after, context);
}

/// Nothing that was written is ever written again: entries and old app versions stay as they were.
fn check_only_appended<'a>(before: &'a Value, after: &'a Value, context: &str) {
    let list = |dump: &'a Value, name: &str| dump[name].as_array().into_iter().flatten();
    for old in list(before, "entries") {
        let new = list(after, "entries").find(|new| new["seq"] == old["seq"]);
        assert!(new.is_none_or(|new| new == old), "an entry was rewritten: {context}");
    }
    for (old, new) in list(before, "appVersions").zip(list(after, "appVersions")) {
        let same = |part: &str| old[part] == new[part] || new[part].is_null();
        assert!(same("version") && same("placements"), "an app version was rewritten: {context}");
    }
}

/// Latest is the last version that can be called; the newest is the last of all.
pub(super) fn check_latest(state: &Value, context: &str) {
    for unit in state["units"].as_array().into_iter().flatten() {
        let number = |version: &Value| version["number"].clone();
        let versions: Vec<_> = unit["versions"].as_array().into_iter().flatten().collect();
        let ready: Vec<_> = unit["builds"].as_array().into_iter().flatten().collect();
        assert_eq!(versions.len(), ready.len());
        let newest = versions.last().map_or(Value::Null, |version| number(version));
        let callable = versions.iter().zip(ready).rfind(|(_, ready)| ready[0] == true);
        let latest = callable.map_or(Value::Null, |(version, _)| number(version));
        let found = (&unit["unit"]["latest"], &unit["unit"]["newest"]);
        assert_eq!(found, (&latest, &newest), "{} says so: {context}", unit["unit"]["name"]);
    }
}

/// Checks what the verbs show.
pub(super) async fn check_state(folio: &Folio, context: &str) {
    let app = AppName::default_app();
    for kind in Kind::ALL {
        for unit in folio.list(&app, kind).await.expect("a list") {
            let key = UnitKey { app: app.clone(), kind, name: unit.name.clone() };
            let versions = folio.versions(&key, Page::ALL).await.expect("versions");
            let numbers: Vec<_> = versions.iter().map(|version| version.number).collect();
            assert!(numbers.is_sorted_by(|a, b| a < b), "numbers out of order: {context}");
            let latest = unit.latest.as_ref().map(|latest| latest.number);
            let ready = versions.iter().find(|version| Some(version.number) == latest);
            assert_eq!(ready.map(|ready| ready.number), latest, "latest is not there: {context}");
            let ready = ready.is_none_or(|ready| ready.build.is_ready());
            assert!(ready, "latest cannot be called: {context}");
            assert!(!numbers.is_empty() || unit.draft.is_some(), "an empty unit shows: {context}");
            for alias in &unit.aliases {
                let sum: u32 = alias.targets.iter().map(|target| target.weight).sum();
                assert_eq!(sum, FULL_WEIGHT, "weights of {}: {context}", alias.name);
                let dangling = alias.targets.iter().any(|target| !numbers.contains(&target.number));
                assert!(!dangling, "alias {} dangles: {context}", alias.name);
                let id = versions.iter().any(|version| version.id == alias.name);
                assert!(!id, "alias {} is also an id: {context}", alias.name);
            }
            for version in &versions {
                readable(folio, version, context).await;
            }
            if let Some(draft) = &unit.draft {
                stands(folio, &key, draft, context).await;
            }
        }
    }
    for tag in folio.tags(&app).await.expect("tags") {
        assert!(!tag.members.is_empty(), "tag {} is empty: {context}", tag.name);
    }
    if let Ok(now) = folio.app_at(&app, Moment::Now).await {
        let placed: Vec<_> = now.units.iter().map(Seen::placed).collect();
        let listed = listed(folio, &app).await;
        assert_eq!(placed, listed, "the newest app version is not what is: {context}");
    }
}

/// What an app version and a list must say alike of a unit.
#[derive(Debug, PartialEq)]
struct Seen {
    kind: Kind,
    name: Name,
    number: Option<Number>,
    id: Option<VersionId>,
    draft: bool,
    digest: Option<Digest>,
}

impl Seen {
    fn placed(unit: &PlacedView) -> Self {
        let PlacedView { kind, name, number, id, digest, draft, .. } = unit.clone();
        let callable = draft || id.is_some();
        Self { kind, name, number, id, draft, digest: callable.then_some(digest) }
    }

    fn listed(unit: UnitView) -> Self {
        let latest = unit.latest.as_ref();
        let draft = unit.draft.as_ref().map(|draft| draft.digest);
        Self {
            kind: unit.kind,
            name: unit.name,
            number: latest.map(|latest| latest.number),
            id: latest.map(|latest| latest.id.clone()),
            draft: draft.is_some(),
            digest: draft.or(latest.map(|latest| latest.digest)),
        }
    }
}

async fn listed(folio: &Folio, app: &AppName) -> Vec<Seen> {
    let mut listed = Vec::new();
    for kind in Kind::ALL {
        let units = folio.list(app, kind).await.expect("a list");
        listed.extend(units.into_iter().map(Seen::listed));
    }
    listed
}

/// The bytes of a package's draft can be read, and a function's draft has its package.
async fn stands(folio: &Folio, key: &UnitKey, draft: &DraftView, context: &str) {
    for content in draft.spec.contents() {
        let node = folio.blobs().get(content.tree).await;
        assert!(node.is_ok(), "content of the draft of {key} is gone: {context}");
    }
    if let Some(package) = &draft.package {
        let package =
            UnitKey { kind: Kind::Package, name: package.name.clone(), app: key.app.clone() };
        let found = folio.show(&package).await;
        assert!(found.is_ok(), "the draft of {key} lost its package: {context}");
    }
}

/// The bytes of a surviving version can be read, whatever was swept.
async fn readable(folio: &Folio, version: &folio_core::view::VersionView, context: &str) {
    for content in version.spec.contents() {
        let node = folio.blobs().get(content.tree).await;
        assert!(node.is_ok(), "content of {}@{} is gone: {context}", version.name, version.number);
    }
    if let Some(package) = &version.package {
        assert!(
            package.number.is_some(),
            "{}@{} lost its package: {context}",
            version.name,
            version.number
        );
    }
}
