//! Whole records with known answers.

use super::*;
use crate::measurement::findings::Verdict;
use crate::testing::{
    RATE, WINDOWS, fake_record, fake_record_with_seed, fiber, only, pipe, seeded,
};
use rand::Rng;
use rand::seq::SliceRandom;
use switchcost_units::{Bytes, TickRate};

fn run_flags(record: &MeasureRecord) -> Vec<(&'static str, String)> {
    analyse(record)
        .flags
        .into_iter()
        .map(|flag| (flag.name.into(), flag.detail))
        .collect()
}

#[test]
fn the_order_of_samples_is_nothing() {
    let sizes =
        [8, 16, 32, 64, 128, 256].map(|kib| pipe().sized_kib(kib).noise(0.05).outliers(0.05));
    let mut record = fake_record(sizes.to_vec(), 9);
    let findings = analyse(&record);
    for seed in 0..5 {
        record.cycles.shuffle(&mut seeded(seed));
        assert_eq!(analyse(&record), findings);
    }
}

/// The arms do not differ (A/A test) in 200 records each of normal noise and of noise with 5 %
/// outliers. The number of reported differences is at most the nominal tenth plus two standard
/// deviations of such a count.
#[test]
fn where_there_is_no_difference_none_is_called() {
    for outliers in [0.0, 0.05] {
        let call = |seed: &u64| {
            let mut nothing = pipe().sized_kib(64).noise(0.02).outliers(outliers);
            (nothing.switch_ns, nothing.reload_ns) = (0.0, 0.0);
            let found = only(&fake_record_with_seed(vec![nothing], 8, *seed));
            [found.direct_ns, found.total_ns, found.indirect_ns]
                .map(|estimate| estimate.expect("measured").is_distinguishable_from_zero())
        };
        let calls: Vec<_> = (0..200).map(|seed| call(&seed)).collect();
        for quantity in 0..3 {
            let count = calls.iter().filter(|calls| calls[quantity]).count();
            assert!(
                count <= 28,
                "quantity {quantity}, {outliers}: called {count} times of 200 at 90 %"
            );
        }
    }
}

#[test]
fn a_record_that_was_cut_off_says_so() {
    let mut record = fake_record(vec![pipe(), fiber()], 5);
    record.end = None;
    record.has_cut_line = true;
    record.cycles.retain(|window| window.case == 0);
    assert_eq!(
        run_flags(&record),
        [
            (
                "cut-off",
                "the run was cut off: the record has 50 samples of 1 of 2 cases".to_owned()
            ),
            (
                "cut-line",
                "the record ends inside a line, which is left out; the lines before it are whole"
                    .to_owned()
            ),
        ]
    );
    let found = analyse(&record).results;
    assert_eq!(found[0].verdict, Verdict::Measured);
    let why =
        "there are no samples: the run ended before its turn; let it finish, or raise --budget"
            .to_owned();
    assert_eq!(found[1].verdict, Verdict::NotMeasured { why });
}

#[test]
fn how_the_run_ended_is_reported() {
    let mut record = fake_record(vec![pipe()], 5);
    assert_eq!(run_flags(&record), []);
    let end = record.end.expect("complete");
    record.end = Some(End {
        reason: EndReason::Interrupted,
        ..end
    });
    assert_eq!(run_flags(&record)[0].0, "interrupted");
    record.end = Some(End {
        ticks_per_second: TickRate(RATE.0 + RATE.0 / 5_000),
        ..end
    });
    let (name, detail) = run_flags(&record).remove(0);
    assert_eq!(name, "clock-drift");
    assert!(detail.contains("by 200 parts in a million"), "{detail}");
    record.end = Some(End {
        ticks_per_second: TickRate(RATE.0 + RATE.0 / 50_000),
        ..end
    });
    assert_eq!(
        run_flags(&record),
        [],
        "20 parts in a million are a crystal's own"
    );
}

/// Shows that costs after emptied caches have a flag that warns against comparisons, and give no
/// calibration.
#[test]
fn unusual_rounds_are_said_and_are_no_prices() {
    let mut record = fake_record(vec![pipe()], 5);
    record.header.plan.rounds = Rounds {
        flush_bytes: Some(Bytes::mib(4)),
        ..Rounds::default()
    };
    let detail = "each batch has caches emptied by writing 4 MiB: do not compare the costs with those of other runs";
    assert_eq!(run_flags(&record), [("unusual-rounds", detail.to_owned())]);
    assert_eq!(
        crate::observation::calibration(&record, &analyse(&record)),
        None
    );
    record.header.plan.rounds = Rounds {
        round_trips: Some(10_000),
        ..Rounds::default()
    };
    assert_eq!(run_flags(&record), []);
}

/// A record may come from anyone: whatever its numbers, the analysis answers without a panic.
#[test]
fn hostile_numbers_do_no_harm() {
    let mut random = seeded(3);
    for _ in 0..200 {
        let mut record = fake_record(vec![pipe().sized_kib(64), fiber()], 6);
        for (number, window) in record.cycles.iter_mut().enumerate() {
            let mut wild = || if random.random_bool(0.5) { u64::MAX } else { 0 };
            let batch = number % window.batches.len();
            match wild() {
                0 => window.batches.handoffs[batch] = wild() as u32,
                _ => window.counted = None,
            }
            window.batches.handoff_ticks[batch].0 = wild();
            window.batches.chain_ticks[batch].0 = wild();
            (
                window.kernel_switches.voluntary,
                window.kernel_switches.involuntary,
            ) = (wild(), wild());
            window.switching_handoffs = wild();
            window.case = if number % WINDOWS == 0 {
                u32::MAX
            } else {
                window.case
            };
            window.evidence.wall_ns.0 = wild();
        }
        let rate = if random.random_bool(0.1) {
            TickRate(0)
        } else {
            TickRate(u64::MAX)
        };
        record.header.clock.ticks_per_second = rate;
        record.header.plan.confidence_per_mille = random.random();
        record.header.plan.cases[0].tasks = random.random();
        record.header.plan.cases[0].working_set.size_bytes.0 = random.random();
        record.header.host.caches[0].line_bytes.0 = 0;
        for finding in analyse(&record).results {
            let estimates = [
                finding.direct_ns,
                finding.total_ns,
                finding.indirect_ns,
                finding.handoff_ns,
            ];
            assert!(
                estimates
                    .iter()
                    .flatten()
                    .all(|found| found.estimate.is_finite() && found.low <= found.high)
            );
        }
    }
}
