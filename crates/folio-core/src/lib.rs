//! The verbs of folio and the ports they need. Every rule of the platform is here and nowhere else; doors
//! decode, call one verb and encode. Start at [`Folio`] and the module named after a verb.

pub mod alias;
pub mod archive;
pub mod build;
mod builder;
mod code;
pub mod compose;
pub mod content;
pub mod crash;
pub mod delete;
mod deliver;
pub mod diff;
pub mod draft;
pub mod environment;
mod explain;
pub mod folio;
pub mod history;
pub mod invoke;
mod limits;
pub mod logs;
pub mod measure;
pub mod messages;
pub mod ports;
pub mod publish;
pub mod request;
pub mod resolve;
pub mod route;
pub mod serving;
pub mod status;
pub mod sweep;
pub mod tag;
pub mod timer;
pub mod token;
pub mod trigger;
pub mod undo;
pub mod upload;
pub mod view;
pub mod watch;

pub use explain::{Class, Code, Explain, Referrer};
pub use folio::{Folio, Settings};
pub use limits::Limits;
pub use request::Caller;
