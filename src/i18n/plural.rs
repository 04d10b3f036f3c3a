//! Plural categories (Unicode CLDR) of the languages that have tables.

/// The category of a whole number in English: `one` for 1, `other` for the rest.
pub fn english(n: i64) -> &'static str {
    if n == 1 { "one" } else { "other" }
}
