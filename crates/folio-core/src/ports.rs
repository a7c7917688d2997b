//! What the verbs need from outside: a ledger, blobs, a queue with executions, a runtime, message queues, a vault,
//! and time with chance.
//!
//! Implementations live in other crates; each runs the conformance suite of its port. Nothing here knows SQL,
//! files or HTTP.

mod blobs;
mod body;
mod clock;
mod error;
mod executions;
mod ledger;
mod messages;
mod queue;
pub mod runtime;
mod vault;

pub use blobs::{About, Blobs, Damage, Encoding, Node, Stored, SweepMark, Swept, Usage};
pub use body::{Body, BodyError};
pub use clock::{Clock, SystemClock};
pub use error::{HEALING, StoreError};
pub use executions::{Begun, ExecutionFilter, Executions, TaskOf};
pub use ledger::{
    Ledger, Look, Migrated, Page, PendingBuild, Plan, Releases, StandingBinding, StandingCanary,
    StandingDomain, StandingRelease, StandingTrigger, State,
};
pub use messages::{Inbox, Message, MessageError, Messages, Outgoing, Reader, Receipt};
pub use queue::{Lease, Queue, Task};
pub use runtime::Runtime;
pub(crate) use vault::NoVault;
pub use vault::{Plaintext, SecretPlace, Vault, VaultError};
