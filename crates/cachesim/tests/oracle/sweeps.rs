//! Tests many designs in one pass against each of them by itself, and against the oracle.

use proptest::prelude::*;
use switchcost_cachesim::Options;
use switchcost_trace::Chunk;

use crate::agreement::{cases, options};
use crate::findings::{Findings, compare, of_oracle, run_engine, run_oracle};
use crate::random::designs::{Family, family_between, swept_family};
use crate::random::streams::{cut, stream};

fn swept(options: &Options) -> Options {
    Options {
        most_in_full: 0,
        ..options.clone()
    }
}

/// Returns the designs for which everything is reported: only the first, if the designs are one
/// family.
fn depths(family: &Family, together: &Findings) -> Vec<bool> {
    let deep: Vec<bool> = together
        .designs
        .iter()
        .map(|design| design.full.is_some())
        .collect();
    if family.allocates {
        let first: Vec<bool> = (0..deep.len()).map(|number| number == 0).collect();
        assert_eq!(deep, first, "they are swept");
    }
    deep
}

/// Asserts that every member's counters and sums of intervals equal those of the member simulated
/// alone.
fn agree_with_each(family: &Family, options: &Options, chunks: &[Chunk]) -> Result<(), String> {
    let together = run_engine(&family.designs, &swept(options), chunks);
    let deep = depths(family, &together);
    let each = run_engine(
        &family.designs,
        &Options {
            most_in_full: usize::MAX,
            ..options.clone()
        },
        chunks,
    );
    compare(&together, &each.without_depth(&deep))
}

fn agree_with_oracle(family: &Family, options: &Options, chunks: &[Chunk]) -> Result<(), String> {
    let together = run_engine(&family.designs, &swept(options), chunks);
    let oracle = run_oracle(&family.designs, options, chunks, None);
    compare(
        &together,
        &of_oracle(&oracle, &depths(family, &together), options.places),
    )
}

proptest! {
    #![proptest_config(cases(120))]

    #[test]
    fn a_family_agrees_with_each_member(
        family in swept_family(),
        options in options(),
        stream in stream(250),
        cuts in prop::collection::vec(any::<u16>(), 0..4),
    ) {
        agree_with_each(&family, &options, &cut(&stream, &cuts)).map_err(TestCaseError::fail)?;
    }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn a_family_agrees_with_the_oracle(family in swept_family(), options in options(), stream in stream(200)) {
        agree_with_oracle(&family, &options, &[stream]).map_err(TestCaseError::fail)?;
    }
}

proptest! {
    #![proptest_config(cases(30))]

    #[test]
    fn a_level_between_others_agrees_with_each_member(
        family in family_between(),
        options in options(),
        stream in stream(250),
        cuts in prop::collection::vec(any::<u16>(), 0..4),
    ) {
        agree_with_each(&family, &options, &cut(&stream, &cuts)).map_err(TestCaseError::fail)?;
    }
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn a_level_between_others_agrees_with_the_oracle(family in family_between(), options in options(), stream in stream(150)) {
        agree_with_oracle(&family, &options, &[stream]).map_err(TestCaseError::fail)?;
    }
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn long_streams_of_families(family in swept_family(), options in options(), stream in stream(3000)) {
        agree_with_each(&family, &options, &[stream]).map_err(TestCaseError::fail)?;
    }
}
