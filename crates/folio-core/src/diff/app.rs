//! Compares a whole app at two moments. Units are compared by what they hold, so that one that went back to what it
//! was does not differ, whatever number that has now.

use std::collections::BTreeMap;

use folio_model::{AppName, Digest, Kind, Name, Number, Placement};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::files::Comparison;
use super::{FieldChange, FileChange, Side, compare_fields, held};
use crate::Folio;
use crate::history::{self, Moment};
use crate::ports::State;
use crate::view::{self, PlacedView};

/// How two app versions differ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppDiffView {
    /// The older app version's id.
    pub from: folio_model::VersionId,
    /// The newer app version's id.
    pub to: folio_model::VersionId,
    /// Units that hold something else.
    pub units: Vec<UnitChange>,
}

/// A unit that differs between two app versions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnitChange {
    /// Its kind.
    pub kind: Kind,
    /// Its name.
    pub name: Name,
    /// What it was; absent if it was not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<PlacedView>,
    /// What it is; absent if it is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<PlacedView>,
    /// Settings that differ, where it was there before and after. Of secrets, only fingerprints.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FieldChange>,
    /// Files that differ, where it was there before and after.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileChange>,
}

impl Folio {
    /// Compares an app at two moments.
    pub async fn app_diff(
        &self,
        app: &AppName,
        from: Moment,
        to: Moment,
    ) -> Result<AppDiffView, history::Error> {
        let app = app.clone();
        let (from, to, pairs) = self
            .look(move |state| {
                let old = history::shown_version(state, &app, &from)?;
                let new = history::shown_version(state, &app, &to)?;
                let pairs = pairs(state, &app, (old.number, new.number))?;
                Ok::<_, history::Error>((old.id, new.id, pairs))
            })
            .await?;
        let mut units = Vec::with_capacity(pairs.len());
        for (mut change, sides) in pairs {
            if let Some([old, new]) = sides {
                let mut files = Comparison::of_names(self.blobs.as_ref(), self.limits());
                for (prefix, old, new) in old.parts(&new) {
                    files.compare(prefix, old, new).await?;
                }
                change.files = files.finish().0;
                change.fields = compare_fields(&old.fields, &new.fields);
            }
            units.push(change);
        }
        Ok(AppDiffView { from, to, units })
    }
}

/// A unit that differs, with what it holds where it is there on both sides.
type Pair = (UnitChange, Option<[Side; 2]>);

fn pairs(
    state: &dyn State,
    app: &AppName,
    (old, new): (Number, Number),
) -> Result<Vec<Pair>, history::Error> {
    let mut both: BTreeMap<(Kind, Name), [Option<Placement>; 2]> = BTreeMap::new();
    for (side, number) in [old, new].into_iter().enumerate() {
        for placement in state.placements(app, number)? {
            let key = (placement.kind, placement.name.clone());
            both.entry(key).or_default()[side] = Some(placement);
        }
    }
    let differing = both.into_iter().filter(|(_, [old, new])| !is_same(old.as_ref(), new.as_ref()));
    differing.map(|(key, sides)| pair(state, key, sides)).collect()
}

/// What a unit holds: its draft, and its newest version, whether that could be called then or not.
fn content(placement: &Placement) -> (Option<Digest>, Option<Digest>) {
    let newest = placement.pending.as_ref().or(placement.latest.as_ref());
    (placement.draft, newest.map(|(_, _, snapshot)| *snapshot))
}

fn is_same(old: Option<&Placement>, new: Option<&Placement>) -> bool {
    let nothing = (None, None);
    old.map_or(nothing, content) == new.map_or(nothing, content)
}

fn pair(
    state: &dyn State,
    (kind, name): (Kind, Name),
    [old, new]: [Option<Placement>; 2],
) -> Result<Pair, history::Error> {
    let contents = [old.as_ref().map(content), new.as_ref().map(content)];
    let [from, to] = [old, new].map(|placement| placement.and_then(history::placed));
    let (fields, files) = (Vec::new(), Vec::new());
    let change = UnitChange { kind, name, from, to, fields, files };
    let [Some(old), Some(new)] = contents else { return Ok((change, None)) };
    // What was published is compared first: a draft that stayed as it is tells nothing.
    let shown = |(draft, published): (Option<Digest>, Option<Digest>)| {
        if old.1 == new.1 { draft.or(published) } else { published.or(draft) }
    };
    let (Some(old), Some(new)) = (shown(old), shown(new)) else { return Ok((change, None)) };
    let side = |digest| held(state, change.name.to_string(), view::snapshot(state, digest)?);
    let sides = [side(old)?, side(new)?];
    Ok((change, Some(sides)))
}
