//! The identities of objects that are no units. What is said about such an object is kept under its identity, so it is
//! the same whoever names it, and stays the same as long as the object is there.

use std::collections::BTreeMap;

use folio_model::{AppName, Digest, Kind, Name, Pointer, Timestamp, Unit, UnitUid, VersionId};
use uuid::Uuid;

use crate::Folio;
use crate::apply::object::made_at;
use crate::ports::{State, StoreError};

impl Folio {
    /// The identities of an app's units of a kind by name, and when each was made, as far as that is known: for objects
    /// that show units in other words.
    pub async fn units_made(
        &self,
        app: &AppName,
        kind: Kind,
    ) -> Result<BTreeMap<Name, (UnitUid, Timestamp)>, StoreError> {
        let app = app.clone();
        self.look(move |state| {
            let units = state.units(&app, kind)?;
            let made = |unit: Unit| {
                let at = made_at(state, &unit)?;
                Ok((unit.key.name, (unit.uid, at)))
            };
            units.into_iter().filter(Unit::is_visible).map(made).collect()
        })
        .await
    }
}

/// An identity that the same names always have.
pub fn identity(names: &[&str]) -> Uuid {
    let digest = Digest::of(names.join("\0").as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest.as_bytes()[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

/// The identity of an object that an entry made: that of its names, as whatever had them before has another.
pub fn made_in(names: Uuid, entry: u64) -> Uuid {
    identity(&[&names.to_string(), &entry.to_string()])
}

/// An alias as Fission writes it, by its function: several may have one of that name.
pub fn function_alias(app: &AppName, function: &Name, alias: &VersionId) -> Uuid {
    identity(&["FunctionAlias", app.as_str(), function.as_str(), alias.as_str()])
}

/// A canary.
pub fn canary(app: &AppName, name: &Name) -> Uuid {
    identity(&["CanaryConfig", app.as_str(), name.as_str()])
}

/// The objects that show a pointer of an app.
pub(crate) fn showing(
    state: &dyn State,
    app: &AppName,
    pointer: &Pointer,
) -> Result<Vec<Uuid>, StoreError> {
    Ok(match pointer {
        Pointer::Alias { unit, name } => match state.unit_by_uid(*unit)? {
            Some(unit) => {
                let function = unit.key.name;
                let own = identity(&["Alias", app.as_str(), &format!("{function}-{name}")]);
                vec![own, function_alias(app, &function, name)]
            }
            None => Vec::new(),
        },
        Pointer::Canary { app, name } => vec![canary(app, name)],
        _ => Vec::new(),
    })
}
