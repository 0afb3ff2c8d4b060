//! Compares with independent references: SciPy, a published example, and a brute-force test over
//! all signs.

use super::*;
use crate::testing::{normal, seeded};
use proptest::prelude::*;
use rand::Rng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use statrs::distribution::ContinuousCDF;

const SIX: [f64; 6] = [
    1677.667, 1757.8592, 1772.8203, 1734.6072, 1745.5827, 1723.2106,
];
const FOURTEEN: [f64; 14] = [
    1746.1918, 1758.4559, 1775.1843, 1662.4286, 1769.4429, 1674.489, 1784.2583, 1746.7643,
    1704.2787, 1701.3798, 1777.5105, 1729.6294, 1723.2072, 1723.2812,
];
const TWENTY_FIVE: [f64; 25] = [
    1747.441, 1752.5793, 1753.9537, 1736.0534, 1771.9637, 1757.9026, 1703.5971, 1744.8459,
    1789.9314, 1751.709, 1755.9557, 1732.9177, 1697.0817, 1705.4265, 1755.3496, 1769.2962,
    1723.5629, 1625.9744, 1677.9774, 1723.8308, 1793.0249, 1737.1357, 1766.7784, 1734.8748,
    1780.1099,
];

fn assert_near(found: f64, expected: f64, what: &str) {
    assert!(
        (found - expected).abs() <= 1e-6 * expected.abs().max(1.0),
        "{what}: found {found}, expected {expected}"
    );
}

fn assert_interval(values: &[f64], level: f64, expected: (f64, f64, f64)) {
    let found = estimate(values, level).expect("enough values");
    let what = format!("n = {}, {level}", values.len());
    assert_near(found.estimate, expected.0, &what);
    assert_near(found.low, expected.1, &what);
    assert_near(found.high, expected.2, &what);
    assert!(found.confidence >= level, "{what}: {}", found.confidence);
}

/// Expected values from scipy 1.17.1, by inverting its test, with x the values and w their sorted Walsh averages:
///
/// ```python
/// a, eps = (1 - level) / 2, 1e-5
/// centre = numpy.median(w)
/// low  = next(v for v in w       if stats.wilcoxon(x - (v + eps), alternative='greater', method='exact').pvalue >= a)
/// high = next(v for v in w[::-1] if stats.wilcoxon(x - (v - eps), alternative='less',    method='exact').pvalue >= a)
/// ```
#[test]
fn the_interval_is_what_scipys_exact_test_does_not_reject() {
    assert_interval(&SIX, 0.8, (1740.09495, 1711.62485, 1757.8592));
    assert_interval(&SIX, 0.9, (1740.09495, 1706.1371, 1759.2015));
    assert_interval(&SIX, 0.95, (1740.09495, 1677.667, 1772.8203));
    assert_interval(&FOURTEEN, 0.8, (1735.41135, 1721.96595, 1750.35885));
    assert_interval(&FOURTEEN, 0.9, (1735.41135, 1715.5046, 1753.73275));
    assert_interval(&FOURTEEN, 0.95, (1735.41135, 1712.2935, 1758.1036));
    assert_interval(&FOURTEEN, 0.99, (1735.41135, 1701.3798, 1766.8201));
    assert_interval(&TWENTY_FIVE, 0.8, (1744.31635, 1734.48555, 1751.97035));
    assert_interval(&TWENTY_FIVE, 0.9, (1744.31635, 1730.3493, 1753.9537));
    assert_interval(&TWENTY_FIVE, 0.95, (1744.31635, 1728.56775, 1755.81215));
    assert_interval(&TWENTY_FIVE, 0.99, (1744.31635, 1722.26135, 1760.36605));
}

/// Returns eighty values k = 1..=80: `numpy.round(1000 + 300 * stats.norm.ppf((k - 0.5) / 80) + 7 *
/// numpy.sin(k), 4)`.
fn eighty() -> Vec<f64> {
    let normal = statrs::distribution::Normal::standard();
    let value = |k: f64| 1000.0 + 300.0 * normal.inverse_cdf((k - 0.5) / 80.0) + 7.0 * k.sin();
    (1..=80)
        .map(|k| (value(f64::from(k)) * 1e4).round() / 1e4)
        .collect()
}

/// The expected values are SciPy's with `method='asymptotic', correction=True`.
#[test]
fn beyond_sixty_values_the_interval_is_that_of_scipys_asymptotic_test() {
    assert_interval(&eighty(), 0.9, (1000.34795, 942.5314, 1058.04405));
    assert_interval(&eighty(), 0.95, (1000.34795, 932.0059, 1068.61));
    let found = estimate(&eighty(), 0.9).expect("enough");
    assert_eq!(
        found.method,
        "Hodges-Lehmann, Wilcoxon signed-rank interval (normal approximation)"
    );
}

/// The expected values are `stats.t.interval(0.90, len(x) - 1, loc=x.mean(), scale=stats.sem(x))`
/// and `x.std(ddof=1)` of SciPy 1.17.1.
#[test]
fn the_t_interval_is_scipys() {
    for (values, low, high, sd) in [
        (
            &SIX[..],
            1708.0305580526353,
            1762.5517752806984,
            33.1379544361246,
        ),
        (
            &FOURTEEN,
            1715.8735291061232,
            1752.1981708938772,
            38.37365215853491,
        ),
        (
            &TWENTY_FIVE,
            1726.9349987826288,
            1752.2068972173709,
            36.92817104624777,
        ),
        (
            &eighty(),
            944.3711691272405,
            1055.7197233727593,
            299.19155679136696,
        ),
    ] {
        let found = estimate(values, 0.9).expect("enough");
        let interval = found.t90.expect("two values or more");
        assert_near(interval.0, low, "low");
        assert_near(interval.1, high, "high");
        assert_near(found.sd, sd, "sd");
    }
}

/// Hollander and Wolfe, "Nonparametric statistical methods", examples 3.1 to 3.4: Hamilton's depression scale before
/// and after tranquilizer. Centre 0.46, interval at 96.1 % from 0.010 to 0.786.
#[test]
#[expect(clippy::approx_constant, reason = "a patient's score of 3.14")]
fn the_textbooks_example_comes_out() {
    let before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
    let after = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29];
    let differences: Vec<f64> = before
        .iter()
        .zip(after)
        .map(|(before, after)| before - after)
        .collect();
    assert_interval(&differences, 0.96, (0.46, 0.010, 0.786));
    let found = estimate(&differences, 0.96).expect("nine");
    assert_near(found.confidence, 1.0 - 20.0 / 512.0, "confidence");
}

/// Returns the probability, over all 2^n signs, that the rank sum of the positive values is at most
/// that of `values - centre`.
fn brute_force_p(values: &[f64], centre: f64) -> f64 {
    let n = values.len();
    let mut ranked: Vec<f64> = values.iter().map(|value| value - centre).collect();
    ranked.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    let observed: usize = (0..n)
        .filter(|rank| ranked[*rank] > 0.0)
        .map(|rank| rank + 1)
        .sum();
    let sum_of = |signs: u32| {
        (0..n)
            .filter(|bit| signs >> bit & 1 == 1)
            .map(|bit| bit + 1)
            .sum::<usize>()
    };
    (0..1_u32 << n)
        .filter(|signs| sum_of(*signs) <= observed)
        .count() as f64
        / f64::from(1_u32 << n)
}

#[test]
fn the_interval_is_what_brute_force_over_all_signs_does_not_reject() {
    let mut random = seeded(5);
    for n in 5..=10 {
        let values: Vec<f64> = (0..n).map(|_| 100.0 + 9.0 * normal(&mut random)).collect();
        let mirrored: Vec<f64> = values.iter().map(|value| -value).collect();
        let found = estimate(&values, 0.9).expect("enough");
        let step = 1e-7;
        // V falls as the centre rises, so high centres are rejected by few positive ranks.
        for (values, end) in [(&values, found.high), (&mirrored, -found.low)] {
            let [inside, outside] = [end - step, end + step].map(|end| brute_force_p(values, end));
            assert!(inside > 0.05 && outside <= 0.05, "n = {n}: {found:?}");
        }
    }
}

#[test]
fn a_single_value_is_said_to_be_too_few() {
    let error = estimate(&[1.0], 0.95).expect_err("one");
    assert_eq!(
        error.to_string(),
        "only 1 usable repetition of the 6 needed for an interval of 95 % confidence; give the run more time (--budget)"
    );
}

#[test]
fn equal_values_have_an_interval_of_no_width() {
    let found = estimate(&[3.0; 7], 0.9).expect("seven");
    assert_eq!(
        (found.low, found.estimate, found.high, found.sd),
        (3.0, 3.0, 3.0, 0.0)
    );
    assert_eq!(found.relative_half_width(), 0.0);
}

/// Returns how many of `trials` intervals miss the true value 0, with values drawn by `draw`.
fn misses(trials: u64, n: usize, draw: impl Fn(&mut ChaCha8Rng) -> f64) -> u64 {
    let miss = |seed: &u64| {
        let mut random = seeded(*seed);
        let values: Vec<f64> = (0..n).map(|_| draw(&mut random)).collect();
        estimate(&values, 0.9)
            .expect("enough")
            .is_distinguishable_from_zero()
    };
    (0..trials).filter(miss).count() as u64
}

/// Draws normal numbers, of which one in twenty is ten times as far from 0.
fn heavy_tailed(random: &mut ChaCha8Rng) -> f64 {
    let scale = if random.random_bool(0.05) { 10.0 } else { 1.0 };
    scale * normal(random)
}

#[test]
fn intervals_cover_the_truth_as_often_as_they_say() {
    for n in [5, 8, 12, 30, 60, 90] {
        let trials = 2_000_u64;
        // The limit is three standard deviations of the binomial number above the nominal tenth.
        let limit = (trials as f64 * 0.1 + 3.0 * (trials as f64 * 0.09).sqrt()) as u64;
        let (of_normal, of_heavy) = (misses(trials, n, normal), misses(trials, n, heavy_tailed));
        assert!(
            of_normal <= limit && of_heavy <= limit,
            "n = {n}: {of_normal} and {of_heavy} of {trials}"
        );
        assert!(
            of_normal > trials / 40,
            "n = {n}: {of_normal} of {trials}, far wider than need be"
        );
    }
}

proptest! {
    #[test]
    fn order_is_nothing(values in prop::collection::vec(-1e6..1e6_f64, 6..40), seed: u64) {
        let mut shuffled = values.clone();
        shuffled.shuffle(&mut seeded(seed));
        prop_assert_eq!(estimate(&values, 0.9), estimate(&shuffled, 0.9));
    }

    #[test]
    fn an_estimate_moves_and_grows_with_its_values(
        values in prop::collection::vec(-1e3..1e3_f64, 6..40), shift in -1e3..1e3_f64, scale in 0.01..100.0_f64,
    ) {
        let plain = estimate(&values, 0.9).expect("enough");
        let moved: Vec<f64> = values.iter().map(|value| value * scale + shift).collect();
        let moved = estimate(&moved, 0.9).expect("enough");
        let near = |found: f64, expected: f64| (found - expected).abs() < 1e-6 * (1.0 + expected.abs());
        prop_assert!(near(moved.estimate, plain.estimate * scale + shift));
        prop_assert!(near(moved.low, plain.low * scale + shift) && near(moved.high, plain.high * scale + shift));
        prop_assert!(near(moved.sd, plain.sd * scale));
    }

    #[test]
    fn a_mirrored_estimate_is_the_mirror_image(values in prop::collection::vec(-1e3..1e3_f64, 6..40)) {
        let plain = estimate(&values, 0.9).expect("enough");
        let mirrored = estimate(&values.iter().map(|value| -value).collect::<Vec<_>>(), 0.9).expect("enough");
        prop_assert_eq!((mirrored.low, mirrored.high), (-plain.high, -plain.low));
        prop_assert!(plain.low <= plain.estimate && plain.estimate <= plain.high);
    }
}
