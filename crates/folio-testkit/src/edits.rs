//! Random edits on two ledgers, which must take or refuse them alike and look alike after every change. Works
//! below the rules, so it also tries what no verb would ever ask for. Start at [`run`].

mod command;
mod universe;

use std::collections::BTreeMap;

use async_trait::async_trait;
use folio_core::ports::{Ledger, StoreError};
use folio_model::{Change, Edit, Version, VersionKey};

pub use self::command::{Command, Readies, Step, any_commands};
use self::universe::{app, key, recipe, record, snapshot, uid, with_pins};
use crate::conformance::ledger::world::{World, number};
use crate::machine::Stop;

/// A ledger that can be stopped and started.
#[async_trait]
pub trait Subject: Send {
    /// The ledger as it runs now.
    fn ledger(&self) -> &dyn Ledger;

    /// Stops it and starts it again on what it kept.
    async fn restart(&mut self, stop: Stop);
}

/// Runs commands on two ledgers and compares them after every change.
///
/// # Panics
/// As soon as they differ, or one of them is damaged.
pub async fn run(commands: &[Command], reference: &dyn Ledger, subject: &mut dyn Subject) {
    let mut story = Story { published: BTreeMap::new(), changes: 0 };
    let first = vec![Edit::CreateApp { app: app() }];
    for ledger in [reference, subject.ledger()] {
        World::of(ledger, app()).must(first.clone()).await;
    }
    for (at, command) in commands.iter().enumerate() {
        match command {
            Command::Restart(stop) => subject.restart(*stop).await,
            Command::Change(steps) => {
                let worlds = [World::of(reference, app()), World::of(subject.ledger(), app())];
                let change = story.change(&worlds[0], steps).await;
                let taken = [
                    worlds[0].append(change.clone()).await,
                    worlds[1].append(change.clone()).await,
                ];
                same(&taken, || format!("change {at}: {:?}", change.edits));
                if taken[0].is_ok() {
                    story.note(&change);
                }
                let dumps = (worlds[0].dump().await, worlds[1].dump().await);
                assert_eq!(dumps.0, dumps.1, "they differ after change {at}: {:?}", change.edits);
            }
        }
    }
    for ledger in [reference, subject.ledger()] {
        let damages = ledger.verify().await.expect("verify runs");
        assert_eq!(damages, [], "damage after {commands:?}");
    }
}

fn same<T: PartialEq + std::fmt::Debug>(
    taken: &[Result<T, StoreError>; 2],
    what: impl Fn() -> String,
) {
    match taken {
        [Ok(one), Ok(other)] => assert_eq!(one, other, "{}", what()),
        [Err(StoreError::Conflict { .. }), Err(StoreError::Conflict { .. })] => {}
        [one, other] => panic!("{} gave {one:?} and {other:?}", what()),
    }
}

/// What was told so far.
struct Story {
    published: BTreeMap<VersionKey, Version>,
    changes: u64,
}

impl Story {
    async fn change(&mut self, world: &World<'_>, steps: &[Step]) -> Change {
        self.changes += 1;
        let mut change = world.change(Vec::new());
        change.message = format!("change {}", self.changes);
        for step in steps {
            if let Step::Publish { snapshot: index, .. }
            | Step::Draft { snapshot: Some(index), .. } = step
            {
                change.snapshots.extend(with_pins(*index));
            }
            change.edits.extend(self.edit(world, step).await);
        }
        change
    }

    fn note(&mut self, change: &Change) {
        for edit in &change.edits {
            if let Edit::Publish { uid, version, .. } = edit {
                let key = VersionKey { unit: *uid, number: version.number };
                self.published.insert(key, version.clone());
            }
        }
    }

    /// The edit a step means on top of the state, or none if it means nothing there.
    async fn edit(&self, world: &World<'_>, step: &Step) -> Option<Edit> {
        Some(match step {
            Step::Create(unit) => {
                let origin = folio_model::Origin::User;
                Edit::CreateUnit { uid: uid(*unit), key: key(*unit), origin }
            }
            Step::Remove(unit) => Edit::DeleteUnit { uid: uid(*unit), key: key(*unit) },
            Step::Return(unit) => Edit::RestoreUnit { uid: uid(*unit), key: key(*unit) },
            Step::Publish { unit, snapshot: index, id, waits } => {
                let uid = uid(*unit);
                let found = world.look(move |state| state.unit_by_uid(uid)).await;
                let next = found.map_or(number(1), |unit| unit.next_number);
                let version = world.version(next, &format!("v{id}"), &snapshot(*index));
                Edit::Publish { uid, version, waits: *waits }
            }
            Step::Delete { unit, number } => {
                let version = self.version(*unit, *number)?;
                Edit::DeleteVersion { uid: uid(*unit), version }
            }
            Step::Restore { unit, number } => {
                let version = self.version(*unit, *number)?;
                Edit::RestoreVersion { uid: uid(*unit), version }
            }
            Step::Draft { unit, snapshot: index } => {
                let uid = uid(*unit);
                let found = world.look(move |state| state.unit_by_uid(uid)).await;
                let to =
                    index.map(|index| crate::conformance::ledger::world::draft(&snapshot(index)));
                Edit::SetDraft { uid, from: found.and_then(|unit| unit.draft), to }
            }
            Step::Built { recipe: index, outcome, readies, stale } => {
                let build = recipe(*index);
                let (from, waiting) =
                    world.look(move |state| Ok((state.build(build)?, state.waiting(build)?))).await;
                let from = from.filter(|_| !stale);
                let readies = match readies {
                    Readies::All => waiting,
                    Readies::First => waiting.into_iter().take(1).collect(),
                    Readies::Nothing => Vec::new(),
                    Readies::Of { unit, number: at } => {
                        vec![VersionKey { unit: uid(*unit), number: number(*at) }]
                    }
                };
                Edit::Built { key: build, from, to: record(*outcome), readies }
            }
            Step::Forget { recipe: index } => {
                let build = recipe(*index);
                let from = world.look(move |state| state.build(build)).await;
                Edit::Forget { key: build, from: from? }
            }
        })
    }

    fn version(&self, unit: usize, at: u64) -> Option<Version> {
        self.published.get(&VersionKey { unit: uid(unit), number: number(at) }).cloned()
    }
}
