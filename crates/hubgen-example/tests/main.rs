#![cfg(test)]
//! The example through the eyes of its users, and of the compiler.

mod conversions;
mod hooks;
