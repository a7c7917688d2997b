//! folio's API types. What users write is a *manifest* of a kind in a served version, such as
//! `fission.io/v1`; what is stored is the *hub*, one form for each kind; conversions lead from
//! every version to the hub and back, and what the hub has no word for is kept in its bag.
//!
//! [`generated`] is made by hubgen from `schemas/` and `hubgen.toml`; `ext` is what it cannot
//! know. Start at [`convert`] for manifests, and at [`mapping`] for what becomes of the hub.

mod crds;
pub mod explain;
mod ext;
pub mod generated;
mod kept;
pub mod manifest;
pub mod mapping;
pub mod openapi;
mod registry;
mod schema;
pub mod spec;

pub use crds::{Converter, crds};
pub use explain::explain;
pub use kept::{KEPT, convert_kept};
pub use manifest::{Bagged, Converted, Manifest, ManifestError, Mismatch, convert};
pub use registry::{KINDS, KindEntry, Stored};

/// The version whose form is stored.
pub const HUB_VERSION: &str = "folio.dev/v1";

/// Fission's version, which a manifest without one is of.
pub const FISSION_VERSION: &str = "fission.io/v1";
