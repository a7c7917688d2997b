//! Packages that no function uses: what is left when functions go, or take their code from elsewhere.

use std::collections::BTreeSet;

use folio_model::{AppName, Kind, Unit};

use super::{Cascade, Error, unit_referrers, victims, whole};
use crate::ports::{Page, State};
use crate::request::Caller;
use crate::view::{self, Done, Removed, UnitView};
use crate::{Folio, folio};

impl Folio {
    /// Lists the packages of an app that no version and no draft of a function uses, by name.
    pub async fn orphans(&self, app: &AppName) -> Result<Vec<UnitView>, Error> {
        let app = app.clone();
        self.look(move |state| {
            let units = orphans(state, &app)?;
            units.iter().map(|unit| Ok(view::unit(state, unit)?)).collect()
        })
        .await
    }

    /// Deletes all packages that no function uses, with their drafts and versions.
    pub async fn delete_orphans(
        &self,
        caller: &Caller,
        app: &AppName,
    ) -> Result<Done<Removed>, Error> {
        let app = app.clone();
        self.commit(caller, &app.clone(), move |builder| {
            let mut removed = Removed::default();
            let units = orphans(builder.state, &app)?;
            if !units.is_empty() {
                builder.say("delete packages that no function uses".to_owned());
            }
            for unit in units {
                whole::remove_unit(builder, unit, &mut removed)?;
            }
            Ok(removed)
        })
        .await
    }
}

fn orphans(state: &dyn State, app: &AppName) -> Result<Vec<Unit>, Error> {
    if !state.has_app(app)? {
        return Err(folio::Error::NoApp(app.clone()).into());
    }
    let mut found = Vec::new();
    for unit in state.units(app, Kind::Package)?.into_iter().filter(Unit::is_visible) {
        let versions = state.versions(unit.uid, Page::ALL)?;
        let own = versions.len();
        let going = victims(state, &unit, versions)?;
        let leaving = (&unit, BTreeSet::from([unit.uid]));
        let is_alone =
            going.len() == own && unit_referrers(state, leaving, &going, Cascade::No)?.is_empty();
        if is_alone {
            found.push(unit);
        }
    }
    Ok(found)
}
