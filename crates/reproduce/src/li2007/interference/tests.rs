use std::collections::BTreeMap;

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use statrs::distribution::{ContinuousCDF, Normal};
use switchcost_units::CpuId;

use super::*;
use crate::testing::Shown;
use crate::{Outcome, Verdict};

/// Half-width of Student's interval of the mean of the paper's six runs, in standard deviations of
/// the runs.
const SIX_RUNS: f64 = 2.015_048 / 2.449_49;

/// Makes normally distributed runs with the mean and the spread of each interval of the paper, in
/// random order.
fn published_blocks() -> Vec<Block> {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let quantiles =
        (0..RUNS).map(|run| Normal::standard().inverse_cdf((run as f64 + 0.5) / RUNS as f64));
    let quantiles: Vec<f64> = quantiles.collect();
    let mut blocks = vec![Block::default(); RUNS];
    for (place, setting) in SETTINGS.into_iter().enumerate() {
        for (size, row) in published_rows(setting).iter().enumerate() {
            let (mean, half) = (
                f64::midpoint(row.ci90_low, row.ci90_high),
                (row.ci90_high - row.ci90_low) / 2.0,
            );
            let mut runs: Vec<f64> = quantiles
                .iter()
                .map(|z| mean + z * half / SIX_RUNS)
                .collect();
            runs.shuffle(&mut random);
            blocks
                .iter_mut()
                .zip(runs)
                .for_each(|(block, run)| block[place][size] = run);
        }
    }
    blocks
}

/// Makes the paper's runs with settings exchanged.
fn placed(places: [usize; 4]) -> Vec<Block> {
    published_blocks()
        .into_iter()
        .map(|block| places.map(|place| block[place]))
        .collect()
}

fn judged(id: &str, found: &Found) -> Verdict {
    let table = crate::table(crate::Paper::Li2007);
    let entry = table
        .iter()
        .find(|entry| entry.id == id)
        .expect("a claim of this name");
    entry.judge(&found.terms)
}

type Of = fn(&[Block]) -> Outcome;

const CLAIMS: [(&str, Of); 6] = [
    ("quiet-widths-alike", |b| {
        widened(b, ISOLATED_QUIET, SHARED_QUIET)
    }),
    ("isolated-unmoved", |b| {
        shifted(b, ISOLATED_QUIET, ISOLATED_NOISY)
    }),
    ("shared-widened", |b| widened(b, SHARED_QUIET, SHARED_NOISY)),
    ("shared-wider-than-isolated", |b| {
        widened(b, ISOLATED_NOISY, SHARED_NOISY)
    }),
    ("isolation-helps", isolation_helps),
    ("shared-shifted", |b| shifted(b, SHARED_QUIET, SHARED_NOISY)),
];

/// Judges each claim by runs like the paper's, and by these runs with the settings exchanged.
pub(crate) fn reported() -> BTreeMap<String, Shown> {
    // Quiet runs are taken for noisy ones, and isolated ones for shared ones.
    let others = [
        placed([3, 2, 1, 0]),
        placed([0, 3, 3, 1]),
        placed([2, 0, 3, 1]),
    ];
    let one = |(id, of): (&str, Of)| {
        let verdict = |blocks: &[Block]| judged(id, &of(blocks).expect("runs"));
        let by_others = others.iter().map(|blocks| verdict(blocks)).collect();
        (
            id.to_owned(),
            Shown {
                by_paper: verdict(&published_blocks()),
                by_others,
            },
        )
    };
    CLAIMS.map(one).into()
}

/// One run took 54.8 us, and all other runs between 31.6 and 33.1, as once measured.
#[test]
fn one_run_of_many_decides_nothing() {
    let mut random = ChaCha8Rng::seed_from_u64(2);
    let mut blocks: Vec<Block> = (0..RUNS)
        .map(|_| [[0.0; SIZES]; 4].map(|runs| runs.map(|_| random.random_range(31.6..33.1))))
        .collect();
    let without = widened(&blocks, SHARED_QUIET, SHARED_NOISY).expect("runs");
    assert!(without.terms[0].high < 1.5, "{without:?}");
    blocks[7][SHARED_NOISY] = [54.8; SIZES];
    let with = widened(&blocks, SHARED_QUIET, SHARED_NOISY).expect("runs");
    for id in ["shared-widened", "quiet-widths-alike"] {
        assert_ne!(judged(id, &with), Verdict::Holds, "{id}: {with:?}");
    }
    assert!(
        with.terms[0].low < without.terms[0].high,
        "the intervals overlap: {without:?} {with:?}"
    );
    let shifted = shifted(&blocks, SHARED_QUIET, SHARED_NOISY).expect("runs");
    assert!(shifted.terms[0].high < 0.02, "{shifted:?}");
}

/// Returns the steps for Tables 1 and 2 on a machine whose noise runs on `noisy_cpu`; with `None`,
/// the machine has one CPU.
fn steps(noisy_cpu: Option<CpuId>, seed: u64) -> Vec<crate::Step> {
    let (record, _) = crate::testing::measured();
    let (host, quiet_cpu, effort) = (&record.header.host, CpuId(1), crate::Effort::Usual);
    let site = crate::Site {
        host,
        quiet_cpu,
        noisy_cpu,
        effort,
        seed,
        has_guest: false,
    };
    let all = crate::Paper::Li2007.steps(&site).into_iter();
    all.filter(|step| step.name.contains("isolated-")).collect()
}

fn names(steps: &[crate::Step]) -> Vec<String> {
    steps.iter().map(|step| step.name.clone()).collect()
}

/// Checks that with one CPU only the settings without isolation are run. In the paper, these
/// settings are a kernel without support for a second processor.
#[test]
fn with_one_cpu_the_second_setting_alone_is_run_and_judged() {
    let steps = steps(None, 1);
    assert_eq!(steps.len(), 2 * RUNS);
    let mut noisy = 0;
    for step in &steps {
        let line = step.arguments.join(" ");
        assert!(step.name.starts_with("li2007-unisolated"), "{}", step.name);
        assert!(line.contains("--cpu 1 --no-rt"), "{line}");
        if step.name.contains("noisy") {
            assert!(line.contains("--noise 1"), "{line}");
            noisy += 1;
        }
    }
    assert_eq!(noisy, RUNS);
    let (record, findings) = crate::testing::measured();
    let mut records = Records::default();
    for step in &steps {
        records.add_measured(&step.name, record.clone(), findings.clone());
    }
    let why = |found: Outcome<_>| {
        found
            .map(|_: (Vec<Block>, _)| ())
            .expect_err("other sizes, or not run")
    };
    let [shared, both] = [
        &[SHARED_QUIET, SHARED_NOISY][..],
        &[ISOLATED_QUIET, SHARED_QUIET],
    ]
    .map(|wanted| why(blocks(&records, wanted)));
    assert!(
        shared.contains("sizes were measured"),
        "the runs are looked at: {shared}"
    );
    assert!(
        both.contains("li2007-isolated-quiet-01 was not run"),
        "{both}"
    );
}

#[test]
fn settings_stand_in_blocks_of_an_order_that_the_seed_draws() {
    let names = |seed| names(&steps(Some(CpuId(0)), seed));
    let found = names(1);
    assert_eq!(found.len(), 4 * RUNS);
    for (number, block) in found.chunks(4).enumerate() {
        let mut sorted = block.to_vec();
        sorted.sort();
        let mut all = SETTINGS.map(|setting| setting.run(number));
        all.sort();
        assert_eq!(sorted, all);
    }
    for first in ["li2007-isolated", "li2007-unisolated"] {
        let mut blocks = found.chunks(4);
        assert!(blocks.any(|block| block[0].starts_with(first)), "{first}");
    }
    assert!(found == names(1) && found != names(2));
}
