//! The `hubgen` command.

fn main() {}
