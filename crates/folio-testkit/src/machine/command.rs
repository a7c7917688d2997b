//! The commands of the machine. The universe is small on purpose, so that commands meet.

use proptest::prelude::*;
use proptest::sample::select;

/// Names, contents and ids are indices into a small universe.
pub(super) type Index = usize;

/// One random command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Publish a version.
    Publish(PublishCommand),
    /// Make or change a draft.
    Draft {
        /// The unit.
        unit: Index,
        /// Content or a package.
        code: Option<Code>,
        /// Whether it must be new.
        create: bool,
    },
    /// Delete a version, or all.
    DeleteVersion {
        /// The unit.
        unit: Index,
        /// Which: a number, or all.
        number: Option<u64>,
    },
    /// Delete a unit.
    Delete {
        /// The unit.
        unit: Index,
        /// Whether memberships in tags go along.
        cascade: bool,
    },
    /// Make or move an alias.
    Point {
        /// The function.
        function: Index,
        /// The alias.
        alias: Index,
        /// Version numbers and shares.
        targets: Vec<(u64, u32)>,
        /// Whether it must be new; or the revision it must have.
        expect: Expectation,
    },
    /// Move an alias back.
    RollBack {
        /// The function.
        function: Index,
        /// The alias.
        alias: Index,
    },
    /// Remove an alias.
    DeleteAlias {
        /// The function.
        function: Index,
        /// The alias.
        alias: Index,
    },
    /// Add a function version to a tag.
    Tag {
        /// The tag.
        tag: Index,
        /// The function.
        function: Index,
        /// The version's number, or whatever the name means.
        number: Option<u64>,
    },
    /// Take a function out of a tag.
    Untag {
        /// The tag.
        tag: Index,
        /// The function.
        function: Index,
    },
    /// Describe a version.
    Describe {
        /// The unit.
        unit: Index,
        /// The version's number.
        number: u64,
        /// The words.
        words: Index,
    },
    /// Do the builds that wait.
    Build {
        /// Whether they succeed.
        succeed: bool,
    },
    /// Make or change an environment.
    Environment {
        /// The environment.
        name: Index,
        /// What is different about it.
        poolsize: u32,
        /// Whether it must be new.
        create: bool,
    },
    /// Delete an environment.
    DeleteEnvironment(Index),
    /// Make or change a route.
    Route {
        /// The route.
        name: Index,
        /// The function it leads to.
        function: Index,
        /// The version's number, or whatever the name means.
        number: Option<u64>,
        /// Whether it must be new.
        create: bool,
    },
    /// Delete a route.
    DeleteRoute(Index),
    /// Take back the newest entry, or one so many before the head.
    Undo(Option<u64>),
    /// Sweep.
    Sweep,
    /// Stop in order and start again.
    Reopen,
    /// Stop as by `kill -9` and start again.
    Crash,
    /// Move time.
    Jump(i64),
}

/// What to publish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishCommand {
    /// The unit.
    pub unit: Index,
    /// Content or a package.
    pub code: Option<Code>,
    /// Whether to start from the latest version.
    pub update: bool,
    /// The id, or a random one.
    pub id: Option<Index>,
    /// Whether to keep an equal latest version.
    pub if_changed: bool,
    /// A tag to add it to.
    pub tag: Option<Index>,
    /// An idempotency key.
    pub key: Option<Index>,
    /// The revision the unit must have.
    pub expect: Option<u64>,
}

/// Where code comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// Files to run.
    Files(Index),
    /// Files to build.
    Source(Index),
    /// A package.
    Package(Index),
}

/// What a move of an alias expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expectation {
    /// It does not exist.
    Absent,
    /// It exists.
    Present,
    /// It has this revision.
    Revision(u64),
}

/// Functions are units 0 to 2, packages 3 to 5; 5 is the name of the package function 0 makes for itself.
const UNITS: usize = 6;

/// Up to so many random commands.
pub fn any_commands(most: usize) -> impl Strategy<Value = Vec<Command>> {
    proptest::collection::vec(any_command(), 1..=most)
}

fn any_command() -> impl Strategy<Value = Command> {
    let unit = || 0..UNITS;
    let function = || 0..3_usize;
    let number = || 1..6_u64;
    let expectation = prop_oneof![
        4 => Just(Expectation::Absent),
        4 => Just(Expectation::Present),
        1 => (1..30_u64).prop_map(Expectation::Revision),
    ];
    let targets = prop_oneof![
        3 => number().prop_map(|number| vec![(number, 10_000)]),
        1 => (number(), number()).prop_map(|(a, b)| vec![(a, 9_000), (b, 1_000)]),
        1 => number().prop_map(|number| vec![(number, 9_999)]),
    ];
    prop_oneof![
        16 => any_publish().prop_map(Command::Publish),
        5 => (unit(), any_code(), any::<bool>())
            .prop_map(|(unit, code, create)| Command::Draft { unit, code, create }),
        4 => (unit(), proptest::option::weighted(0.8, number()))
            .prop_map(|(unit, number)| Command::DeleteVersion { unit, number }),
        2 => (unit(), any::<bool>()).prop_map(|(unit, cascade)| Command::Delete { unit, cascade }),
        6 => (function(), 0..4_usize, targets, expectation).prop_map(
            |(function, alias, targets, expect)| Command::Point { function, alias, targets, expect }
        ),
        2 => (function(), 0..4_usize)
            .prop_map(|(function, alias)| Command::RollBack { function, alias }),
        2 => (function(), 0..4_usize)
            .prop_map(|(function, alias)| Command::DeleteAlias { function, alias }),
        3 => (0..2_usize, function(), proptest::option::of(number()))
            .prop_map(|(tag, function, number)| Command::Tag { tag, function, number }),
        1 => (0..2_usize, function()).prop_map(|(tag, function)| Command::Untag { tag, function }),
        1 => (unit(), number(), 0..3_usize)
            .prop_map(|(unit, number, words)| Command::Describe { unit, number, words }),
        3 => any::<bool>().prop_map(|succeed| Command::Build { succeed }),
        3 => any_around(),
        4 => proptest::option::of(0..6_u64).prop_map(Command::Undo),
        2 => Just(Command::Sweep),
        1 => Just(Command::Reopen),
        1 => Just(Command::Crash),
        1 => select(vec![-3_600, 0, 1, 3_600, 31_536_000]).prop_map(Command::Jump),
    ]
}

/// What functions run in, and what leads to them.
fn any_around() -> impl Strategy<Value = Command> {
    let name = || 0..2_usize;
    let number = proptest::option::of(1..4_u64);
    prop_oneof![
        2 => (name(), 1..3_u32, any::<bool>())
            .prop_map(|(name, poolsize, create)| Command::Environment { name, poolsize, create }),
        1 => name().prop_map(Command::DeleteEnvironment),
        3 => (name(), 0..3_usize, number, any::<bool>()).prop_map(
            |(name, function, number, create)| Command::Route { name, function, number, create }
        ),
        1 => name().prop_map(Command::DeleteRoute),
    ]
}

fn any_publish() -> impl Strategy<Value = PublishCommand> {
    (
        (0..UNITS, any_code(), any::<bool>()),
        (
            proptest::option::weighted(0.4, 0..4_usize),
            any::<bool>(),
            proptest::option::weighted(0.1, 0..2_usize),
        ),
        (proptest::option::weighted(0.15, 0..3_usize), proptest::option::weighted(0.1, 0..30_u64)),
    )
        .prop_map(|((unit, code, update), (id, if_changed, tag), (key, expect))| {
            PublishCommand { unit, code, update, id, if_changed, tag, key, expect }
        })
}

fn any_code() -> impl Strategy<Value = Option<Code>> {
    prop_oneof![
        4 => (0..5_usize).prop_map(|content| Some(Code::Files(content))),
        2 => (0..5_usize).prop_map(|content| Some(Code::Source(content))),
        2 => (3..UNITS).prop_map(|package| Some(Code::Package(package))),
        2 => Just(None),
    ]
}
