#![cfg(test)]
//! What folio's API types promise, beyond the generated round trips.

mod bad_manifests;
mod fission;
mod generated;
mod mapping;
mod schemas;
mod writing;
