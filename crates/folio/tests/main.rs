#![cfg(test)]
//! What a user sees, checked against the real program: the transcripts, and what does not fit into one.

mod archives;
mod canaries;
mod clients;
mod commands;
mod counter;
mod crash;
mod damage;
mod demo;
mod downloads;
mod escape;
mod examples;
mod executions;
mod hostile;
mod jail;
mod kills;
mod load;
mod maintenance;
mod messages;
mod mistakes;
mod neighbours;
mod program;
mod secure;
mod servers;
mod settings;
mod specs;
mod statics;
mod switches;
mod transcripts;
mod watching;
mod wire;
