//! Writes the app version a change makes, in memory.

use folio_core::ports::{State, StoreError};
use folio_model::{AppName, AppVersion, Change, Entry, Number, Placement, UnitUid};

use super::ensure;
use crate::memory::rows::{Interval, Rows};

impl Rows {
    pub(super) fn app_version(&mut self, change: &Change, entry: &Entry) -> Result<(), StoreError> {
        let Some(id) = change.app_version.clone() else {
            let nowhere = "it places units in no app version";
            let fits = change.placements.is_empty();
            return if fits { Ok(()) } else { Err(StoreError::failed("append a change", nowhere)) };
        };
        let app = change.app.clone();
        let last = self.app_version_at(&app, None)?;
        let number = last.as_ref().map_or(Number::FIRST, |last| last.number.next());
        let by_id = (app.clone(), id.clone());
        ensure(!self.app_version_ids.has(&by_id), || format!("app version `{id}`"))?;
        self.app_version_ids.put(by_id.clone(), number);
        self.taken_ids.put(by_id, ());
        self.app_version_times.put((app.clone(), change.at, number), ());
        let made = AppVersion {
            app: app.clone(),
            number,
            id,
            parent: last.map(|last| last.id),
            entry: entry.seq,
            at: change.at,
            by: change.by.clone(),
            message: change.message.clone(),
            git: change.git.clone(),
        };
        self.app_versions.put((app.clone(), number), made);
        let mut placements = change.placements.iter();
        placements.try_for_each(|(uid, to)| self.place_unit(&app, number, *uid, to.as_ref()))
    }

    /// Ends the interval a unit stands in and, if it is still there, begins the next.
    fn place_unit(
        &mut self,
        app: &AppName,
        number: Number,
        uid: UnitUid,
        to: Option<&Placement>,
    ) -> Result<(), StoreError> {
        self.placements.remove(&(uid, number));
        let standing = self.placements.range((uid, Number::FIRST)..(uid, number)).next_back();
        let standing = standing.map(|(key, interval)| (*key, interval.clone()));
        if let Some((key, interval)) = standing.filter(|(_, interval)| interval.until.is_none()) {
            self.placements.put(key, Interval { until: Some(number), ..interval });
        }
        let Some(to) = to else { return Ok(()) };
        let unit = self.units.get(&uid).map(|row| &row.unit.key);
        let known = unit.is_some_and(|key| {
            key.app == *app && key.kind == to.kind && key.name == to.name && to.uid == uid
        });
        ensure(known, || format!("{} `{}`", to.kind, to.name))?;
        let versions = to.latest.iter().chain(&to.pending).map(|(_, _, snapshot)| *snapshot);
        versions.chain(to.draft).try_for_each(|digest| self.has_snapshot(digest))?;
        self.placements.put((uid, number), Interval { until: None, placement: to.clone() });
        Ok(())
    }
}
