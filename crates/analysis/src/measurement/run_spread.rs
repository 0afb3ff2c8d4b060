//! Widens an interval so that it covers other runs on the machine, not only the variation within
//! one run.

use switchcost_record::{Case, CostName, EarlierCase, Header};

use crate::measurement::deciding::hands_over_across_cpus;
use crate::measurement::findings::{BetweenRuns, Source};
use crate::statistics::quantiles::{normal, student};
use crate::statistics::{Estimate, Interval};

/// Standard deviation between runs on one machine, as a share of the cost, that is assumed if no
/// records show the deviation. The deviation was 0.5 to 2.6 % on shared virtual machines
/// (`docs/method/statistics.md`).
pub const ASSUMED_RUN_SPREAD: f64 = 0.02;

/// Standard deviation between runs that is assumed for hand-offs across CPUs, as a share of the
/// cost. The idle CPU stays in one of several states for tens of seconds. The value is from 24
/// records of one case on one shared virtual machine within an hour, where the deviation was 0.13.
pub const ASSUMED_ACROSS_CPUS: f64 = 0.15;

/// Returns the standard deviation between runs that is assumed for a cost of a case. Baseline and
/// walk have the value for one CPU in every case, because a single task runs in them.
pub(crate) fn assumed_spread(case: &Case, cost: CostName) -> f64 {
    let is_alone = matches!(cost, CostName::Baseline | CostName::Walk);
    if hands_over_across_cpus(case) && !is_alone {
        ASSUMED_ACROSS_CPUS
    } else {
        ASSUMED_RUN_SPREAD
    }
}

/// Degrees of freedom of the assumed spread. The value was chosen so that runs on a shared virtual
/// machine differ no more often than the confidence allows (`docs/method/comparison.md`).
pub(crate) const FREEDOM: f64 = 6.0;

/// Largest number of repetitions that count as independent. Repetitions of one run share its time
/// and load, so more of them show nothing about other runs. The value was calibrated
/// (`docs/method/statistics.md`).
const INDEPENDENT: f64 = 8.0;

impl Estimate {
    /// Returns this estimate with an interval for ratios to other cases of the same run, with the
    /// same mechanism and number of tasks. Differences between runs cancel in such ratios
    /// (`docs/method/statistics.md`).
    pub fn estimate_within_run(&self) -> Interval {
        let widened = |end: f64| self.estimate + (end - self.estimate) * self.repetitions_shared();
        let (low, high) = self.within_run;
        Interval::new(self.estimate, widened(low), widened(high))
    }

    /// Returns the factor by which an interval must be wider because repetitions beyond
    /// [`INDEPENDENT`] add no information.
    fn repetitions_shared(&self) -> f64 {
        (self.n as f64 / INDEPENDENT).max(1.0).sqrt()
    }

    /// Widens the interval so that it covers other runs on the machine, with the spread that is
    /// assumed for a case on one CPU.
    pub(crate) fn across_runs(self) -> Estimate {
        self.across(&RunsDiffer::new(ASSUMED_RUN_SPREAD))
    }

    /// Widens the interval so that it covers other runs on the machine, with the spread `runs`.
    pub(crate) fn across(self, runs: &RunsDiffer) -> Estimate {
        let repetitions = if runs.is_own() {
            1.0
        } else {
            self.repetitions_shared()
        };
        let spread = runs.half_width(self.confidence, self.n) * self.estimate;
        let widened = |half: f64| (half * repetitions).hypot(spread);
        Estimate {
            low: self.estimate - widened(self.estimate - self.low),
            high: self.estimate + widened(self.high - self.estimate),
            ..self
        }
    }
}

/// Spread of one cost between runs: assumed, or known from earlier records of this machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RunsDiffer {
    /// Number of earlier runs on this machine that count.
    runs: f64,
    /// Mean number of repetitions of an earlier run.
    repetitions: f64,
    /// Standard deviation of the cost between runs, as a share of the cost.
    between: f64,
    within: f64,
    /// Standard deviation that is assumed without enough earlier runs, as a share of the cost.
    assumed: f64,
}

impl RunsDiffer {
    /// Returns the spread `assumed`, without earlier runs.
    pub(crate) const fn new(assumed: f64) -> RunsDiffer {
        RunsDiffer {
            runs: 0.0,
            repetitions: 0.0,
            between: 0.0,
            within: 0.0,
            assumed,
        }
    }

    /// Returns the spread that is assumed for a cost of a case.
    pub(crate) fn assumed(case: &Case, cost: CostName) -> RunsDiffer {
        RunsDiffer::new(assumed_spread(case, cost))
    }

    /// Returns the spread of a cost of a case from the earlier runs in a record's header, or else
    /// the assumed spread.
    pub(crate) fn known(header: &Header, case: usize, cost: CostName) -> RunsDiffer {
        let of_case = header.plan.cases.get(case);
        let assumed = of_case.map_or(ASSUMED_RUN_SPREAD, |case| assumed_spread(case, cost));
        let Some(earlier) = earlier_of(header, case) else {
            return RunsDiffer::new(assumed);
        };
        let Some(spread) = earlier.spreads.iter().find(|spread| spread.cost == cost) else {
            return RunsDiffer::new(assumed);
        };
        RunsDiffer {
            assumed,
            runs: f64::from(earlier.runs),
            repetitions: f64::from(earlier.repetitions),
            between: spread.between_ppm as f64 / 1e6,
            within: spread.within_ppm as f64 / 1e6,
        }
    }

    /// Whether there are enough earlier runs on this machine to replace the assumed spread.
    pub(crate) fn is_own(&self) -> bool {
        self.runs - 1.0 >= FREEDOM
    }

    /// Returns the half-width of an interval due to differences between runs, as a share of the
    /// cost. A longer run does not reduce this half-width.
    pub(crate) fn least_half_width(&self, confidence: f64) -> f64 {
        if !self.is_own() {
            return student(FREEDOM, confidence).unwrap_or(0.0) * self.assumed_ratio();
        }
        let shown = student(self.runs - 1.0, confidence).unwrap_or(f64::INFINITY) * self.between;
        let explained = normal(confidence) * self.within;
        (shown.powi(2) - explained.powi(2))
            .max(shown.powi(2) / 2.0)
            .sqrt()
    }

    /// Returns the half-width due to differences between runs, for a run with this number of
    /// repetitions. With fewer repetitions than the earlier runs, the half-width is larger, because
    /// the run contains less of the variation.
    fn half_width(&self, confidence: f64, repetitions: usize) -> f64 {
        let fewer = if self.is_own() {
            (self.repetitions / repetitions.max(1) as f64).max(1.0)
        } else {
            1.0
        };
        self.least_half_width(confidence) * fewer.sqrt()
    }

    /// Returns the assumed standard deviation, or a larger one if the few earlier runs show it.
    fn assumed_ratio(&self) -> f64 {
        let own = (self.runs - 1.0).max(0.0);
        let shown = (self.between.powi(2) - self.within.powi(2)).max(0.0);
        let pooled = (FREEDOM * self.assumed.powi(2) + own * shown) / (FREEDOM + own);
        pooled.sqrt().max(self.assumed)
    }

    /// Returns the spread in the form that findings report.
    pub(crate) fn finding(&self, earlier: Option<&EarlierCase>, confidence: f64) -> BetweenRuns {
        let least_half_width = self.least_half_width(confidence);
        let freedom = if self.is_own() {
            self.runs - 1.0
        } else {
            FREEDOM
        };
        BetweenRuns {
            source: if self.is_own() {
                Source::EarlierRecords
            } else {
                Source::Assumed
            },
            earlier_runs: earlier.map_or(0, |earlier| earlier.runs),
            since: earlier.map(|earlier| earlier.since.clone()),
            until: earlier.map(|earlier| earlier.until.clone()),
            share: least_half_width / student(freedom, confidence).unwrap_or(1.0),
            least_half_width,
        }
    }
}

/// Returns the earlier runs of a case from the header of a record; `None` if there are none.
pub(crate) fn earlier_of(header: &Header, case: usize) -> Option<&EarlierCase> {
    header
        .earlier
        .as_ref()?
        .cases
        .iter()
        .find(|earlier| earlier.case as usize == case)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    use crate::statistics::estimate::estimate;
    use crate::statistics::order_statistics::median;
    use crate::testing::{FakeCase, fiber, normal as drawn, pipe, seeded};
    use rand::Rng;
    use rand::seq::SliceRandom;
    use switchcost_record::Mechanism;

    fn found(values: &[f64]) -> Estimate {
        estimate(values, 0.9).expect("enough")
    }

    fn found_in(runs: &[Vec<f64>]) -> Vec<Estimate> {
        runs.iter().map(|values| found(values)).collect()
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    /// Returns the mean of `value` over the runs.
    fn mean_of(runs: &[Estimate], value: impl Fn(&Estimate) -> f64) -> f64 {
        mean(&runs.iter().map(value).collect::<Vec<_>>())
    }

    fn covers(found: &Estimate, truth: f64) -> bool {
        found.low <= truth && truth <= found.high
    }

    /// Returns the median of the runs' costs.
    fn middle(runs: &[Estimate]) -> f64 {
        let mut costs: Vec<f64> = runs.iter().map(|run| run.estimate).collect();
        median(&mut costs).expect("runs")
    }

    /// Parses one line of samples: two conditions, and the values.
    fn parsed(line: &'static str) -> ([&'static str; 2], Vec<f64>) {
        let [first, second, values] = line.split(',').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let values = values.split(' ');
        let values = values.map(|value| value.parse().expect("a number"));
        ([first, second], values.collect())
    }

    /// Checks quantiles far in the tail, which the verdict on one of many comparisons needs. The
    /// reference is the incomplete beta function to 30 digits (mpmath).
    #[test]
    fn quantiles_are_right_far_out() {
        for (freedom, confidence, quantile) in [
            (6.0, 0.9995, 6.788_339_99),
            (24.0, 0.999_999, 6.504_063_203),
            (6.0, 0.999_999_98, 38.662_010_45),
            (57.0, 0.999_999_98, 6.519_732_197),
        ] {
            let found = student(freedom, confidence).expect("a quantile");
            assert!(
                (found / quantile - 1.0).abs() < 1e-5,
                "{freedom}, {confidence}: {found}, not {quantile}"
            );
        }
    }

    /// Shows that intervals cover the true cost if runs differ by at most the assumed spread, for
    /// few and for many repetitions.
    #[test]
    fn intervals_cover_what_other_runs_find() {
        let mut random = seeded(9);
        for (n, between, within) in [
            (8, 0.02, 0.01),
            (100, 0.02, 0.01),
            (8, 0.0, 0.05),
            (30, 0.01, 0.1),
        ] {
            let trials = 1_000;
            let covered = (0..trials).filter(|_| {
                let run = 100.0 * (1.0 + between * drawn(&mut random));
                let values: Vec<f64> = (0..n)
                    .map(|_| run * (1.0 + within * drawn(&mut random)))
                    .collect();
                covers(&found(&values).across_runs(), 100.0)
            });
            let share = covered.count() as f64 / f64::from(trials);
            assert!(
                share > 0.88,
                "{n} repetitions, {between} and {within}: {share}"
            );
        }
    }

    /// Shows that intervals of hand-offs across CPUs cover the true cost, if runs have a spread of
    /// 0.13 as in the calibration. With the spread that is assumed for one CPU, less than half of
    /// the intervals would.
    #[test]
    fn intervals_of_hand_offs_across_cpus_cover_what_other_runs_find() {
        let mut random = seeded(11);
        let [mut on_one, mut across] = [0, 0];
        let trials = 1_000;
        for _ in 0..trials {
            let run = 12_500.0 * (0.13 * drawn(&mut random)).exp();
            let values: Vec<f64> = (0..12)
                .map(|_| run * (1.0 + 0.02 * drawn(&mut random)))
                .collect();
            let own = found(&values);
            let is_covered = |case: &FakeCase| {
                let runs = RunsDiffer::assumed(&case.case, CostName::Handoff);
                u32::from(covers(&own.clone().across(&runs), 12_500.0))
            };
            on_one += is_covered(&pipe());
            across += is_covered(&pipe().across_cpus());
        }
        let share = |covers: u32| f64::from(covers) / f64::from(trials);
        assert!(
            share(across) >= 0.9 && share(on_one) < 0.5,
            "{} and {}",
            share(across),
            share(on_one)
        );
    }

    #[test]
    fn the_wide_spread_is_that_of_hand_offs_across_cpus_alone() {
        let apart = || pipe().across_cpus();
        let spread = |case: FakeCase, cost| assumed_spread(&case.case, cost);
        assert_eq!(spread(apart(), CostName::Handoff), ASSUMED_ACROSS_CPUS);
        let concurrent = apart().change(|case| case.mechanism = Mechanism::Concurrent);
        for (case, cost) in [
            (apart(), CostName::Baseline),
            (pipe(), CostName::Handoff),
            (fiber(), CostName::Handoff),
            (fiber().across_cpus(), CostName::Handoff),
            (concurrent, CostName::Total),
        ] {
            assert_eq!(spread(case.clone(), cost), ASSUMED_RUN_SPREAD, "{case:?}");
        }
    }

    #[test]
    fn what_this_run_alone_shows_stands_beside_it() {
        let values: Vec<f64> = (0..20).map(|n| 100.0 + f64::from(n) / 100.0).collect();
        let own = found(&values);
        let found = own.clone().across_runs();
        assert_eq!(
            (found.estimate, found.within_run),
            (own.estimate, (own.low, own.high))
        );
        assert!(found.low < own.low && own.high < found.high);
        assert!(
            (found.high - found.low) / 2.0 > ASSUMED_RUN_SPREAD * found.estimate,
            "{found:?}"
        );
    }

    /// Costs of all repetitions of recorded runs, one run per line with its conditions: core cycles
    /// if nothing is touched, else nanoseconds. The runs are from a virtual machine with two CPUs,
    /// idle, and with a program that computes in bursts on the other CPU.
    const RECORDED: &str = include_str!("../../tests/samples/recorded-noise.csv");

    /// Returns the recorded runs, grouped by (side, size).
    fn recorded() -> BTreeMap<(&'static str, &'static str), Vec<Vec<f64>>> {
        let mut groups: BTreeMap<_, Vec<Vec<f64>>> = BTreeMap::new();
        for line in RECORDED.lines().skip(1) {
            let ([side, size], values) = parsed(line);
            groups.entry((side, size)).or_default().push(values);
        }
        groups
    }

    /// Two checks on recorded runs. The interval of each run must cover the median of all runs, in
    /// at least 16 of 20 runs. Within a run, intervals of redrawn repetitions must cover the run's
    /// own result.
    #[test]
    fn intervals_cover_on_recorded_noise() {
        const TRIALS: u32 = 50;
        let mut random = seeded(10);
        let (mut all, mut within) = (Vec::new(), Vec::new());
        for (conditions, runs) in recorded() {
            let found: Vec<Estimate> = found_in(&runs)
                .into_iter()
                .map(Estimate::across_runs)
                .collect();
            let truth = middle(&found);
            let covered = found.iter().filter(|run| covers(run, truth)).count();
            assert!(
                covered * 10 >= runs.len() * 8,
                "{conditions:?}: {covered} of {}",
                runs.len()
            );
            all.push(covered as f64 / runs.len() as f64);
            for (values, own) in runs.iter().zip(&found) {
                let covered = (0..TRIALS).filter(|_| {
                    let drawn =
                        (0..values.len()).map(|_| values[random.random_range(0..values.len())]);
                    let (low, high) = self::found(&drawn.collect::<Vec<_>>()).within_run;
                    low <= own.estimate && own.estimate <= high
                });
                within.push(covered.count() as f64 / f64::from(TRIALS));
            }
        }
        assert!(mean(&all) >= 0.88, "for other runs: {all:?}");
        assert!(mean(&within) >= 0.87, "within a run: {}", mean(&within));
    }

    /// Makes the estimate of a run with the cost `cost` and the standard error `within`, as a share
    /// of the cost.
    fn run(cost: f64, within: f64) -> Estimate {
        let half = normal(0.9) * within * cost;
        let (low, high) = (cost - half, cost + half);
        Estimate {
            estimate: cost,
            low,
            high,
            within_run: (low, high),
            n: 8,
            confidence: 0.9,
            method: "made up",
            t90: None,
            sd: 0.0,
        }
    }

    fn shown_by(logs: &[f64], within: f64) -> RunsDiffer {
        let (_, between) = crate::statistics::estimate::mean_and_sd(logs);
        RunsDiffer {
            runs: logs.len() as f64,
            repetitions: 8.0,
            between,
            within,
            ..RunsDiffer::new(ASSUMED_RUN_SPREAD)
        }
    }

    /// Tests how often the interval of a run contains the host's cost, with a given number of
    /// earlier runs. The reference is the integral over the chi-square distribution of the earlier
    /// runs' spread, by SciPy 1.17 (`quad` over `chi2.pdf`, with `t.ppf` and `norm.cdf`).
    #[test]
    fn intervals_by_own_runs_hold_as_often_as_the_integral_says() {
        const HOSTS: u32 = 20_000;
        // For each set: earlier runs, the spread between hosts' runs, the spreads within an earlier
        // run and within this one, and the coverage.
        for (runs, between, within, own, right) in [
            (3, 0.02, 0.005, 0.005, 0.953_1),
            (5, 0.04, 0.005, 0.005, 0.820_0),
            (7, 0.01, 0.001, 0.001, 0.9),
            (7, 0.003, 0.006, 0.006, 0.949_5),
            (10, 0.01, 0.01, 0.002, 0.912_1),
            (20, 0.002, 0.006, 0.003, 0.985_1),
        ] {
            let mut random = seeded(runs as u64);
            let mut log = |within: f64| between * drawn(&mut random) + within * drawn(&mut random);
            let holds = (0..HOSTS).filter(|_| {
                let logs: Vec<f64> = (0..runs).map(|_| log(within)).collect();
                let found = run(100.0 * log(own).exp(), own).across(&shown_by(&logs, within));
                covers(&found, 100.0)
            });
            let share = holds.count() as f64 / f64::from(HOSTS);
            assert!(
                (share - right).abs() < 0.008,
                "{runs} runs, {between}, {within}, {own}: {share}, not {right}"
            );
        }
    }

    #[test]
    fn what_own_runs_show_is_not_gone_below_and_what_too_few_show_only_widens() {
        // Student's quantiles of six and of nineteen degrees of freedom.
        let [of_six, of_nineteen] = [1.943_180_281, 1.729_132_812];
        for assumed in [ASSUMED_RUN_SPREAD, ASSUMED_ACROSS_CPUS] {
            let half = |runs: f64, between: f64, within: f64| {
                let differ = RunsDiffer {
                    runs,
                    between,
                    within,
                    ..RunsDiffer::new(assumed)
                };
                differ.least_half_width(0.9)
            };
            let pooled = assumed * ((6.0 + 5.0 * 4.0) / 11.0_f64).sqrt();
            for (runs, between, within, expected) in [
                (0.0, 0.0, 0.0, of_six * assumed),
                // Five degrees of freedom are less than six.
                (6.0, 0.001, 0.0, of_six * assumed),
                (6.0, 2.0 * assumed, 0.0, of_six * pooled),
                (7.0, 0.001, 0.0, of_six * 0.001),
                (20.0, 0.004, 0.0, of_nineteen * 0.004),
                // At most half is put down to what is within.
                (20.0, 0.004, 0.1, of_nineteen * 0.004 / 2.0_f64.sqrt()),
            ] {
                let found = half(runs, between, within);
                assert!((found - expected).abs() < 1e-9, "{runs} runs: {found}");
            }
        }
        let of = |n| {
            RunsDiffer {
                runs: 7.0,
                repetitions: 32.0,
                between: 0.01,
                ..RunsDiffer::new(ASSUMED_RUN_SPREAD)
            }
            .half_width(0.9, n)
        };
        assert!(
            (of(8) / of(32) - 2.0).abs() < 1e-9 && of(32) == of(100),
            "a run of fewer repetitions claims no more"
        );
    }

    /// Takes each recorded run as the new run, and other runs of the same conditions as earlier
    /// runs. The interval is compared with the median of all runs. The coverage must be as high as
    /// without earlier runs.
    #[test]
    fn runs_held_back_are_covered_by_what_the_others_show() {
        const TRIALS: usize = 20;
        for earlier in [7, 10, 19] {
            let mut random = seeded(earlier as u64);
            let mut shares = Vec::new();
            for (conditions, runs) in recorded() {
                let found = found_in(&runs);
                let truth = middle(&found);
                let (mut covered, mut trials) = (0, 0);
                for (held_back, new) in found.iter().enumerate() {
                    let mut others = found.clone();
                    others.remove(held_back);
                    for _ in 0..TRIALS {
                        let count = earlier.min(others.len());
                        let (chosen, _) = others.partial_shuffle(&mut random, count);
                        let logs: Vec<f64> = chosen.iter().map(|run| run.estimate.ln()).collect();
                        let variance = |run: &Estimate| run.log_variance_within_run().expect("one");
                        let differ = RunsDiffer {
                            repetitions: mean_of(chosen, |run| run.n as f64),
                            ..shown_by(&logs, mean_of(chosen, variance).sqrt())
                        };
                        covered += u32::from(covers(&new.clone().across(&differ), truth));
                        trials += 1;
                    }
                }
                let share = f64::from(covered) / f64::from(trials);
                assert!(
                    share >= 0.8,
                    "{earlier} earlier runs, {conditions:?}: {share}"
                );
                shares.push(share);
            }
            assert!(mean(&shares) >= 0.88, "{earlier} earlier runs: {shares:?}");
        }
    }

    /// Returns the share of runs of one condition whose interval covers the median of all runs, if
    /// only `independent` repetitions count as independent.
    fn covered(runs: &[Vec<f64>], independent: f64) -> f64 {
        let found = found_in(runs);
        let truth = middle(&found);
        let spread = student(FREEDOM, 0.9).expect("a quantile") * ASSUMED_RUN_SPREAD;
        let covers = found.iter().filter(|run| {
            let repetitions = (run.n as f64 / independent).max(1.0).sqrt();
            let half = |end: f64| ((end - run.estimate) * repetitions).hypot(spread * run.estimate);
            run.estimate - half(run.low) <= truth && truth <= run.estimate + half(run.high)
        });
        covers.count() as f64 / runs.len() as f64
    }

    /// The maximum number of independent repetitions is chosen on all conditions but one and tried
    /// on the one held back, which has no part in the choice. The coverage is therefore lower than
    /// with a choice on all conditions, as the documentation says.
    #[test]
    fn what_is_chosen_on_other_conditions_is_tried_on_the_one_held_back() {
        const CHOICES: [f64; 6] = [64.0, 32.0, 16.0, 8.0, 4.0, 2.0];
        let (all, mut shares) = (recorded(), Vec::new());
        for (held_back, runs) in &all {
            let mean_of_others = |independent: f64| {
                let others = all
                    .iter()
                    .filter(|(conditions, _)| *conditions != held_back);
                let shares: Vec<f64> = others.map(|(_, runs)| covered(runs, independent)).collect();
                mean(&shares)
            };
            let chosen = CHOICES
                .into_iter()
                .find(|independent| mean_of_others(*independent) >= 0.9)
                .expect("a choice");
            assert!(
                chosen >= INDEPENDENT,
                "{held_back:?}: the others allow {chosen} alone"
            );
            shares.push((covered(runs, chosen), chosen, held_back));
        }
        shares.sort_by(|a, b| a.0.total_cmp(&b.0));
        assert!(shares[0].0 >= 0.65 && shares[1].0 >= 0.75, "{shares:?}");
    }

    /// Cost of each repetition in nanoseconds, for runs of several cases: one line per run and
    /// case.
    const CASES_OF_A_RUN: &str = include_str!("../../tests/samples/cases-of-a-run.csv");

    /// For two cases with equal numbers of tasks, the interval of their ratio within a run must
    /// contain the median ratio of all runs. This must hold in at least four of five runs.
    #[test]
    fn ratios_of_cases_of_one_run_cover_on_recorded_noise() {
        let mut runs: BTreeMap<&str, BTreeMap<&str, Interval>> = BTreeMap::new();
        for line in CASES_OF_A_RUN.lines().skip(1) {
            let ([run, case], values) = parsed(line);
            let found = found(&values).across_runs().estimate_within_run();
            runs.entry(run).or_default().insert(case, found);
        }
        let first = runs.values().next().expect("a run");
        let cases: Vec<&str> = first.keys().copied().collect();
        let tasks = |case: &str| case.split(' ').next().map(str::to_owned);
        let mut all = Vec::new();
        for (at, below) in cases.iter().enumerate() {
            let above = cases[at + 1..].iter();
            for above in above.filter(|above| tasks(above) == tasks(below)) {
                let ratios = runs.values().map(|cases| cases[above] / cases[below]);
                let ratios: Vec<Interval> = ratios.collect();
                let mut middles: Vec<f64> = ratios.iter().map(|ratio| ratio.estimate).collect();
                let truth = median(&mut middles).expect("runs");
                let covers = ratios.iter().filter(|ratio| ratio.contains(truth)).count();
                assert!(
                    covers * 5 >= ratios.len() * 4,
                    "{above} over {below}: {covers} of {}",
                    ratios.len()
                );
                all.push(covers as f64 / ratios.len() as f64);
            }
        }
        assert!(mean(&all) >= 0.88, "{all:?}");
    }
}
