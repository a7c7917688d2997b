//! A package of Fission's: its environment has a namespace.

use std::mem::replace;

use hub::{Augment, Result, Spoke as _};

use super::reference::{self, Reference as _};
use crate::generated::kinds::fission_io_v1::{PackageSpec, PackageSpecEnvironment};
use crate::generated::kinds::storage;

impl Augment<storage::PackageSpec> for PackageSpec {
    const WRITTEN_FOR: &'static str = "folio.dev/v1";

    fn into_stored(mut self) -> Result<storage::PackageSpec> {
        let environment = replace(&mut self.environment, PackageSpecEnvironment::unnamed());
        let mut hub: storage::PackageSpec = self.up()?;
        hub.environment = environment.up(&mut hub.bag);
        Ok(hub)
    }

    fn from_stored(mut stored: storage::PackageSpec) -> Result<Self> {
        let name = stored.environment.take();
        let environment = PackageSpecEnvironment::down(name, &mut stored.bag)?;
        Ok(Self { environment, ..Self::down(stored)? })
    }

    fn complete(stored: &mut storage::PackageSpec, new: &mut storage::PackageSpec) {
        reference::overlay(&mut stored.environment, &mut new.environment);
    }
}
