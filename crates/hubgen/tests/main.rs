//! What `hubgen` makes of schemas, real and invented, good and bad.

mod bad_config;
mod bad_schemas;
mod blessing;
mod golden;
mod kit;
mod real_schemas;
