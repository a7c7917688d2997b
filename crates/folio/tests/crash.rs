//! The real binary, killed: at every named point, at random moments under load, and with the power cut. What was
//! acknowledged must be there afterwards, and what was not must be there whole or not at all.

mod apply;
mod client;
mod commands;
mod points;
mod power;
mod random;
mod record;
mod server;
