#![cfg(test)]
//! The gateway over real sockets, in front of a runtime that answers at once.

mod access;
mod assets;
mod client;
mod entering;
mod errors;
mod headers;
mod hostile;
mod hosts;
mod http2;
mod matcher;
mod picking;
mod protocols;
mod releases;
mod routes;
mod runtime;
mod splits;
mod stopping;
mod webhooks;
mod world;
