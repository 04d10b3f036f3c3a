//! The `lab` command line: arguments to library calls, no logic.

fn main() {}
