#![cfg(test)]
//! What a user sees, checked against the real program: the transcripts, and what does not fit into one.

mod crash;
mod transcripts;
