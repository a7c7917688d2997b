//! The gateway: takes requests from outside and passes each to the version its route means at that moment.
//!
//! A request flows from the `gate`, which lets through only what can be read in one way, through the `matcher`, an
//! immutable table that is swapped whole, to the version its route picks. Start at [`serve`], then `handle`. This
//! crate holds no rule about versions: what a route leads to is the core's to say.

mod access;
mod assets;
pub mod authority;
mod body;
mod choose;
mod connection;
mod cors;
mod gate;
mod handle;
mod headers;
mod kept;
mod live;
pub mod matcher;
mod named;
mod path;
mod problem;
mod seen;
mod serve;
mod served;
mod settings;
mod streams;
mod table;
mod taking;
mod tls;
mod totals;
mod webhook;
mod wire;

pub use serve::serve;
pub use served::Served;
pub use settings::{AccessLog, GatewayLimits, Settings};
pub use tls::{Tls, TlsError};
pub use totals::{Totals, TotalsRead};
