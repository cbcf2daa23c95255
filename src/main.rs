//! The `bindery` binary.

fn main() {}
