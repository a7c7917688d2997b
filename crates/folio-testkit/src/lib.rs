//! Development only: what tests of several crates share. A clock a test owns, the state machine every store
//! must follow, conformance suites for the ports, and the runner of transcripts.

pub mod clock;
pub mod machine;
