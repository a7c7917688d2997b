#![cfg(test)]
//! The rules, told as facts, on the memory stores and, where it matters, on SQLite.

mod aliases;
mod applying;
mod apps;
mod archives;
mod asides;
mod bindings;
mod builds;
mod bundles;
mod calls;
mod canaries;
mod contents;
mod deletes;
mod domains;
mod environments;
mod executions;
mod history;
mod moves;
mod names;
mod packages;
mod publishing;
mod reapplying;
mod references;
mod releases;
mod routes;
mod runtime;
mod serving;
mod settings;
mod splits;
mod statics;
mod timers;
mod tokens;
mod traps;
mod triggers;
mod watches;
mod world;
