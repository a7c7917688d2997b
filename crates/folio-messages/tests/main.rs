#![cfg(test)]
//! Messages, with a real NATS server.

mod platform;
mod server;
mod triggers;
