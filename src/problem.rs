//! One thing wrong with input from outside: where it is and what it is.

/// A place that the person can find, and what is wrong there (with what would be right).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// `line 12`, `services[0].model`, `hpa.target_percent`, `x1`.
    pub place: String,
    pub what: String,
}

impl Problem {
    pub fn new(place: impl Into<String>, what: impl Into<String>) -> Problem {
        Problem { place: place.into(), what: what.into() }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

impl From<crate::yaml::Problem> for Problem {
    fn from(p: crate::yaml::Problem) -> Problem {
        let place = match (p.line, p.path.is_empty()) {
            (0, _) => p.path, // from an override, not from the file
            (line, true) => format!("line {line}"),
            (line, false) => format!("line {line}, {}", p.path),
        };
        Problem { place, what: p.message }
    }
}
