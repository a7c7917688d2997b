//! What hubgen makes of the schemas: types, conversions, their tests and a report of changes.

pub mod kinds;
