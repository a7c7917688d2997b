//! The commands: changes of one to three steps, and restarts.

use proptest::prelude::*;
use proptest::sample::select;

use super::universe::{RECIPES, SNAPSHOTS, UNITS};
use crate::machine::Stop;

/// One random command.
#[derive(Debug, Clone)]
pub enum Command {
    /// One change of some steps.
    Change(Vec<Step>),
    /// Stop and start again.
    Restart(Stop),
}

/// What one edit does. Units, snapshots and recipes are indices into a small universe.
#[derive(Debug, Clone)]
pub enum Step {
    /// Make a unit.
    Create(usize),
    /// Remove a unit.
    Remove(usize),
    /// Bring a removed unit back.
    Return(usize),
    /// Publish the next version.
    Publish {
        /// The unit.
        unit: usize,
        /// The snapshot.
        snapshot: usize,
        /// Part of its id.
        id: u32,
        /// Whether it waits for its build.
        waits: bool,
    },
    /// Delete a version.
    Delete {
        /// The unit.
        unit: usize,
        /// The version's number.
        number: u64,
    },
    /// Restore a version.
    Restore {
        /// The unit.
        unit: usize,
        /// The version's number.
        number: u64,
    },
    /// Set or clear a draft.
    Draft {
        /// The unit.
        unit: usize,
        /// The snapshot, or nothing.
        snapshot: Option<usize>,
    },
    /// End a build.
    Built {
        /// What was built.
        recipe: usize,
        /// How it ended.
        outcome: usize,
        /// What it lets be called.
        readies: Readies,
        /// Whether it believes to be the first.
        stale: bool,
    },
    /// Forget a build.
    Forget {
        /// What was built.
        recipe: usize,
    },
}

/// What a build lets be called.
#[derive(Debug, Clone)]
pub enum Readies {
    /// Everything that waits for it.
    All,
    /// The first that waits for it.
    First,
    /// Nothing.
    Nothing,
    /// Some version, whether it waits or not.
    Of {
        /// The unit.
        unit: usize,
        /// The version's number.
        number: u64,
    },
}

/// Up to so many random commands, after changes that make every unit.
pub fn any_commands(most: usize) -> impl Strategy<Value = Vec<Command>> {
    let create = (0..UNITS).map(|unit| Command::Change(vec![Step::Create(unit)]));
    let create: Vec<_> = create.collect();
    let rest = proptest::collection::vec(any_command(), 1..=most);
    rest.prop_map(move |rest| create.iter().cloned().chain(rest).collect())
}

fn any_command() -> impl Strategy<Value = Command> {
    prop_oneof![
        16 => any_step().prop_map(|step| Command::Change(vec![step])),
        4 => proptest::collection::vec(any_step(), 2..=3).prop_map(Command::Change),
        1 => select(vec![Stop::Clean, Stop::Crash]).prop_map(Command::Restart),
    ]
}

fn any_step() -> impl Strategy<Value = Step> {
    let unit = || 0..UNITS;
    let number = || 1..5_u64;
    let readies = prop_oneof![
        4 => Just(Readies::All),
        1 => Just(Readies::First),
        2 => Just(Readies::Nothing),
        1 => (unit(), number()).prop_map(|(unit, number)| Readies::Of { unit, number }),
    ];
    prop_oneof![
        1 => unit().prop_map(Step::Create),
        2 => unit().prop_map(Step::Remove),
        3 => unit().prop_map(Step::Return),
        12 => (unit(), 0..SNAPSHOTS, 0..60_u32, any::<bool>())
            .prop_map(|(unit, snapshot, id, waits)| Step::Publish { unit, snapshot, id, waits }),
        5 => (unit(), number()).prop_map(|(unit, number)| Step::Delete { unit, number }),
        3 => (unit(), number()).prop_map(|(unit, number)| Step::Restore { unit, number }),
        3 => (unit(), proptest::option::of(0..SNAPSHOTS))
            .prop_map(|(unit, snapshot)| Step::Draft { unit, snapshot }),
        6 => (0..RECIPES, 0..3_usize, readies, proptest::bool::weighted(0.1)).prop_map(
            |(recipe, outcome, readies, stale)| Step::Built { recipe, outcome, readies, stale }
        ),
        2 => (0..RECIPES).prop_map(|recipe| Step::Forget { recipe }),
    ]
}
