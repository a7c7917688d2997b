//! Schemas become types: what all schema languages share.
//!
//! [`documents`] holds the schemas and follows references, [`flat`] joins what a schema says in
//! several places into one view, [`lower`] makes named types of the views and `value` finds the
//! types of their properties, [`union`] tells apart the objects of a choice. What one language adds lies in [`crate::adapter`].

pub mod documents;
pub mod flat;
pub(crate) mod limits;
pub mod lower;
pub mod union;
mod value;
mod view;
