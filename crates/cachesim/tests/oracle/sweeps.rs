//! Tests many designs in one pass against each of them by itself, and against the oracle.

use proptest::prelude::*;
use switchcost_cachesim::Options;
use switchcost_trace::Chunk;

use crate::agreement::{agreement, cases, cuts, options};
use crate::findings::{Findings, compare, of_oracle, run_engine, run_oracle};
use crate::random::designs::{Family, family_between, swept_family};
use crate::random::streams::{cut, stream};

/// Returns for each design whether it was simulated in full. If the family can be swept, asserts
/// that only the first design was simulated in full.
fn depths(family: &Family, together: &Findings) -> Vec<bool> {
    let deep = together.depths();
    if family.allocates {
        let first: Vec<bool> = (0..deep.len()).map(|number| number == 0).collect();
        assert_eq!(deep, first, "they are swept");
    }
    deep
}

/// Returns the findings of all designs of a family in one pass, and for each design whether it was
/// simulated in full.
fn swept(family: &Family, options: &Options, chunks: &[Chunk]) -> (Findings, Vec<bool>) {
    let options = Options {
        most_in_full: 0,
        ..options.clone()
    };
    let together = run_engine(&family.designs, &options, chunks);
    let depths = depths(family, &together);
    (together, depths)
}

/// Asserts that every member's counters and sums of intervals equal those of the member simulated
/// alone.
fn agree_with_each(family: &Family, options: &Options, chunks: &[Chunk]) -> Result<(), String> {
    let (together, depths) = swept(family, options, chunks);
    let options = Options {
        most_in_full: usize::MAX,
        ..options.clone()
    };
    let each = run_engine(&family.designs, &options, chunks);
    compare(&together, &each.without_depth(&depths))
}

fn agree_with_oracle(family: &Family, options: &Options, chunks: &[Chunk]) -> Result<(), String> {
    let (together, depths) = swept(family, options, chunks);
    let oracle = run_oracle(&family.designs, options, chunks, None);
    compare(&together, &of_oracle(&oracle, &depths, options.places))
}

agreement! {
    a_family_agrees_with_each_member: 50, swept_family(), 250, agree_with_each;
    a_family_agrees_with_the_oracle: 20, swept_family(), 200, agree_with_oracle;
    a_level_between_others_agrees_with_each_member: 16, family_between(), 250, agree_with_each;
    a_level_between_others_agrees_with_the_oracle: 6, family_between(), 150, agree_with_oracle;
    long_streams_of_families: 5, swept_family(), 3000, agree_with_each;
}
