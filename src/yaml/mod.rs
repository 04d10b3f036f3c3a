//! YAML as text -> a tree of [`Node`]s with a line and column each -> typed values.
//!
//! Scenario files, manifests and command-line overrides all come through here. `saphyr-parser`
//! gives events; the tree, the limits, the core schema and the `serde` reader are ours, so that
//! every refusal can name its place: line, column and path (`services[0].hpa.target`).
//!
//! ```
//! # use seven_of_eight::yaml;
//! #[derive(serde::Deserialize, Debug, PartialEq)]
//! #[serde(deny_unknown_fields)]
//! struct Hpa { target: u32 }
//!
//! let mut node = yaml::parse("target: 5\n")?;
//! node.set("target", "70")?;
//! assert_eq!(yaml::from_node::<Hpa>(&node)?, Hpa { target: 70 });
//! let problem = yaml::from_str::<Hpa>("targt: 5\n").unwrap_err();
//! assert_eq!(problem.to_string(), "line 1, column 1: targt: unknown key; did you mean `target`?");
//! # Ok::<(), yaml::Problem>(())
//! ```

mod de;
mod node;
mod parse;
mod path;
mod suggest;

pub use de::{from_node, from_str};
pub use node::{Key, Node, Problem, Value};
pub use parse::{DEPTH_MAX, NODES_MAX, TEXT_BYTES_MAX, parse, parse_all};
pub use suggest::suggest;

#[cfg(test)]
mod de_test;
#[cfg(test)]
mod parse_test;
