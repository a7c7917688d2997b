//! Reads what the hosts of one app show in a state. What is known of a release before is kept as far as nothing it
//! depends on differs, so that a new release costs what changed and not what the app has.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use folio_model::{
    AppName, DomainName, Kind, LiveShare, Name, Number, Placement, Qualifier, Reference, ReleaseId,
    RouteSpec, Skew, Snapshot, StaticSpec, Sticky, Subject, TriggerSpec, UnitKey, UnitUid,
    VersionId,
};

use super::assets::Asset;
use super::sites::{Row, Shown, Site, SiteSkew};
use super::{Meaning, read};
use crate::Folio;
use crate::ports::{StandingRelease, State, StoreError};
use crate::release::{Standing, held};
use crate::route::{self, served};
use crate::{trigger, view};

/// What was read of a site.
pub(super) struct SiteReading {
    pub(super) app: AppName,
    /// The entry the state stands at.
    pub(super) as_of: u64,
    pub(super) exists: bool,
    pub(super) releases: Vec<Shows>,
    pub(super) tags: Vec<(ReleaseId, ReleaseId)>,
    pub(super) latest: Option<ReleaseId>,
    pub(super) live: Vec<LiveShare>,
    pub(super) sticky: Option<Sticky>,
    pub(super) skew: Option<SiteSkew>,
    pub(super) domains: Vec<DomainName>,
}

/// What was read of a release.
pub(super) enum Shows {
    /// It is as it is known.
    Known(Arc<Shown>),
    /// It is new, or something of it differs.
    Read {
        id: ReleaseId,
        app_version: VersionId,
        number: Number,
        made: u64,
        rows: Vec<(UnitUid, RowReading)>,
        assets: Vec<(UnitUid, AssetReading)>,
        aside: bool,
    },
    /// What it holds cannot be read.
    Unreadable { id: ReleaseId, app_version: VersionId, number: Number, made: u64 },
}

/// What was read of a route.
pub(super) enum RowReading {
    Kept(Row),
    Read(Box<NewRow>),
}

/// What was read of a static item.
pub(super) enum AssetReading {
    Kept(Arc<Asset>),
    Read(Name, Box<StaticSpec>),
}

/// A route that is made anew.
pub(super) struct NewRow {
    pub(super) name: Name,
    pub(super) spec: RouteSpec,
    /// Where its targets lead, in their order.
    pub(super) leads: Vec<Leads>,
    pub(super) functions: Vec<Name>,
}

/// Where a target of a route leads.
pub(super) enum Leads {
    /// To the version that the release holds, for ever.
    Fixed(Reference, Meaning),
    /// To whatever the reference means at the moment.
    Named(Reference),
}

/// Reads the site of an app. `known` is what was read before; the shares of the routes in `splits` moved since.
pub(super) fn read_site(
    state: &dyn State,
    folio: &Folio,
    (app, known): (&AppName, Option<&Site>),
    splits: &[UnitUid],
) -> Result<SiteReading, StoreError> {
    let as_of = state.head()?;
    let exists = state.has_app(app)?;
    let standing = Standing::read(state, app)?;
    let mut releases = Vec::new();
    let accessible = standing.accessible.iter().filter(|_| exists);
    for found in accessible {
        let site = SiteReader { state, folio, app };
        releases.push(match site.release(found, known, splits) {
            // Others are none the worse for it, and trying again does not bring it back.
            Err(error) if error.is_lasting() => site.unreadable(found, &error),
            read => read?,
        });
    }
    let latest = standing.latest().cloned();
    let (live, sticky) = match standing.live {
        Some((live, _)) => (live.shares, live.sticky),
        None => (Vec::new(), None),
    };
    let skew = match &standing.plan.policy.skew {
        Some(skew) => Some(site_skew(state, app, skew)?),
        None => None,
    };
    let domains = state.domains(Some(app))?.into_iter().map(|found| found.domain).collect();
    let (app, tags) = (app.clone(), standing.tags);
    Ok(SiteReading { app, as_of, exists, releases, tags, latest, live, sticky, skew, domains })
}

fn site_skew(state: &dyn State, app: &AppName, skew: &Skew) -> Result<SiteSkew, StoreError> {
    let oldest = match &skew.oldest {
        Some(id) => held::made(state, app, id)?.unwrap_or(0),
        None => 0,
    };
    Ok(SiteSkew { max_age_s: skew.max_age_s, oldest })
}

struct SiteReader<'a> {
    state: &'a dyn State,
    folio: &'a Folio,
    app: &'a AppName,
}

impl SiteReader<'_> {
    fn release(
        &self,
        found: &StandingRelease,
        known: Option<&Site>,
        splits: &[UnitUid],
    ) -> Result<Shows, StoreError> {
        let own = known.and_then(|known| known.releases.get(&found.id));
        if let Some(shown) = own
            && !splits.iter().any(|split| shown.rows.contains_key(split))
        {
            return Ok(Shows::Known(Arc::clone(shown)));
        }
        let version = self.state.app_version_by_id(self.app, &found.release.app_version)?;
        let version = version
            .ok_or_else(|| StoreError::corrupt(format!("the app version of {}", found.id)))?;
        let map =
            Map { state: self.state, app: self.app, at: version.number, all: OnceCell::new() };
        let base = own.or_else(|| nearest(known?, version.number));
        let changed = match base {
            Some(base) => self.changed(base.number, version.number)?,
            None => None,
        };
        let (rows, assets) = match (base, changed) {
            (Some(base), Some(mut changed)) => {
                changed.units.extend(splits);
                let rows = self.rows_from(&map, base, &changed)?;
                (rows, self.assets_from(&map, base, &changed)?)
            }
            _ => (self.all_rows(&map)?, self.all_assets(&map)?),
        };
        let (id, made, aside) = (found.id.clone(), found.release.entry, found.release.aside);
        let (app_version, number) = (version.id, version.number);
        Ok(Shows::Read { id, app_version, number, made, rows, assets, aside })
    }

    /// A release that cannot be read.
    fn unreadable(&self, found: &StandingRelease, error: &StoreError) -> Shows {
        let (id, version) = (found.id.clone(), &found.release.app_version);
        tracing::error!(%error, app.name = %self.app, release.id = %id, "Release {id} cannot be read; requests for it fail");
        let place = self.state.app_version_by_id(self.app, version).ok().flatten();
        let number = place.map_or(Number::FIRST, |version| version.number);
        Shows::Unreadable { id, app_version: version.clone(), number, made: found.release.entry }
    }

    /// What differs between two app versions; nothing if they are too far apart to tell.
    fn changed(&self, one: Number, other: Number) -> Result<Option<Changed>, StoreError> {
        let Some(units) = held::changed(self.state, self.app, (one, other))? else {
            return Ok(None);
        };
        let mut changed = Changed { units, functions: BTreeSet::new() };
        for &unit in &changed.units {
            for at in [one, other] {
                let placed = self.state.placement_at(unit, at)?;
                let function = placed.filter(|placed| placed.kind == Kind::Function);
                changed.functions.extend(function.map(|function| function.name));
            }
        }
        Ok(Some(changed))
    }

    /// The routes of a release, as far as possible those of another.
    fn rows_from(
        &self,
        map: &Map<'_>,
        base: &Shown,
        changed: &Changed,
    ) -> Result<Vec<(UnitUid, RowReading)>, StoreError> {
        let mut rows = Vec::new();
        let mut again = changed.units.clone();
        for (uid, row) in &base.rows {
            let moved = row.functions.iter().any(|name| changed.functions.contains(name));
            if moved {
                again.insert(*uid);
            } else if !again.contains(uid) {
                rows.push((*uid, RowReading::Kept(row.clone())));
            }
        }
        for uid in again {
            if let Some(placed) = self.state.placement_at(uid, map.at)?
                && let Some(row) = self.row(map, &placed)?
            {
                rows.push((uid, row));
            }
        }
        Ok(rows)
    }

    fn all_rows(&self, map: &Map<'_>) -> Result<Vec<(UnitUid, RowReading)>, StoreError> {
        let mut rows = Vec::new();
        for placed in &map.all()?.triggers {
            if let Some(row) = self.row(map, placed)? {
                rows.push((placed.uid, row));
            }
        }
        Ok(rows)
    }

    /// The static items of a release, as far as possible those of another.
    fn assets_from(
        &self,
        map: &Map<'_>,
        base: &Shown,
        changed: &Changed,
    ) -> Result<Vec<(UnitUid, AssetReading)>, StoreError> {
        let kept = base.items.iter().filter(|(uid, _)| !changed.units.contains(uid));
        let kept = kept.map(|(uid, asset)| match asset.is_readable() {
            true => (*uid, AssetReading::Kept(Arc::clone(asset))),
            // It may be there again by now.
            false => (*uid, AssetReading::Read(asset.name.clone(), Box::new(asset.spec.clone()))),
        });
        let mut assets: Vec<_> = kept.collect();
        for uid in &changed.units {
            if let Some(placed) = self.state.placement_at(*uid, map.at)? {
                assets.extend(self.asset(&placed)?);
            }
        }
        Ok(assets)
    }

    fn all_assets(&self, map: &Map<'_>) -> Result<Vec<(UnitUid, AssetReading)>, StoreError> {
        let mut assets = Vec::new();
        for placed in &map.all()?.statics {
            assets.extend(self.asset(placed)?);
        }
        Ok(assets)
    }

    /// A static item, if a unit of the release is one.
    fn asset(&self, placed: &Placement) -> Result<Option<(UnitUid, AssetReading)>, StoreError> {
        let Some((_, _, snapshot)) = &placed.latest else { return Ok(None) };
        if placed.kind != Kind::Static {
            return Ok(None);
        }
        match view::snapshot(self.state, *snapshot)? {
            Snapshot::Static(spec) => {
                Ok(Some((placed.uid, AssetReading::Read(placed.name.clone(), Box::new(spec)))))
            }
            _ => Err(StoreError::corrupt(format!("static snapshot {snapshot}"))),
        }
    }

    /// A route, if a unit of the release is one.
    fn row(&self, map: &Map<'_>, placed: &Placement) -> Result<Option<RowReading>, StoreError> {
        let Some((number, _, snapshot)) = &placed.latest else { return Ok(None) };
        if placed.kind != Kind::Trigger {
            return Ok(None);
        }
        let TriggerSpec::Http(spec) = trigger::spec(self.state, *snapshot)? else {
            return Ok(None);
        };
        // A canary moves the shares of what the route says now, and of no other release.
        let spec = match self.state.unit_by_uid(placed.uid)? {
            Some(unit) if unit.latest == Some(*number) => {
                route::with_split(self.state, &unit, spec)?
            }
            _ => spec,
        };
        let (mut leads, mut functions) = (Vec::new(), Vec::new());
        for target in &spec.targets {
            let reference = served(&target.function);
            leads.push(self.lead(map, reference, &mut functions)?);
        }
        let name = placed.name.clone();
        Ok(Some(RowReading::Read(Box::new(NewRow { name, spec, leads, functions }))))
    }

    /// Where a target leads. `latest` is what the release holds; an alias is followed, always.
    fn lead(
        &self,
        map: &Map<'_>,
        reference: Reference,
        functions: &mut Vec<Name>,
    ) -> Result<Leads, StoreError> {
        let (Subject::Name(name), Some(Qualifier::Latest)) = (&reference.name, &reference.at)
        else {
            return Ok(Leads::Named(reference));
        };
        functions.push(name.clone());
        let placed = map.function(name)?;
        let meaning = match &placed {
            Some(placed) => read::of_placement(self.state, self.folio, self.app, placed)?,
            None => None,
        };
        // What has no version that can be called says so as long as that holds.
        Ok(match meaning {
            Some(meaning) => Leads::Fixed(reference, meaning),
            None => Leads::Named(reference),
        })
    }
}

/// What a function means in an app version; nothing if it holds no version of it that can be called.
pub(super) fn held_function(
    state: &dyn State,
    folio: &Folio,
    (app, at): (&AppName, Number),
    name: &Name,
) -> Result<Option<Meaning>, StoreError> {
    let map = Map { state, app, at, all: OnceCell::new() };
    match map.function(name)? {
        Some(placed) => read::of_placement(state, folio, app, &placed),
        None => Ok(None),
    }
}

/// What differs between two app versions.
struct Changed {
    units: BTreeSet<UnitUid>,
    functions: BTreeSet<Name>,
}

/// The functions of a release, found by name.
struct Map<'a> {
    state: &'a dyn State,
    app: &'a AppName,
    at: Number,
    all: OnceCell<Placed>,
}

/// Everything in a release that requests can come to.
#[derive(Default)]
struct Placed {
    triggers: Vec<Placement>,
    statics: Vec<Placement>,
    functions: BTreeMap<Name, Placement>,
}

impl Map<'_> {
    fn function(&self, name: &Name) -> Result<Option<Placement>, StoreError> {
        let (app, kind) = (self.app.clone(), Kind::Function);
        let living = self.state.unit(&UnitKey { app, kind, name: name.clone() })?;
        if let Some(unit) = living
            && let Some(placed) = self.state.placement_at(unit.uid, self.at)?
        {
            return Ok(Some(placed));
        }
        // The name was another unit's then, or nobody's.
        Ok(self.all()?.functions.get(name).cloned())
    }

    fn all(&self) -> Result<&Placed, StoreError> {
        if let Some(all) = self.all.get() {
            return Ok(all);
        }
        let mut all = Placed::default();
        for placed in self.state.placements(self.app, self.at)? {
            match placed.kind {
                Kind::Function => {
                    all.functions.insert(placed.name.clone(), placed);
                }
                Kind::Trigger => all.triggers.push(placed),
                Kind::Static => all.statics.push(placed),
                _ => {}
            }
        }
        Ok(self.all.get_or_init(|| all))
    }
}

/// The known release whose app version is nearest to another.
fn nearest(site: &Site, to: Number) -> Option<&Arc<Shown>> {
    let readable = site.releases.values().filter(|shown| shown.is_readable);
    readable.min_by_key(|shown| shown.number.get().abs_diff(to.get()))
}
