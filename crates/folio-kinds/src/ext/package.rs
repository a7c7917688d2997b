//! A package of Fission's: its environment has a namespace.

use hub::{Augment, Field, Object, Result};

use super::lens::{self, Lens};
use crate::generated::kinds::fission_io_v1::{PackageSpec, PackageSpecEnvironment};
use crate::generated::kinds::storage;

impl Augment<storage::PackageSpec> for PackageSpec {
    const WRITTEN_FOR: &'static str = "folio.dev/v1";

    fn assign_to(&self, hub: &mut storage::PackageSpec) -> Result<()> {
        let environment = Field::Value(self.environment.clone());
        hub.environment = lens::up::<Environment>(&environment, &mut hub.bag)?;
        Ok(())
    }

    fn assign_from(&mut self, hub: &storage::PackageSpec) -> Result<()> {
        self.environment = lens::down_required::<Environment>(&hub.environment, &hub.bag)?;
        Ok(())
    }

    fn complete(stored: &storage::PackageSpec, new: &mut storage::PackageSpec) {
        lens::overlay::<Environment>(&stored.environment, &mut new.environment);
    }
}

/// The environment's name; its namespace is kept.
struct Environment;

impl Lens for Environment {
    type Spoke = PackageSpecEnvironment;
    type Hub = String;
    const KEY: &'static str = "environment@fission.io/v1";

    fn up(spoke: &PackageSpecEnvironment) -> Option<String> {
        spoke.name.value().cloned()
    }

    fn down(name: &String, kept: Option<PackageSpecEnvironment>) -> Option<PackageSpecEnvironment> {
        let kept = kept.unwrap_or_else(unnamed);
        Some(PackageSpecEnvironment { name: Field::Value(name.clone()), ..kept })
    }

    fn nothing() -> Option<PackageSpecEnvironment> {
        Some(unnamed())
    }
}

fn unnamed() -> PackageSpecEnvironment {
    PackageSpecEnvironment { name: Field::Absent, namespace: String::new(), unknown: Object::new() }
}
