//! What tests share: conformance suites for the ports, ways to look at a whole state, the state machine every
//! store must follow, a clock a test owns, and the runner of transcripts. Development only.

pub mod clock;
pub mod conformance;
mod dump;
pub mod edits;
pub mod machine;
pub mod sample;
pub mod transcript;
pub mod vault;

pub use dump::{Depth, dump};
