//! The schema languages: where each keeps its resources, and what identifies a document.
//!
//! An adapter only finds [`Root`](crate::schema::lower::Root)s; turning them into types is the
//! same for all. Nothing here reads files.

pub mod arm;
pub mod crd;
pub mod json_schema;
