//! The identities of objects that are no units. What is said about such an object is kept under its identity, so it is
//! the same whoever names it, and stays the same as long as the object is there.

use folio_model::{AppName, Digest, Name, Pointer, VersionId};
use uuid::Uuid;

use crate::ports::{State, StoreError};

/// An identity that the same names always have.
pub fn identity(names: &[&str]) -> Uuid {
    let digest = Digest::of(names.join("\0").as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest.as_bytes()[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
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
