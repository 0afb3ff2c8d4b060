use super::*;
use crate::testing::assert_within;

/// The expected values are those of `scipy.stats.t.interval(0.9, 5, mean, sem)` for 10, 11, 12, 13,
/// 14, 15.
#[test]
fn the_interval_is_that_of_students_t() {
    let values = [10.0, 11.0, 12.0, 13.0, 14.0, 15.0];
    let found = mean_interval(&values).expect("six values");
    assert_within(found.low, 10.960_981, 1e-5);
    assert_within(found.high, 14.039_019, 1e-5);
    // For a mean, the jackknife gives the same interval.
    let without: Vec<f64> = values.iter().map(|value| (75.0 - value) / 5.0).collect();
    let jackknifed = batch_interval(found.estimate, &without).expect("six values");
    assert_within(jackknifed.low, found.low, 1e-9);
    assert_eq!((mean_interval(&[1.0]), mean_interval(&[])), (None, None));
}

/// The expected values are those of `scipy.stats.linregress` for these five points: slope 0.46059,
/// stderr 0.13481; Student's factor with three degrees of freedom is 2.35336.
#[test]
fn a_line_through_five_points_has_a_slope_with_an_interval() {
    let points = [
        (3.0, 0.08),
        (5.0, 0.32),
        (6.0, 0.64),
        (7.0, 1.28),
        (8.0, 2.56),
    ];
    let slope = slope_interval(&points).expect("five points");
    assert_within(slope.estimate, 0.460_59, 1e-4);
    let half_width = (slope.high - slope.low) / 2.0;
    assert_within(half_width, 0.134_81 * 2.353_36, 1e-3);
    assert_eq!(slope_interval(&points[..2]), None);
}

/// Tables of the F distribution have F(0.95; 15, 15) = 2.4034, F(0.95; 5, 10) = 3.3258 and F(0.95;
/// 10, 5) = 4.7351.
#[test]
fn spreads_of_few_runs_are_hardly_known() {
    let found = spread_ratio_interval(1.0, 15.0, 15.0).expect("degrees of freedom");
    assert_within(found.high, 2.4034_f64.sqrt(), 1e-3);
    assert_within(found.low * found.high, 1.0, 1e-9);
    let found = spread_ratio_interval(2.0, 5.0, 10.0).expect("degrees of freedom");
    assert_within(found.low, 2.0 / 3.3258_f64.sqrt(), 1e-3);
    assert_within(found.high, 2.0 * 4.7351_f64.sqrt(), 1e-3);
    assert_eq!(spread_ratio_interval(0.0, 5.0, 5.0), None);
}

/// The expected values are those of `scipy.stats.beta.ppf`: for 3 in 1000 at 90 %, 0.00081806 and
/// 0.0077346; for none in 300, 1 - 0.05^(1/300).
#[test]
fn a_share_of_few_has_the_interval_of_a_count() {
    let few = share_interval(3, 1000);
    assert_within(few.estimate, 0.003, 1e-12);
    assert_within(few.low, 0.000_818_06, 1e-6);
    assert_within(few.high, 0.007_734_6, 1e-5);
    let none = share_interval(0, 300);
    assert_eq!((none.estimate, none.low), (0.0, 0.0));
    assert_within(none.high, 1.0 - 0.05_f64.powf(1.0 / 300.0), 1e-9);
}

/// The quantile of the normal distribution at 0.95 is 1.6449, and at 0.995 2.5758.
#[test]
fn an_interval_among_ten_is_half_as_wide_again() {
    let found = among(Interval::symmetric(0.0, 1.0), 10);
    assert_within(found.high, 2.5758 / 1.6449, 1e-4);
    assert_within(found.low, -found.high, 1e-12);
    let alone = Interval::new(5.0, -1.0, 6.0);
    assert_eq!(among(alone, 1), alone);
    let ratio = among(Interval::new(1.0, 0.5, 2.0), 10);
    assert_within(ratio.low * ratio.high, 1.0, 1e-9);
    assert_within(ratio.high.ln() / 2.0_f64.ln(), 1.5660, 1e-3);
}

/// Generator of approximately normal numbers, each the sum of twelve uniform ones.
struct Noise(ChaCha8Rng);

impl Noise {
    fn new(seed: u64) -> Noise {
        Noise(ChaCha8Rng::seed_from_u64(seed))
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.0.random::<f64>()).sum::<f64>() - 6.0
    }
}

/// Returns how many of a hundred intervals cover the truth.
fn covered(truth: f64, mut interval: impl FnMut() -> Interval) -> usize {
    (0..100).filter(|_| interval().contains(truth)).count()
}

#[test]
fn the_largest_of_twelve_is_covered_though_it_was_chosen_afterwards() {
    let mut noise = Noise::new(3);
    let mut of_twelve = || -> Vec<Interval> {
        let one = |noise: &mut Noise| Interval::symmetric(10.0 + noise.normal(), 1.645);
        (0..12).map(|_| one(&mut noise)).collect()
    };
    let naive = covered(10.0, || {
        of_twelve()
            .into_iter()
            .max_by(|a, b| a.estimate.total_cmp(&b.estimate))
            .expect("twelve")
    });
    let extreme = covered(10.0, || largest(&of_twelve()).expect("twelve"));
    assert!(
        naive < 60,
        "its own interval covers {naive} of 100: the test shows nothing"
    );
    assert!(extreme >= 90, "{extreme} of 100");
    let least = covered(10.0, || smallest(&of_twelve()).expect("twelve"));
    assert!(least >= 90, "{least} of 100");
}

/// The result is compared with actual drawing from three groups of two values. The values of the
/// second group differ most.
#[test]
fn groups_are_drawn_before_what_is_in_them() {
    let groups = [[1.0, 2.0], [2.0, 4.0], [1.5, 1.5]];
    let summed =
        groups.map(|[a, b]: [f64; 2]| (f64::midpoint(a, b), (a - b).abs() / 8.0_f64.sqrt()));
    let found = group_interval(&summed).expect("three groups");
    assert_within(found.estimate, 2.0, 1e-12);
    // Student's factor of three groups is 2.92.
    let variance = ((found.high - found.low) / 2.0 / 2.919_985_6).powi(2);
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let mut pick = |count: usize| random.random_range(0..count);
    let mut a_group = || {
        let group = groups[pick(3)];
        f64::midpoint(group[pick(2)], group[pick(2)])
    };
    let drawn: Vec<f64> = (0..40_000)
        .map(|_| (a_group() + a_group() + a_group()) / 3.0)
        .collect();
    let centre = drawn.iter().sum::<f64>() / 40_000.0;
    let by_drawing = drawn.iter().map(|one| (one - centre).powi(2)).sum::<f64>() / 40_000.0;
    // The groups' own variance is that of a sample: 0.75 and not 0.5.
    assert_within(variance - by_drawing, 0.25 / 3.0, 0.005);
    assert_eq!(group_interval(&summed[..1]), None);
}

/// Average costs on design 1a, with their standard errors over batches, of recorded trials of
/// Timesharing with 250, 600 and 1200 switches. Trials of one length agree within 6 %, although
/// inputs, order and quantum differ. Trials with 250 switches cost about 30 % more than longer
/// ones.
const RECORDED: [&[(f64, f64)]; 3] = [
    &[
        (17128.0, 793.0),
        (17251.0, 806.0),
        (17287.0, 807.0),
        (17336.0, 800.0),
        (17428.0, 764.0),
        (17569.0, 833.0),
        (18038.0, 847.0),
    ],
    &[(13905.0, 912.0), (13221.0, 926.0), (13245.0, 890.0)],
    &[(13082.0, 733.0), (13230.0, 769.0)],
];

#[test]
fn six_recorded_trials_cover_the_mean_of_all_as_often_as_they_say() {
    let mean = |trials: &[(f64, f64)]| {
        trials.iter().map(|(cost, _)| cost.ln()).sum::<f64>() / trials.len() as f64
    };
    let truth = RECORDED.iter().map(|trials| mean(trials)).sum::<f64>() / RECORDED.len() as f64;
    let mut random = ChaCha8Rng::seed_from_u64(11);
    let mut trial = || {
        let of_length = RECORDED[random.random_range(0..RECORDED.len())];
        let (cost, error) = of_length[random.random_range(0..of_length.len())];
        (cost.ln(), error / cost)
    };
    let mut hundred = || {
        covered(truth, || {
            group_interval(&std::array::from_fn::<_, 6, _>(|_| trial())).expect("six")
        })
    };
    let found = (0..10).map(|_| hundred()).sum::<usize>();
    assert!((850..=950).contains(&found), "{found} of 1000");
}

/// Returns the logarithm of the mean absolute deviation from the median. The deviation is 0.7979
/// standard deviations for the normal distribution.
fn spread(runs: &[f64]) -> Option<f64> {
    let mut sorted = runs.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
    Some((runs.iter().map(|run| (run - middle).abs()).sum::<f64>() / runs.len() as f64).ln())
}

#[test]
fn the_spread_of_24_runs_is_covered_as_often_as_it_says() {
    let mut noise = Noise::new(5);
    let truth = (2.0 / std::f64::consts::PI).sqrt().ln();
    let found = covered(truth, || {
        run_interval(&(0..24).map(|_| noise.normal()).collect::<Vec<_>>(), spread).expect("runs")
    });
    assert!((84..=98).contains(&found), "{found} of 100");
    assert_eq!(
        run_interval(&[1.0, 2.0, 3.0, 4.0, 5.0], spread),
        None,
        "too few to draw from"
    );
}
