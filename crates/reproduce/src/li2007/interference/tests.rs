use std::collections::BTreeMap;

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use statrs::distribution::{ContinuousCDF, Normal};

use super::*;
use crate::Verdict;
use crate::testing::Shown;

/// Student's factor of the paper's six runs, for their standard deviation from an interval's half width.
const SIX_RUNS: f64 = 2.015_048 / 2.449_49;

/// So many normal runs with the mean and the spread behind each interval of the paper, in an order of their own.
fn published_blocks() -> Vec<Block> {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let quantiles = (0..RUNS).map(|run| Normal::standard().inverse_cdf((run as f64 + 0.5) / RUNS as f64));
    let quantiles: Vec<f64> = quantiles.collect();
    let mut blocks = vec![Block::default(); RUNS];
    for (place, setting) in SETTINGS.into_iter().enumerate() {
        let (environment, name) = published_setting(setting);
        let rows: Vec<LiRow> =
            li_tables().into_iter().filter(|row| row.environment == environment && row.setting == name).collect();
        for (size, row) in rows.iter().enumerate() {
            let (mean, half) = (f64::midpoint(row.ci90_low, row.ci90_high), (row.ci90_high - row.ci90_low) / 2.0);
            let mut runs: Vec<f64> = quantiles.iter().map(|z| mean + z * half / SIX_RUNS).collect();
            runs.shuffle(&mut random);
            blocks.iter_mut().zip(runs).for_each(|(block, run)| block[place][size] = run);
        }
    }
    blocks
}

/// The same with settings in other places.
fn placed(places: [usize; 4]) -> Vec<Block> {
    published_blocks().into_iter().map(|block| places.map(|place| block[place])).collect()
}

fn judged(id: &str, found: &Found) -> Verdict {
    let table = crate::table(crate::Paper::Li2007);
    let entry = table.iter().find(|entry| entry.id == id).expect("a claim of this name");
    entry.judge(&found.terms)
}

type Of = fn(&[Block]) -> Result<Found, String>;

const CLAIMS: [(&str, Of); 6] = [
    ("quiet-widths-alike", |b| widened(b, ISOLATED_QUIET, SHARED_QUIET)),
    ("isolated-unmoved", |b| shifted(b, ISOLATED_QUIET, ISOLATED_NOISY)),
    ("shared-widened", |b| widened(b, SHARED_QUIET, SHARED_NOISY)),
    ("shared-wider-than-isolated", |b| widened(b, ISOLATED_NOISY, SHARED_NOISY)),
    ("isolation-helps", isolation_helps),
    ("shared-shifted", |b| shifted(b, SHARED_QUIET, SHARED_NOISY)),
];

/// Each claim by runs as the paper's, and by those of other settings.
pub(crate) fn reported() -> BTreeMap<String, Shown> {
    // Quiet ones taken for noisy ones, and isolated for shared ones.
    let others = [placed([3, 2, 1, 0]), placed([0, 3, 3, 1]), placed([2, 0, 3, 1])];
    let one = |(id, of): (&str, Of)| {
        let verdict = |blocks: &[Block]| judged(id, &of(blocks).expect("runs"));
        let by_others = others.iter().map(|blocks| verdict(blocks)).collect();
        (id.to_owned(), Shown { by_paper: verdict(&published_blocks()), by_others })
    };
    CLAIMS.map(one).into()
}

/// As it was found: 54.8 us, and all other runs between 31.6 and 33.1.
#[test]
fn one_run_of_many_decides_nothing() {
    let mut random = ChaCha8Rng::seed_from_u64(2);
    let mut blocks: Vec<Block> =
        (0..RUNS).map(|_| [[0.0; SIZES]; 4].map(|runs| runs.map(|_| random.random_range(31.6..33.1)))).collect();
    let without = widened(&blocks, SHARED_QUIET, SHARED_NOISY).expect("runs");
    assert!(without.terms[0].high < 1.5, "{without:?}");
    blocks[7][SHARED_NOISY] = [54.8; SIZES];
    let with = widened(&blocks, SHARED_QUIET, SHARED_NOISY).expect("runs");
    for id in ["shared-widened", "quiet-widths-alike"] {
        assert_ne!(judged(id, &with), Verdict::Holds, "{id}: {with:?}");
    }
    assert!(with.terms[0].low < without.terms[0].high, "the intervals overlap: {without:?} {with:?}");
    let shifted = shifted(&blocks, SHARED_QUIET, SHARED_NOISY).expect("runs");
    assert!(shifted.terms[0].high < 0.02, "{shifted:?}");
}

#[test]
fn settings_stand_in_blocks_of_an_order_that_the_seed_draws() {
    let (record, _) = crate::testing::measured();
    let names = |seed| {
        let site = crate::Site {
            host: &record.header.host,
            quiet_cpu: switchcost_units::CpuId(1),
            noisy_cpu: Some(switchcost_units::CpuId(0)),
            effort: crate::Effort::Usual,
            seed,
            has_guest: false,
        };
        let steps = crate::Paper::Li2007.steps(&site).into_iter().map(|step| step.name);
        steps.filter(|name| name.contains("isolated-")).collect::<Vec<String>>()
    };
    let found = names(1);
    assert_eq!(found.len(), 4 * RUNS);
    for (number, block) in found.chunks(4).enumerate() {
        let mut sorted = block.to_vec();
        sorted.sort();
        let mut all = SETTINGS.map(|setting| setting.run(number));
        all.sort();
        assert_eq!(sorted, all);
    }
    assert!(found.chunks(4).any(|block| block[0].starts_with("li2007-isolated")));
    assert!(found.chunks(4).any(|block| block[0].starts_with("li2007-unisolated")));
    assert!(found == names(1) && found != names(2));
}
