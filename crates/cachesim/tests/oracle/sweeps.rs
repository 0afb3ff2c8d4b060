//! Many designs in one pass, held against each of them by itself, and against the oracle.

use proptest::prelude::*;
use record::Design;
use switchcost_cachesim::Options;
use trace::Chunk;

use crate::agreement::{cases, options};
use crate::findings::{compare, of_oracle, run_engine, run_oracle};
use crate::random::designs::swept_family;
use crate::random::streams::{cut, stream};

fn swept(options: &Options) -> Options {
    Options { most_in_full: 0, ..options.clone() }
}

/// Which designs are told everything of: the first, where they are one family.
fn depths(designs: &[Design]) -> Vec<bool> {
    (0..designs.len()).map(|number| number == 0).collect()
}

/// Every member's counters and sums of tuples are those of the member alone.
fn agree_with_each(designs: &[Design], options: &Options, chunks: &[Chunk]) -> Result<(), String> {
    let together = run_engine(designs, &swept(options), chunks);
    let deep: Vec<bool> = together.designs.iter().map(|design| design.full.is_some()).collect();
    assert_eq!(deep, depths(designs), "they are swept");
    let each = run_engine(designs, &Options { most_in_full: usize::MAX, ..options.clone() }, chunks);
    compare(&together, &each.without_depth(&deep))
}

fn agree_with_oracle(designs: &[Design], options: &Options, chunks: &[Chunk]) -> Result<(), String> {
    let together = run_engine(designs, &swept(options), chunks);
    let oracle = run_oracle(designs, options, chunks, None);
    compare(&together, &of_oracle(&oracle, &depths(designs), options.code_places))
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn a_family_agrees_with_each_member(
        designs in swept_family(),
        options in options(),
        stream in stream(250),
        cuts in prop::collection::vec(any::<u16>(), 0..4),
    ) {
        agree_with_each(&designs, &options, &cut(&stream, &cuts)).map_err(TestCaseError::fail)?;
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn a_family_agrees_with_the_oracle(designs in swept_family(), options in options(), stream in stream(200)) {
        agree_with_oracle(&designs, &options, &[stream]).map_err(TestCaseError::fail)?;
    }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn long_streams_of_families(designs in swept_family(), options in options(), stream in stream(3000)) {
        agree_with_each(&designs, &options, &[stream]).map_err(TestCaseError::fail)?;
    }
}
