#![cfg(test)]
//! The runtime through the eyes of generated code: `example` is written by hand as the generator
//! would write it.

mod conversions;
mod example;
