//! Lengths of prompts and answers, in tokens.

use super::pattern::{Problems, positive};
use crate::sim::rng::{LogNormal, Stream};
use serde::{Deserialize, Serialize};

/// Tokens of one prompt or answer.
pub const TOKENS_MAX: u32 = 10_000_000;
/// Entries of [`Lengths::List`].
pub const LIST_MAX: usize = 10_000;

/// How lengths are spread. Every length is at least one token.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Lengths {
    /// Always the same.
    Fixed(u32),
    /// Any of `min..=max`, all as likely.
    Uniform { min: u32, max: u32 },
    /// Log-normal, by its own mean and coefficient of variation; longer ones count as `max`, which
    /// lowers the mean a little.
    Lognormal { mean: f64, cv: f64, max: u32 },
    /// Any of these, all as likely.
    List(Vec<u32>),
    /// As measured, by (share of requests that are not longer, tokens) in rising order, straight
    /// lines between: `[[0.5, 1040], [0.99, 4107], [1, 14050]]`. From 1 token at share 0 unless the
    /// first says otherwise; beyond the last share, its tokens.
    Quantiles(Vec<(f64, u32)>),
}

impl Lengths {
    pub(super) fn check(&self, problems: &mut Problems, path: &str) {
        let mut tokens = |path: String, n: u32| {
            if !(1..=TOKENS_MAX).contains(&n) {
                problems.add(path, format!("must be from 1 to {TOKENS_MAX} tokens, is {n}"));
            }
        };
        match self {
            Lengths::Fixed(n) => tokens(format!("{path}.fixed"), *n),
            Lengths::Uniform { min, max } => {
                tokens(format!("{path}.uniform.min"), *min);
                tokens(format!("{path}.uniform.max"), *max);
                if min > max {
                    problems.add(format!("{path}.uniform.min"), format!("{min} is above max {max}"));
                }
            }
            Lengths::Lognormal { mean, cv, max } => {
                tokens(format!("{path}.lognormal.max"), *max);
                positive(problems, format!("{path}.lognormal.mean"), *mean, f64::from(TOKENS_MAX));
                positive(problems, format!("{path}.lognormal.cv"), *cv, 100.0);
            }
            Lengths::List(list) => {
                for (i, n) in list.iter().enumerate().take(LIST_MAX) {
                    tokens(format!("{path}.list[{i}]"), *n);
                }
                if list.is_empty() || list.len() > LIST_MAX {
                    problems.add(format!("{path}.list"), format!("must have from 1 to {LIST_MAX} entries"));
                }
            }
            Lengths::Quantiles(known) => {
                for (i, (_, n)) in known.iter().enumerate().take(LIST_MAX) {
                    tokens(format!("{path}.quantiles[{i}]"), *n);
                }
                for (i, (share, _)) in known.iter().enumerate().take(LIST_MAX) {
                    if !(0.0..=1.0).contains(share) {
                        let message = format!("the share must be from 0 to 1, is {share}");
                        problems.add(format!("{path}.quantiles[{i}]"), message);
                    }
                }
                for (i, pair) in known.windows(2).enumerate().take(LIST_MAX) {
                    if !(pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1) {
                        let message = "the shares must rise, and the tokens must not fall".to_owned();
                        problems.add(format!("{path}.quantiles[{}]", i + 1), message);
                    }
                }
                if known.is_empty() || known.len() > LIST_MAX {
                    problems.add(format!("{path}.quantiles"), format!("must have from 1 to {LIST_MAX} entries"));
                }
            }
        }
    }
}

/// Draws lengths, one word of its stream each.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LengthSampler {
    lengths: Lengths,
    lognormal: LogNormal,
    stream: Stream,
}

impl LengthSampler {
    pub fn new(lengths: Lengths, stream: Stream) -> LengthSampler {
        let lognormal = match lengths {
            Lengths::Lognormal { mean, cv, .. } => LogNormal::new(mean, cv),
            _ => LogNormal::new(1.0, 0.0),
        };
        LengthSampler { lengths, lognormal, stream }
    }

    /// The next length, in tokens.
    pub fn draw(&mut self) -> u32 {
        let tokens = match &self.lengths {
            Lengths::Fixed(n) => *n,
            // Below 2^32, as both ends are.
            Lengths::Uniform { min, max } => self.stream.integer(u64::from(*min), u64::from(*max)) as u32,
            Lengths::Lognormal { max, .. } => self.lognormal.draw_whole(&mut self.stream).min(*max),
            Lengths::List(list) => {
                let last = (list.len() as u64).saturating_sub(1);
                list.get(self.stream.integer(0, last) as usize).copied().unwrap_or(1)
            }
            // At least 1, so adding a half and cutting off rounds.
            Lengths::Quantiles(known) => (at_share(known, self.stream.uniform()) + 0.5) as u32,
        };
        tokens.clamp(1, TOKENS_MAX)
    }
}

/// The length that this share of requests does not exceed.
fn at_share(known: &[(f64, u32)], share: f64) -> f64 {
    let after = known.partition_point(|(s, _)| *s <= share);
    let (low_share, low) = after.checked_sub(1).and_then(|i| known.get(i)).copied().unwrap_or((0.0, 1));
    match known.get(after) {
        Some((high_share, high)) if *high_share > low_share => {
            let part = (share - low_share) / (high_share - low_share);
            f64::from(low) + part * (f64::from(*high) - f64::from(low))
        }
        _ => f64::from(low),
    }
}
