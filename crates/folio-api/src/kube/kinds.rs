//! The kinds whose objects are no units, one by one.

pub(crate) mod alias;
pub(crate) mod app;
pub(crate) mod app_version;
mod binding;
pub(crate) mod canary;
pub(crate) mod config_map;
pub(crate) mod domain;
pub(crate) mod event;
pub(crate) mod execution;
pub(crate) mod function_alias;
pub(crate) mod job;
pub(crate) mod pod;
pub(crate) mod release;
pub(crate) mod secret;
pub(crate) mod tag;
pub(crate) mod tracker;
pub(crate) mod version;
pub(crate) mod webhook;

/// Things of a long list that are shown.
const NEWEST: usize = 500;
