//! The nouns of folio: immutable values, small pointers and the changes that move them.
//!
//! Pure data: no async, no I/O, no clock, no randomness of its own. Start at [`Reference`] for how things
//! are named, [`Snapshot`] for what is frozen, and [`Change`] for how anything ever changes.

mod access;
mod app;
mod binding;
mod canary;
pub mod canonical;
mod change;
mod config;
mod digest;
mod domain;
mod draw;
mod environment;
mod execution;
mod id;
pub mod image;
mod marks;
mod mount;
mod name;
mod path_template;
mod pointer;
mod policy;
mod reference;
mod release;
mod secret;
mod snapshot;
mod static_item;
mod tree;
mod trigger;
mod unit;
mod version;

pub use access::{Access, Grant, Right, Role, TokenRecord, TokenTerms};
pub use app::{AppVersion, Git, Placement};
pub use binding::{Binding, BindingTerms, BoundTo, Job, JobStatus, Signing, SigningError, Webhook};
pub use canary::{
    Canary, CanaryGuards, CanaryPhase, CanaryPlan, CanaryPlanError, CanaryStage, CanarySubject,
    OnBreach,
};
pub use change::{Answer, Change, Edit, Entry, EntryHash};
pub use config::{ConfigKey, ConfigKeyError, ConfigSpec, text_of};
pub use digest::{Digest, DigestError};
pub use domain::{DomainName, DomainNameError};
pub use draw::{draw, drawn};
pub use environment::{CONCURRENCY_MAX, EnvironmentSpec, Network, RunSettings, RuntimeKind};
pub use execution::{
    Execution, ExecutionAsked, ExecutionEnd, ExecutionId, ExecutionMode, ExecutionOrigin,
    ExecutionStatus, ExecutionStatusError,
};
pub use id::{Chance, RESERVED, VersionId, VersionIdError};
pub use marks::{Labels, Marks};
pub use mount::MountPin;
pub use name::{Actor, ActorError, AppName, Name, NameError};
pub use path_template::{Part, PathTemplate, Segment};
pub use pointer::{
    Alias, FULL_WEIGHT, Members, Place, Pointer, Share, Tag, Weights, WeightsError, percent,
};
pub use policy::{ReleasePolicy, Retention, Skew};
pub use reference::{Qualifier, Reference, ReferenceError, Subject};
pub use release::{
    AppPlan, Live, LiveMode, LiveShare, Release, ReleaseId, ReleaseIdError, ReleaseState,
    SharesError,
};
pub use secret::{
    Ciphertext, Fingerprint, FingerprintError, Sealed, SecretKey, SecretKeyError, SecretSpec,
};
pub use snapshot::{
    Bag, Content, FunctionSpec, Layout, PackagePin, PackageSpec, Snapshot, SnapshotError,
};
pub use static_item::StaticSpec;
pub use tree::{
    ChunkList, EntryName, EntryNameError, NodeKind, Tree, TreeEntry, TreeError, TreePath,
    TreeTotals, start_of,
};
pub use trigger::{
    Cors, Misfire, QueueSpec, RoutePath, RouteSpec, Sticky, Target, TimerSpec, TriggerSpec,
    WatchSpec,
};
pub use unit::{Draft, Kind, Origin, Owner, Unit, UnitKey, UnitUid};
pub use version::{Build, BuildRecord, Number, Version, VersionKey};

/// A moment, in UTC.
pub type Timestamp = jiff::Timestamp;
