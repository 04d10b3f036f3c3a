//! Known answers (the same bits on every platform), moments, and independence of streams.

use super::*;

const N: usize = 200_000;

/// Mean and coefficient of variation of many draws.
fn moments(mut draw: impl FnMut(&mut Stream) -> f64) -> (f64, f64) {
    let mut stream = Stream::new(11, "moments");
    let draws: Vec<f64> = (0..N).map(|_| draw(&mut stream)).collect();
    let mean = draws.iter().sum::<f64>() / N as f64;
    let variance = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / N as f64;
    (mean, variance.sqrt() / mean)
}

fn near(found: f64, wanted: f64, tolerance: f64) {
    assert!((found - wanted).abs() <= tolerance, "{found} is not {wanted} ± {tolerance}");
}

#[test]
fn the_first_words_are_fixed_for_ever() {
    let mut plain = Stream::new(7, "arrivals");
    let mut fifth = Stream::with_ordinal(7, "boot", 5);
    let words = [plain.bits(), plain.bits(), fifth.bits(), fifth.bits()].map(|w| format!("{w:016x}"));
    assert_eq!(words, ["08364ce293df272a", "d4ba046d24a1a3fe", "0fe0d7189d5c98fc", "8d7eaaca174b4a0b"]);
}

#[test]
fn samples_are_fixed_to_the_bit() {
    let mut s = Stream::new(7, "golden");
    let mut hash = fnv1a64(b"");
    for _ in 0..1_000 {
        for x in [
            s.uniform(),
            s.exponential(2.0),
            s.normal(),
            s.lognormal(1000.0, 1.2),
            s.gamma(0.01, 3.0),
            s.gamma(4.5, 0.1),
            s.poisson(3.0) as f64,
            s.poisson(300.0) as f64,
            s.triangular(1.0, 2.0, 5.0),
            s.integer(3, 17) as f64,
        ] {
            hash = fnv1a64_on(hash, &x.to_bits().to_le_bytes());
        }
    }
    assert_eq!(format!("{hash:016x}"), "ef9dcaef072c6e44");
}

#[test]
fn streams_differ_by_seed_name_and_ordinal() {
    let mut first: Vec<u64> = vec![
        Stream::new(7, "a").bits(),
        Stream::new(8, "a").bits(),
        Stream::new(7, "b").bits(),
        Stream::with_ordinal(7, "a", 0).bits(),
        Stream::with_ordinal(7, "a", 1).bits(),
    ];
    first.sort_unstable();
    first.dedup();
    assert_eq!(first.len(), 5);
}

#[test]
fn fnv_gives_the_published_values() {
    assert_eq!(fnv1a64(b""), 0xcbf2_9ce4_8422_2325);
    assert_eq!(fnv1a64(b"a"), 0xaf63_dc4c_8601_ec8c);
    assert_eq!(fnv1a64(b"foobar"), 0x8594_4171_f739_67e8);
}

#[test]
fn a_saved_stream_goes_on_where_it_was() {
    let mut stream = Stream::new(7, "saved");
    for drawn in 0..100 {
        let json = serde_json::to_string(&stream).unwrap();
        let bytes = postcard::to_allocvec(&stream).unwrap();
        let mut from_json: Stream = serde_json::from_str(&json).unwrap();
        let mut from_bytes: Stream = postcard::from_bytes(&bytes).unwrap();
        assert_eq!(from_json, stream, "after {drawn}");
        let next = stream.bits();
        assert_eq!((from_json.bits(), from_bytes.bits()), (next, next));
    }
}

#[test]
fn moments_are_right() {
    let (mean, cv) = moments(Stream::uniform);
    near(mean, 0.5, 0.003);
    near(cv, 1.0 / 3f64.sqrt(), 0.003);
    let (mean, cv) = moments(|s| s.exponential(2.0));
    near(mean, 2.0, 0.02);
    near(cv, 1.0, 0.01);
    let (mean, cv) = moments(|s| s.normal() + 10.0);
    near(mean, 10.0, 0.01);
    near(cv, 0.1, 0.001);
    let (mean, cv) = moments(|s| s.lognormal(1000.0, 0.8));
    near(mean, 1000.0, 8.0);
    near(cv, 0.8, 0.02);
    for (shape, scale) in [(0.2, 3.0), (1.0, 2.0), (9.0, 0.5)] {
        let (mean, cv) = moments(|s| s.gamma(shape, scale));
        near(mean, shape * scale, 0.02 * shape * scale);
        near(cv, 1.0 / shape.sqrt(), 0.02 / shape.sqrt());
    }
    for rate in [0.5, 9.9, 10.1, 500.0] {
        let (mean, cv) = moments(|s| s.poisson(rate) as f64);
        near(mean, rate, 0.015 * rate.sqrt());
        near(cv, 1.0 / rate.sqrt(), 0.01 / rate.sqrt());
    }
    let (mean, cv) = moments(|s| s.triangular(1.0, 2.0, 6.0));
    near(mean, 3.0, 0.01);
    near(cv, (21.0f64 / 18.0).sqrt() / 3.0, 0.005);
    let (mean, cv) = moments(|s| s.integer(10, 20) as f64);
    near(mean, 15.0, 0.03);
    near(cv, 10f64.sqrt() / 15.0, 0.003);
}

#[test]
fn poisson_counts_have_their_probabilities() {
    for rate in [3.0, 12.0] {
        let mut stream = Stream::new(3, "poisson");
        let mut counts = vec![0u32; 60];
        for _ in 0..N {
            counts[stream.poisson(rate) as usize] += 1;
        }
        let mut probability = math::exp(-rate);
        for (k, count) in counts.iter().enumerate().take(30) {
            let wanted = probability * N as f64;
            near(f64::from(*count), wanted, 5.0 * wanted.sqrt() + 3.0);
            probability *= rate / (k as f64 + 1.0);
        }
    }
}

#[test]
fn the_normal_quantile_inverts_the_distribution() {
    for (p, z) in [
        (0.5, 0.0),
        (0.975, 1.959_963_984_540_054),
        (0.999, 3.090_232_306_167_813_5),
        (0.25, -0.674_489_750_196_081_7),
        (1e-10, -6.361_340_902_404_056),
        (1e-20, -9.262_340_089_798_408),
    ] {
        near(normal_quantile(p), z, 1e-14 * (1.0 + z.abs()));
    }
    for i in 1..10_000 {
        let p = f64::from(i) / 10_000.0;
        let z = normal_quantile(p);
        near(0.5 * libm::erfc(-z / std::f64::consts::SQRT_2), p, 1e-14);
    }
}

#[test]
fn log_factorials_match_their_sums() {
    let mut sum = 0.0;
    for k in 1..400 {
        sum += math::ln(f64::from(k));
        near(ln_factorial(f64::from(k)), sum, 1e-11 * (1.0 + sum));
    }
}

#[test]
fn odd_parameters_give_an_end_and_no_panic() {
    let mut s = Stream::new(1, "odd");
    assert_eq!(s.integer(9, 3), 9);
    assert_eq!(s.integer(4, 4), 4);
    let _ = s.integer(0, u64::MAX);
    assert_eq!(s.gamma(0.0, 1.0), 0.0);
    assert_eq!(s.gamma(f64::NAN, 1.0), 0.0);
    assert_eq!(s.poisson(f64::INFINITY), 0);
    assert_eq!(s.poisson(-1.0), 0);
    assert_eq!(s.triangular(5.0, 2.0, 1.0), 5.0);
    assert_eq!(s.triangular(5.0, 5.0, 5.0), 5.0);
    assert!(!s.chance(0.0) && s.chance(1.0));
}

#[test]
fn a_near_exponential_is_near() {
    for i in -69_999..70_000 {
        let x = f64::from(i) / 100.0;
        let error = near_exp(x) / math::exp(x) - 1.0;
        assert!(error.abs() < 1e-9, "{x}: {error}");
    }
    for far in [700.0, -700.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        assert!(near_exp(far).is_nan());
    }
}

#[test]
fn whole_lognormal_draws_are_the_rounded_ones() {
    let pairs =
        [(1156.0, 0.9), (250.0, 0.68), (1.0, 0.3), (0.4, 3.0), (1e7, 100.0), (1e12, 1.0), (7.5, 1e-12), (3.0, 0.0)];
    for (mean, cv) in pairs {
        let distribution = LogNormal::new(mean, cv);
        let (mut whole, mut full) = (Stream::new(5, "whole"), Stream::new(5, "whole"));
        for _ in 0..100_000 {
            assert_eq!(distribution.draw_whole(&mut whole), distribution.draw(&mut full).round() as u32);
        }
        assert_eq!(whole, full);
    }
}
