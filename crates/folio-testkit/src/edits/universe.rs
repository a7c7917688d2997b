//! The small universe random edits play in, so that they meet.

use folio_model::{
    AppName, BuildRecord, Digest, FunctionSpec, Kind, PackageSpec, Snapshot, UnitKey, UnitUid,
};
use uuid::Uuid;

use crate::conformance::ledger::world::{
    config, environment, failed, function, package, pin, route, source, succeeded,
};

/// How many units there are.
pub(super) const UNITS: usize = 7;
/// How many snapshots there are.
pub(super) const SNAPSHOTS: usize = 14;
/// How many things can be built.
pub(super) const RECIPES: usize = 3;

pub(super) fn app() -> AppName {
    "universe".parse().expect("a host label")
}

pub(super) fn uid(unit: usize) -> UnitUid {
    UnitUid(Uuid::from_u128(unit as u128 + 1))
}

pub(super) fn key(unit: usize) -> UnitKey {
    let (kind, name) = [
        (Kind::Package, "code"),
        (Kind::Package, "other"),
        (Kind::Function, "hello"),
        (Kind::Environment, "python"),
        (Kind::Trigger, "shop"),
        (Kind::Trigger, "admin"),
        (Kind::Config, "settings"),
    ][unit];
    UnitKey { app: app(), kind, name: name.parse().expect("a name") }
}

/// What can be built: the last in an environment of its own.
fn spec(recipe: usize) -> PackageSpec {
    let environment = (recipe == 2).then(|| environment("one").digest());
    PackageSpec { environment_snapshot: environment, ..source(["red", "blue", "blue"][recipe]) }
}

pub(super) fn recipe(recipe: usize) -> Digest {
    spec(recipe).build_key().expect("it has source")
}

pub(super) fn snapshot(index: usize) -> Snapshot {
    match index {
        0..=2 => Snapshot::Package(spec(index)),
        3..=5 => function(&Snapshot::Package(spec(index - 3))),
        6 => package("ready"),
        7 => function(&package("ready")),
        8 => environment("one"),
        9 => route(&["hello", "other"]),
        10 => route(&["hello@1"]),
        11 => config("one"),
        12 => naming(&package("ready")),
        _ => naming(&Snapshot::Package(spec(0))),
    }
}

/// A function that names the config.
fn naming(package: &Snapshot) -> Snapshot {
    let Snapshot::Function(spec) = function(package) else { unreachable!("it is a function") };
    Snapshot::Function(FunctionSpec { configs: vec![pin("settings", &config("one"))], ..spec })
}

/// A snapshot after everything it stands on.
pub(super) fn with_pins(index: usize) -> Vec<Snapshot> {
    let below = match index {
        3..=5 => vec![environment("one"), snapshot(index - 3)],
        7 => vec![package("ready")],
        12 => vec![package("ready"), config("one")],
        13 => vec![snapshot(0), config("one")],
        _ => vec![environment("one")],
    };
    below.into_iter().chain([snapshot(index)]).collect()
}

pub(super) fn record(outcome: usize) -> BuildRecord {
    match outcome {
        0 => failed("no compiler"),
        1 => succeeded("good"),
        _ => succeeded("better"),
    }
}
