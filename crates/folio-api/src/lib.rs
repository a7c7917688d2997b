//! The control API of folio over HTTP, `/folio/v1`. Decodes a request, calls one verb of `folio-core`, encodes
//! its answer; decides nothing itself.
//!
//! Start at [`router`] for what is served and at `table.rs` for the list of operations, from which both the
//! router and the OpenAPI [`document`] are made.

mod decode;
mod encode;
mod encryption;
mod endpoints;
mod failure;
mod frames;
mod handle;
mod kube;
mod openapi;
mod operation;
mod qinling;
mod refusal;
mod router;
mod serve;
mod table;
mod wire;

pub use decode::BUNDLE_MEDIA_TYPE;
pub use encryption::Encryption;
pub use endpoints::{Endpoint, Face, endpoints};
pub use frames::MEDIA_TYPE as NODES_MEDIA_TYPE;
pub use openapi::document;
pub use router::router;
pub use serve::serve;
