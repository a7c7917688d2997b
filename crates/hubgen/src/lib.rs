//! Generates versioned API types from schemas: spokes that users see, one storage type per
//! resource, and the conversions between them.
//!
//! Schemas become the [`ir`], the [`ir`] becomes a [`plan`], the plan becomes Rust and a report.
//! Every stage is a function from values to values; only the command reads and writes files.

pub mod adapter;
pub mod bless;
pub mod command;
pub mod config;
pub mod emit;
pub mod error;
pub mod generate;
pub mod graph;
pub mod ir;
pub mod load;
pub mod naming;
pub mod output;
pub mod plan;
pub mod planner;
pub mod read;
pub mod report;
pub mod schema;
pub mod shape;
pub mod share;
pub mod version;
