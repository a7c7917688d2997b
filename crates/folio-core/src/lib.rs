//! The verbs of folio and the ports they need. Every rule of the platform is here and nowhere else; doors
//! decode, call one verb and encode. Start at [`Folio`] and the module named after a verb.

pub mod alias;
pub mod apply;
pub mod archive;
pub mod build;
mod builder;
mod code;
pub mod compose;
pub mod config;
pub mod content;
pub mod crash;
pub mod delete;
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
pub mod objects;
pub mod ports;
pub mod publish;
pub mod request;
pub mod resolve;
pub mod route;
pub mod secret;
pub mod serving;
pub mod settings;
pub mod status;
pub mod sweep;
pub mod tag;
pub mod token;
pub mod undo;
pub mod upload;
pub mod view;

pub use explain::{Cause, Class, Code, Explain, Referrer};
pub use folio::{Folio, Settings};
pub use limits::Limits;
pub use request::Caller;
