//! Named random streams, and samplers over them.
//!
//! Each source of chance (arrivals, lengths, boot times, spot...) draws from its own [`Stream`],
//! derived from the scenario's seed and the source's name: what one source draws never depends on
//! what another one did. Draws that belong to a node or pod use a stream of (name, its ordinal).
//!
//! Same bits on every platform: ChaCha8 (stable over releases of `rand_chacha`), and floats only
//! through IEEE basic operations and `sim::math`. No sampler keeps state besides the stream's
//! position, so a saved stream is its key and one number.

use super::math;

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// A random stream. Equal streams give equal draws for ever.
///
/// The ChaCha8 key is the little-endian bytes of: the seed (8), FNV-1a 64 of the name (8), the
/// ordinal or 0 (8), and the text `7of8` with 0 or, for streams with an ordinal, 1 (4 + 4). ChaCha
/// is its own mixer: keys that differ in one bit give unrelated streams. The nonce is 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Position", into = "Position")]
pub struct Stream(ChaCha8Rng);

/// A stream as it is saved: its key, and how many 32-bit words were drawn.
#[derive(Serialize, Deserialize)]
struct Position {
    key: [u8; 32],
    words: u64,
}

impl From<Stream> for Position {
    fn from(stream: Stream) -> Position {
        // Past 2^64 words no simulation comes.
        Position { key: stream.0.get_seed(), words: stream.0.get_word_pos() as u64 }
    }
}

impl From<Position> for Stream {
    fn from(position: Position) -> Stream {
        let mut rng = ChaCha8Rng::from_seed(position.key);
        rng.set_word_pos(u128::from(position.words));
        Stream(rng)
    }
}

/// A log-normal distribution, prepared for many draws.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LogNormal {
    mean: f64,
    sigma: f64,
    half_variance: f64,
}

impl LogNormal {
    /// By the mean and coefficient of variation of the value itself.
    pub fn new(mean: f64, cv: f64) -> LogNormal {
        let variance = math::ln(1.0 + cv * cv);
        LogNormal { mean, sigma: variance.sqrt(), half_variance: variance / 2.0 }
    }

    /// Draws once.
    pub fn draw(&self, stream: &mut Stream) -> f64 {
        self.mean * math::exp(self.sigma * stream.normal() - self.half_variance)
    }

    /// Draws once, rounded to a whole number: always what [`Self::draw`] rounds to, at a fraction of
    /// its cost. An approximation decides unless it lies too near the middle between two numbers.
    pub fn draw_whole(&self, stream: &mut Stream) -> u32 {
        /// Ten times the approximation's error.
        const DOUBT: f64 = 1e-8;
        let x = self.sigma * stream.normal() - self.half_variance;
        let raised = self.mean * near_exp(x) + 0.5;
        let whole = raised as u32;
        let (above, doubt) = (raised - f64::from(whole), raised * DOUBT);
        // Written so that a NaN, and what is too large for the type, is computed in full.
        if above > doubt && above < 1.0 - doubt { whole } else { (self.mean * math::exp(x)).round() as u32 }
    }
}

/// The exponential with a relative error below 10^-9 and without branches; NaN far from 0.
fn near_exp(x: f64) -> f64 {
    /// Adding and subtracting it rounds to whole numbers, which then are its lowest bits.
    const ROUNDS: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52
    let turns = x * std::f64::consts::LOG2_E + ROUNDS;
    let power = turns.to_bits().wrapping_sub(ROUNDS.to_bits());
    let scale = f64::from_bits(power.wrapping_add(1023).wrapping_shl(52));
    // Taylor's series up to the eighth power; |r| is at most ln 2 / 2.
    let r = x - (turns - ROUNDS) * std::f64::consts::LN_2;
    let (r2, r4) = (r * r, r * r * r * r);
    let low = (1.0 + r) + r2 * (0.5 + r * (1.0 / 6.0));
    let high = (1.0 / 24.0 + r * (1.0 / 120.0)) + r2 * (1.0 / 720.0 + r * (1.0 / 5_040.0)) + r4 * (1.0 / 40_320.0);
    if x.abs() < 700.0 { (low + r4 * high) * scale } else { f64::NAN }
}

/// FNV-1a, 64 bit: a fixed, documented hash for names and content. Not for hostile keys.
pub fn fnv1a64(bytes: &[u8]) -> u64 {
    fnv1a64_on(0xcbf2_9ce4_8422_2325, bytes)
}

/// Continues an FNV-1a hash.
pub fn fnv1a64_on(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

impl Stream {
    /// The stream of a source.
    pub fn new(seed: u64, name: &str) -> Stream {
        Stream::keyed(seed, name, 0, 0)
    }

    /// The stream of one thing of a source, such as a node or pod.
    pub fn with_ordinal(seed: u64, name: &str, ordinal: u64) -> Stream {
        Stream::keyed(seed, name, ordinal, 1)
    }

    fn keyed(seed: u64, name: &str, ordinal: u64, kind: u32) -> Stream {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..16].copy_from_slice(&fnv1a64(name.as_bytes()).to_le_bytes());
        key[16..24].copy_from_slice(&ordinal.to_le_bytes());
        key[24..28].copy_from_slice(b"7of8");
        key[28..].copy_from_slice(&kind.to_le_bytes());
        Stream(ChaCha8Rng::from_seed(key))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in [0, 1), in steps of 2^-53.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in (0, 1): never an end, so that its logarithm is finite.
    pub fn uniform_open(&mut self) -> f64 {
        ((self.bits() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// Uniform in `min..=max`, without bias (Lemire's method); `min` if the range is empty.
    pub fn integer(&mut self, min: u64, max: u64) -> u64 {
        let Some(width) = max.checked_sub(min) else { return min };
        let Some(count) = width.checked_add(1) else {
            return self.bits();
        };
        // Of the 2^64 values, 2^64 mod count are too many: those are drawn again.
        let too_many = count.wrapping_neg() % count;
        loop {
            let product = u128::from(self.bits()) * u128::from(count);
            if product as u64 >= too_many {
                return min + (product >> 64) as u64;
            }
        }
    }

    /// True with the given probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }

    /// Exponential. One draw, by inversion.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * math::ln(self.uniform_open())
    }

    /// Normal with mean 0 and deviation 1. One draw, by inversion, so that two runs that share a
    /// stream stay coupled even if they differ in the distribution's parameters.
    pub fn normal(&mut self) -> f64 {
        normal_quantile(self.uniform_open())
    }

    /// Log-normal with the given mean and coefficient of variation (deviation / mean) of the value
    /// itself, not of its logarithm. One draw.
    pub fn lognormal(&mut self, mean: f64, cv: f64) -> f64 {
        LogNormal::new(mean, cv).draw(self)
    }

    /// Gamma with the given shape and scale (mean = shape × scale), by Marsaglia and Tsang (2000);
    /// shapes below 1 by their power-of-a-uniform step. Zero unless the shape is positive.
    pub fn gamma(&mut self, shape: f64, scale: f64) -> f64 {
        if shape.is_nan() || shape <= 0.0 {
            return 0.0;
        }
        if shape < 1.0 {
            let boost = math::pow(self.uniform_open(), 1.0 / shape);
            return self.gamma(shape + 1.0, scale) * boost;
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let root = 1.0 + c * x;
            if root <= 0.0 {
                continue;
            }
            let v = root * root * root;
            let u = self.uniform_open();
            // The first test is a cheap bound of the second.
            if u < 1.0 - 0.0331 * (x * x) * (x * x) || math::ln(u) < 0.5 * x * x + d * (1.0 - v + math::ln(v)) {
                return d * v * scale;
            }
        }
    }

    /// Poisson: by multiplication (Knuth) below a mean of 10, by Hörmann's transformed rejection
    /// (PTRS, 1993) from there. Zero unless the mean is positive and finite.
    pub fn poisson(&mut self, mean: f64) -> u64 {
        if !mean.is_finite() || mean <= 0.0 {
            return 0;
        }
        if mean < 10.0 {
            let floor = math::exp(-mean);
            let (mut count, mut product) = (0, self.uniform_open());
            while product > floor {
                count += 1;
                product *= self.uniform_open();
            }
            return count;
        }
        let b = 0.931 + 2.53 * mean.sqrt();
        let a = -0.059 + 0.02483 * b;
        let inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
        let v_r = 0.9277 - 3.6224 / (b - 2.0);
        loop {
            let u = self.uniform() - 0.5;
            let v = self.uniform_open();
            let us = 0.5 - u.abs();
            let k = ((2.0 * a / us + b) * u + mean + 0.43).floor();
            if us >= 0.07 && v <= v_r {
                return k as u64;
            }
            if k < 0.0 || (us < 0.013 && v > us) {
                continue;
            }
            let left = math::ln(v * inverse_alpha / (a / (us * us) + b));
            if left <= k * math::ln(mean) - mean - ln_factorial(k) {
                return k as u64;
            }
        }
    }

    /// Triangular between `min` and `max` with its peak at `mode`. One draw, by inversion; `min`
    /// unless min <= mode <= max and min < max.
    pub fn triangular(&mut self, min: f64, mode: f64, max: f64) -> f64 {
        let u = self.uniform();
        let width = max - min;
        if !(width > 0.0 && (min..=max).contains(&mode)) {
            return min;
        }
        if u * width < mode - min {
            min + (u * width * (mode - min)).sqrt()
        } else {
            max - ((1.0 - u) * width * (max - mode)).sqrt()
        }
    }
}

/// ln k! by Stirling's series, error below 1e-12; small values by multiplication.
fn ln_factorial(k: f64) -> f64 {
    if k < 15.0 {
        let mut product = 1.0;
        let mut factor = 2.0;
        while factor <= k {
            product *= factor;
            factor += 1.0;
        }
        return math::ln(product);
    }
    const HALF_LN_TWO_PI: f64 = 0.918_938_533_204_672_8;
    let x = k + 1.0;
    let i = 1.0 / (x * x);
    (x - 0.5) * math::ln(x) - x
        + HALF_LN_TWO_PI
        + (1.0 / 12.0 - i * (1.0 / 360.0 - i * (1.0 / 1260.0 - i / 1680.0))) / x
}

/// The normal quantile by Wichura's algorithm AS 241 (PPND16, 1988), relative error about 1e-16.
pub fn normal_quantile(p: f64) -> f64 {
    const NEAR: ([f64; 8], [f64; 8]) = (
        [
            3.387_132_872_796_366_6,
            133.141_667_891_784_38,
            1_971.590_950_306_551_3,
            13_731.693_765_509_46,
            45_921.953_931_549_87,
            67_265.770_927_008_7,
            33_430.575_583_588_13,
            2_509.080_928_730_122_7,
        ],
        [
            1.0,
            42.313_330_701_600_91,
            687.187_007_492_057_9,
            5_394.196_021_424_751,
            21_213.794_301_586_597,
            39_307.895_800_092_71,
            28_729.085_735_721_943,
            5_226.495_278_852_854,
        ],
    );
    const MIDDLE: ([f64; 8], [f64; 8]) = (
        [
            1.423_437_110_749_683_5,
            4.630_337_846_156_546,
            5.769_497_221_460_691,
            3.647_848_324_763_204_5,
            1.270_458_252_452_368_4,
            0.241_780_725_177_450_6,
            0.022_723_844_989_269_184,
            7.745_450_142_783_414e-4,
        ],
        [
            1.0,
            2.053_191_626_637_759,
            1.676_384_830_183_803_8,
            0.689_767_334_985_1,
            0.148_103_976_427_480_08,
            0.015_198_666_563_616_457,
            5.475_938_084_995_345e-4,
            1.050_750_071_644_416_9e-9,
        ],
    );
    const FAR: ([f64; 8], [f64; 8]) = (
        [
            6.657_904_643_501_103,
            5.463_784_911_164_114,
            1.784_826_539_917_291_3,
            0.296_560_571_828_504_87,
            0.026_532_189_526_576_124,
            0.001_242_660_947_388_078_4,
            2.711_555_568_743_487_6e-5,
            2.010_334_399_292_288_1e-7,
        ],
        [
            1.0,
            0.599_832_206_555_888,
            0.136_929_880_922_735_8,
            0.014_875_361_290_850_615,
            7.868_691_311_456_133e-4,
            1.846_318_317_510_054_8e-5,
            1.421_511_758_316_446e-7,
            2.044_263_103_389_939_8e-15,
        ],
    );
    let ratio = |(over, under): &([f64; 8], [f64; 8]), r: f64| {
        // Side by side: neither has to wait for the other.
        let (mut a, mut b) = (over[7], under[7]);
        for i in (0..7).rev() {
            a = a * r + over[i];
            b = b * r + under[i];
        }
        a / b
    };
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        return q * ratio(&NEAR, 0.180_625 - q * q);
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    let r = (-math::ln(tail)).sqrt();
    let value = if r <= 5.0 { ratio(&MIDDLE, r - 1.6) } else { ratio(&FAR, r - 5.0) };
    if q < 0.0 { -value } else { value }
}

#[cfg(test)]
#[path = "rng_test.rs"]
mod rng_test;
