//! How a failure explains itself: a stable code, a class a door can translate, a hint, and who stands in the
//! way. Doors print this and decide nothing themselves.

use serde::Serialize;

/// A stable, documented name for one kind of failure; its page is `docs/errors/<code>.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Code(pub &'static str);

/// What a caller can do about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// The request makes no sense; mend it.
    Invalid,
    /// No usable token; bring one.
    Unauthenticated,
    /// A token that does not allow it; ask for another.
    Forbidden,
    /// What was named does not exist.
    NotFound,
    /// What was named existed, and never will again.
    Gone,
    /// Something stands in the way or moved meanwhile; look again.
    Conflict,
    /// A limit was hit.
    TooLarge,
    /// No room left.
    Full,
    /// Our fault, or the disk's.
    Broken,
    /// Not now; it may work later without changing anything.
    Unavailable,
    /// A function was reached and gave no good answer.
    Failed,
    /// A function was reached and gave no answer in time.
    Late,
}

/// Something that stands in the way, by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Referrer {
    /// What it is: `alias`, `tag`, `function version`.
    pub kind: String,
    /// Its name, as a reference where there is one.
    pub name: String,
}

/// One of several things that are wrong at once, with its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// Where it is written, for people.
    pub at: String,
    /// The field of a manifest that it is about, such as `spec.cron`; empty if it is about the whole.
    pub path: String,
    /// What is wrong.
    pub what: String,
}

/// A failure that can tell a stranger what to do.
pub trait Explain: std::error::Error {
    /// Its stable name.
    fn code(&self) -> Code;

    /// What a caller can do.
    fn class(&self) -> Class;

    /// What to do next, with a command to paste where there is one.
    fn hint(&self) -> Option<String> {
        None
    }

    /// Everything that is wrong, where that is more than one thing.
    fn causes(&self) -> Vec<Cause> {
        Vec::new()
    }

    /// Everything that stands in the way.
    fn referrers(&self) -> Vec<Referrer> {
        Vec::new()
    }
}
