//! What functions and packages stand on: finds what they freeze of it, among what is asked for or in the app, and says
//! what is not there.

use folio_kinds::spec::Part;
use folio_model::{
    Digest, EnvironmentSpec, FunctionSpec, Kind, Name, PackageSpec, Snapshot, Unit, UnitKey,
    VersionKey,
};

use super::{PackageNow, Planner, Uses};
use crate::apply::{Error, Form, Scope, Wish};
use crate::{environment, settings};

impl Planner<'_> {
    /// A package with the environment that it freezes.
    pub(super) fn package(
        &mut self,
        wish: &Wish,
        spec: &PackageSpec,
    ) -> Result<Option<Snapshot>, Error> {
        let Some(environment) = self.environment(wish, &spec.environment)? else {
            return Ok(None);
        };
        let environment_snapshot = Some(environment);
        Ok(Some(Snapshot::Package(PackageSpec { environment_snapshot, ..spec.clone() })))
    }

    /// A function with everything that it freezes, and the package version that it uses.
    pub(super) fn function(
        &mut self,
        wish: &Wish,
        spec: &FunctionSpec,
    ) -> Result<Option<(Snapshot, Uses)>, Error> {
        let environment = self.environment(wish, &spec.environment)?;
        let package = self.package_of(wish, &spec.package.name)?;
        let mut spec = spec.clone();
        let complete = self.settings(wish, &mut spec)?;
        let (Some(environment), Some((digest, uses)), true) = (environment, package, complete)
        else {
            return Ok(None);
        };
        spec.package.snapshot = digest;
        spec.environment_snapshot = Some(environment);
        Ok(Some((Snapshot::Function(spec), uses)))
    }

    /// What the package of a function is after the apply, and which version of it the function uses.
    fn package_of(&mut self, wish: &Wish, name: &Name) -> Result<Option<(Digest, Uses)>, Error> {
        let asked_for = self.asks_for(Kind::Package, name);
        if !asked_for && self.wanted.scope == Scope::App {
            self.find_package(wish, name)?;
        }
        let Some(package) = self.packages.get(name) else {
            // A package with faults of its own is told of there.
            if !asked_for && self.wanted.scope == Scope::Manifests {
                let what = format!(
                    "function '{}' references package '{name}', which doesn't exist in the specs",
                    wish.name
                );
                self.fault(wish, Part::Package, what);
            }
            return Ok(None);
        };
        let uses = match (package.version, self.wanted.form) {
            (Some(version), _) => Uses::Version(version),
            (None, Form::Versions) => Uses::Made(name.clone()),
            (None, Form::Drafts) => Uses::Nothing,
        };
        Ok(Some((package.digest, uses)))
    }

    /// Fills in what a function freezes of its configs and secrets. Whether all of them are there.
    fn settings(&mut self, wish: &Wish, spec: &mut FunctionSpec) -> Result<bool, Error> {
        let mut complete = true;
        for (kind, pins) in [(Kind::Config, &mut spec.configs), (Kind::Secret, &mut spec.secrets)] {
            for pin in pins {
                match self.setting(kind, &pin.name)? {
                    Some(digest) => pin.snapshot = digest,
                    None => {
                        complete = false;
                        if self.asks_for(kind, &pin.name) {
                            continue;
                        }
                        let make = if kind == Kind::Config { "set" } else { "create" };
                        let what = format!(
                            "function '{}' names {kind} '{}', which does not exist; make it with `folio {kind} {make} {}`",
                            wish.name, pin.name, pin.name
                        );
                        let part = if kind == Kind::Config { Part::Configs } else { Part::Secrets };
                        self.fault(wish, part, what);
                    }
                }
            }
        }
        Ok(complete)
    }

    /// Whether a unit is asked for, in a manifest that was read or may be in one that was not.
    fn asks_for(&self, kind: Kind, name: &Name) -> bool {
        self.wishes.contains_key(&(kind, name)) || self.wanted.unread.may_have(kind, name)
    }

    /// Notes a package of the app as it stands: what is to be published uses its latest version, a draft its draft if it
    /// has one.
    fn find_package(&mut self, wish: &Wish, name: &Name) -> Result<(), Error> {
        let (app, kind) = (self.app.clone(), Kind::Package);
        let unit = self.state.unit(&UnitKey { app, kind, name: name.clone() })?;
        let unit = unit.filter(Unit::is_visible);
        if let Some(draft) = unit.as_ref().and_then(|unit| unit.draft.as_ref())
            && self.wanted.form == Form::Drafts
        {
            let package = PackageNow { digest: draft.snapshot, version: draft.uses };
            self.packages.insert(name.clone(), package);
            return Ok(());
        }
        let newest = unit.as_ref().and_then(|unit| Some((unit.uid, unit.newest?)));
        let key = newest.map(|(unit, number)| VersionKey { unit, number });
        match key.map(|key| self.state.version(key)).transpose()?.flatten() {
            Some(found) => {
                let package = PackageNow { digest: found.snapshot, version: key };
                self.packages.insert(name.clone(), package);
            }
            None => self.fault(
                wish,
                Part::Package,
                match unit {
                    Some(_) => format!("package '{name}' is a draft; publish it first"),
                    None => format!("package '{name}' does not exist in the app"),
                },
            ),
        }
        Ok(())
    }

    /// The digest that something in an environment freezes.
    fn environment(&mut self, wish: &Wish, name: &Name) -> Result<Option<Digest>, Error> {
        if let Some(digest) = self.environments.get(name) {
            return Ok(Some(*digest));
        }
        if self.wishes.contains_key(&(Kind::Environment, name)) {
            return Ok(None);
        }
        let found = environment::freeze(self.state, self.app, name)?;
        if found.is_none() && self.asks_for(Kind::Environment, name) {
            return Ok(None);
        }
        match found {
            Some(digest) => {
                self.environments.insert(name.clone(), digest);
            }
            None => {
                let built_in = EnvironmentSpec::BUILT_IN.join(", ");
                let what = format!(
                    "environment '{name}' is neither in the specs nor in the app; built in are {built_in}"
                );
                self.fault(wish, Part::Environment, what);
            }
        }
        Ok(found)
    }

    /// The digest that a function freezes of a config or secret.
    fn setting(&self, kind: Kind, name: &Name) -> Result<Option<Digest>, Error> {
        if let Some(digest) = self.configs.get(name).filter(|_| kind == Kind::Config) {
            return Ok(Some(*digest));
        }
        let key = UnitKey { app: self.app.clone(), kind, name: name.clone() };
        Ok(settings::standing(self.state, &key)?)
    }
}
