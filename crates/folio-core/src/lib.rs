//! The verbs of folio and the ports they need. Every rule of the platform is here and nowhere else; doors
//! decode, call one verb and encode. Start at [`Folio`] and the module named after a verb.

pub mod crash;
mod explain;
mod limits;
pub mod ports;

pub use explain::{Class, Code, Explain, Referrer};
pub use limits::Limits;
