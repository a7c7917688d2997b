//! Releases. `spec.live` says whether the app's own host shows one; setting it moves what is live there and pins it.

use async_trait::async_trait;
use folio_core::Folio;
use folio_core::release::{Deletion, ReleaseRef, ReleaseView};
use folio_model::{AppName, FULL_WEIGHT, Pointer, ReleaseId, ReleaseState};
use serde_json::json;

use super::NEWEST;
use crate::kube::mapping::{Item, Listing, Made, Mapping, Put, Remove};
use crate::kube::object::written;
use crate::kube::status::Status;
use crate::kube::table::{AGE, Column, column, wide};

/// `Release` of `folio.dev`.
#[derive(Debug)]
pub(crate) struct Releases;

#[async_trait]
impl Mapping for Releases {
    fn verbs(&self) -> &'static [&'static str] {
        &["delete", "deletecollection", "get", "list", "patch", "update", "watch"]
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            column("Version", &["/spec/appVersion"]),
            column("State", &["/status/state"]),
            column("Live", &["/status/live"]),
            AGE,
            wide("Latest", &["/status/latest"]),
            wide("Tags", &["/status/tags"]),
        ]
    }

    async fn list(&self, of: &Listing<'_>) -> Result<Vec<Item>, Status> {
        let mut releases = of.folio.releases(of.app, None, NEWEST).await?;
        // What was deleted is gone for those who delete objects.
        releases.retain(|release| release.label.state != ReleaseState::Deleted);
        let pointers = pointers(of.folio, of.app, &releases).await?;
        let each = releases.into_iter().zip(pointers);
        Ok(each.map(|(release, pointers)| item(of.app, release, pointers)).collect())
    }

    async fn put(&self, put: &Put<'_>) -> Result<Made, Status> {
        let Some(before) = put.before else { return Err(put.target.not_found(put.name)) };
        let (was, is) = (&before.body["spec"], &put.after["spec"]);
        if let Some(field) = ["appVersion", "createdAt"].iter().find(|key| was[**key] != is[**key])
        {
            let what =
                format!("spec.{field}: Forbidden: a release is never edited; only `live` moves");
            return Err(Status::invalid(&format!("spec.{field}"), what));
        }
        match (was["live"].as_bool().unwrap_or(false), is["live"].as_bool().unwrap_or(false)) {
            (false, true) => {
                let release =
                    reference(&before.name).ok_or_else(|| put.target.not_found(put.name))?;
                put.folio.set_live(put.caller, put.app()?, &release).await?;
            }
            (true, false) => {
                let what = "spec.live: Forbidden: something is always live; set `live: true` on another release";
                return Err(Status::invalid("spec.live", what));
            }
            // Whoever writes it may only say something about it.
            _ => put.folio.mark(put.caller, put.app()?).await?,
        }
        Ok(Made::default())
    }

    async fn remove(&self, remove: &Remove<'_>) -> Result<(), Status> {
        let name = &remove.found.name;
        let release = reference(name).ok_or_else(|| remove.target.not_found(name))?;
        let which = (remove.target.app()?, &release);
        remove.folio.delete_release(remove.caller, which, Deletion::default()).await?;
        Ok(())
    }
}

/// A release by its id, whatever it is called.
fn reference(name: &str) -> Option<ReleaseRef> {
    name.parse::<ReleaseId>().ok().map(ReleaseRef::Named)
}

/// What each release shows: itself, and what is live as long as it can be reached.
async fn pointers(
    folio: &Folio,
    app: &AppName,
    releases: &[ReleaseView],
) -> Result<Vec<Vec<(Pointer, u64)>>, Status> {
    let own =
        |release: &ReleaseView| Pointer::Release { app: app.clone(), id: release.label.id.clone() };
    let live = Pointer::Live { app: app.clone() };
    let asked: Vec<_> = std::iter::once(live).chain(releases.iter().map(own)).collect();
    let places = folio.places(asked.clone()).await?;
    let moved = |(pointer, place): (Pointer, Option<(_, u64)>)| Some((pointer, place?.1));
    let mut found = asked.into_iter().zip(places).map(moved);
    let live = found.next().flatten();
    let each = releases.iter().zip(found).map(|(release, own)| {
        let reached = release.label.state == ReleaseState::Accessible;
        own.into_iter().chain(live.clone().filter(|_| reached)).collect()
    });
    Ok(each.collect())
}

fn item(app: &AppName, release: ReleaseView, pointers: Vec<(Pointer, u64)>) -> Item {
    let label = release.label;
    let share = label.live.map_or_else(String::new, folio_model::percent).replace(' ', "");
    let is_live = label.live == Some(FULL_WEIGHT);
    let body = json!({
        "spec": {
            "appVersion": release.shows, "createdAt": written(release.created_at), "live": is_live,
        },
        "status": {
            "state": label.state, "live": share, "latest": label.latest, "tags": label.tags,
        },
    });
    Item {
        pointers,
        created_at: Some(release.created_at),
        ..Item::new(app, label.id.as_str(), body)
    }
}
