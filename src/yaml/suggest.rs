//! "Did you mean ...": the nearest known word by edit distance.

/// The candidate nearest to `word`, if it is near enough to be a slip of the fingers: at most a
/// third of the word's letters (at least one) inserted, deleted, replaced or swapped with their
/// neighbour; case, `-` and `_` do not count. Ties go to the earlier candidate.
pub fn suggest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Longer input is no slip of the fingers, and the table is quadratic.
    const CHARS_MAX: usize = 64;
    let word = folded(word);
    if word.is_empty() || word.len() > CHARS_MAX {
        return None;
    }
    let allowed = (word.len() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (distance(&word, &folded(candidate)), candidate))
        .filter(|(d, _)| *d <= allowed)
        .min_by_key(|(d, _)| *d)
        .map(|(_, candidate)| candidate)
}

fn folded(word: &str) -> Vec<char> {
    word.chars().filter(|c| !matches!(c, '-' | '_')).flat_map(char::to_lowercase).collect()
}

/// Optimal string alignment distance.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row[j] = best;
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_fingers_are_found() {
        let known = ["target", "tolerance", "max_replicas", "min_replicas"];
        for (word, wanted) in [
            ("targt", "target"),
            ("tagret", "target"),
            ("maxReplicas", "max_replicas"),
            ("min-replica", "min_replicas"),
            ("tolerence", "tolerance"),
        ] {
            assert_eq!(suggest(word, known), Some(wanted), "{word}");
        }
    }

    #[test]
    fn other_words_are_not() {
        assert_eq!(suggest("colour", ["target", "tolerance"]), None);
        assert_eq!(suggest("", ["a"]), None);
        assert_eq!(suggest(&"x".repeat(10_000), ["target"]), None);
    }
}
