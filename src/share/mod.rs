//! Share links. (being built)

pub mod codec;
