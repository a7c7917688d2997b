#![cfg(test)]
//! What a user sees, checked against the real program: the transcripts, and what does not fit into one.

mod commands;
mod crash;
mod downloads;
mod hostile;
mod maintenance;
mod program;
mod transcripts;
