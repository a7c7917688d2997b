//! What every implementation of a port must do. Each suite is one function per fact; an implementation's
//! tests run `all` of them.

pub mod blobs;
pub mod executions;
pub mod ledger;
pub mod queue;
