#![cfg(test)]
//! What `hubgen` makes of schemas, real and invented, good and bad.

mod bad_config;
mod bad_schemas;
mod blessing;
mod compiled;
mod golden;
mod guide;
mod kit;
mod names;
mod ownership;
mod real_schemas;
mod reports;
mod versions;
