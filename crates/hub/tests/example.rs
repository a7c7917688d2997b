#![expect(unreachable_pub, reason = "generated code is public, whatever it is part of")]
//! A group with two versions and every rule: a rename, a changed type with a converter, a property
//! only the first version has, a list with keys, an open enum, an open union.

mod ext;
pub(crate) mod hooks;
pub(crate) mod storage;
mod tests;
pub(crate) mod v1;
pub(crate) mod v2;
