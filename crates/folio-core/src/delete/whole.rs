//! Everything that an app has goes at once: first what leads to others, then what others were made of.

use folio_model::{AppName, Edit, Kind, Place, Pointer, Unit};

use super::{Victim, drop_aliases, remove, remove_trigger};
use crate::builder::Builder;
use crate::ports::{Page, StoreError};
use crate::view::{Removed, UnitName};

/// Removes all units of an app with their versions, and every pointer that leads to one.
pub(crate) fn everything(builder: &mut Builder<'_>, app: &AppName) -> Result<Removed, StoreError> {
    drop_pointers(builder, app)?;
    let mut removed = Removed::default();
    for kind in [Kind::Trigger, Kind::Function, Kind::Package, Kind::Static].into_iter().chain([
        Kind::Config,
        Kind::Secret,
        Kind::Environment,
    ]) {
        for unit in builder.state.units(app, kind)? {
            match kind {
                Kind::Trigger => remove_trigger(builder, unit, &mut removed)?,
                _ => remove_unit(builder, unit, &mut removed)?,
            }
        }
    }
    Ok(removed)
}

pub(super) fn remove_unit(
    builder: &mut Builder<'_>,
    mut unit: Unit,
    removed: &mut Removed,
) -> Result<(), StoreError> {
    drop_aliases(builder, &unit, removed)?;
    let versions = builder.state.versions(unit.uid, Page::ALL)?.into_iter();
    let victims = versions.map(|version| Victim { unit: unit.clone(), version }).collect();
    removed.versions.extend(remove(builder, victims)?.versions);
    builder.clear_draft(&mut unit)?;
    removed.units.push(UnitName { kind: unit.key.kind, name: unit.key.name.clone() });
    builder.push(Edit::DeleteUnit { uid: unit.uid, key: unit.key })
}

/// Takes away what leads to the app or its units and belongs to none.
fn drop_pointers(builder: &mut Builder<'_>, app: &AppName) -> Result<(), StoreError> {
    for tag in builder.state.tags(app)? {
        let pointer = Pointer::Tag { app: app.clone(), name: tag.name };
        builder.point(pointer, Some(Place::Members(tag.members)), None)?;
    }
    for found in builder.state.canaries(Some(app))? {
        let pointer = Pointer::Canary { app: app.clone(), name: found.name };
        builder.point(pointer, Some(Place::Canary(Box::new(found.canary))), None)?;
    }
    for found in builder.state.bindings(Some(app))? {
        let pointer = Pointer::Binding { app: app.clone(), id: found.id };
        builder.point(pointer, Some(Place::Binding(Box::new(found.binding))), None)?;
    }
    for found in builder.state.domains(Some(app))? {
        let pointer = Pointer::Domain { name: found.domain };
        builder.point(pointer, Some(Place::App(found.app)), None)?;
    }
    Ok(())
}
