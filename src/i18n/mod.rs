//! Every word that the lab shows: a typed catalogue and one table per language.
//!
//! A [`Message`] carries numbers and names, never prose. A language is one function from
//! [`Key`] to a template; a missing text does not compile. Numbers, clocks and money are
//! written by the language's [`Numbers`]. May use nothing of the simulation but its units.

mod arg;
mod en;
mod lang;
mod messages;
mod plural;
mod pseudo;
mod template;

pub use arg::Arg;
pub use lang::{Direction, Lang, Numbers, clock, detect};
pub use messages::{Key, Message};
pub use template::{plain, render};
