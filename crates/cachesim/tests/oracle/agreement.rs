//! Compares both simulators on random designs and random streams: every counter, every interval.
//!
//! `AGREEMENT_TIMES=20` in the environment multiplies the number of cases.

use proptest::prelude::*;
use switchcost_cachesim::Options;
use switchcost_design::Design;
use switchcost_design::result::PrivateBy;
use switchcost_trace::Chunk;

use crate::findings::{compare, feed, of_oracle, run_engine, run_oracle};
use crate::random::designs::{design, family, plain_design, split_design, split_designs};
use crate::random::streams::{cut, stream};

pub(crate) fn options() -> impl Strategy<Value = Options> {
    let places = prop_oneof![4 => Just(usize::MAX), 1 => 0..6_usize];
    let private_by = prop_oneof![2 => Just(PrivateBy::Process), 1 => Just(PrivateBy::Task)];
    (
        1..60_u64,
        0..6_u32,
        any::<bool>(),
        private_by,
        places,
        1..4_usize,
    )
        .prop_map(
            |(interval_instructions, intervals, kernel_touches, private_by, places, threads)| {
                Options {
                    interval_instructions,
                    intervals,
                    kernel_touches,
                    private_by,
                    places,
                    threads,
                    ..Options::default()
                }
            },
        )
}

/// Runs both simulators and compares the results. Panics of the engine are reported by proptest.
pub(crate) fn agree(designs: &[Design], options: &Options, chunks: &[Chunk]) -> Result<(), String> {
    let engine = run_engine(designs, options, chunks);
    let oracle = run_oracle(designs, options, chunks, None);
    let deep: Vec<bool> = engine
        .designs
        .iter()
        .map(|design| design.full.is_some())
        .collect();
    compare(&engine, &of_oracle(&oracle, &deep, options.places))
}

pub(crate) fn cases(cases: u32) -> ProptestConfig {
    let times = std::env::var("AGREEMENT_TIMES")
        .map_or(1, |times| times.parse().expect("a number of times"));
    ProptestConfig {
        cases: cases * times,
        max_shrink_iters: 20_000,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases(600))]

    #[test]
    fn any_design_on_any_stream(
        design in design(),
        options in options(),
        stream in stream(150),
        cuts in prop::collection::vec(any::<u16>(), 0..4),
    ) {
        let chunks = cut(&stream, &cuts);
        agree(&[design], &options, &chunks).map_err(TestCaseError::fail)?;
    }
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn plain_designs_on_any_stream(design in plain_design(), options in options(), stream in stream(300)) {
        agree(&[design], &options, &[stream]).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn split_designs_on_any_stream(design in split_design(), options in options(), stream in stream(300)) {
        agree(&[design], &options, &[stream]).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn several_split_designs_on_any_stream(
        designs in split_designs(),
        options in options(),
        stream in stream(300),
        cuts in prop::collection::vec(any::<u16>(), 0..4),
    ) {
        agree(&designs, &options, &cut(&stream, &cuts)).map_err(TestCaseError::fail)?;
    }
}

proptest! {
    #![proptest_config(cases(10))]

    #[test]
    fn long_streams(design in design(), options in options(), stream in stream(2000)) {
        agree(&[design], &options, &[stream]).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn long_streams_of_split_designs(design in split_design(), options in options(), stream in stream(4000)) {
        agree(&[design], &options, &[stream]).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn long_streams_of_several_split_designs(designs in split_designs(), options in options(), stream in stream(3000)) {
        agree(&designs, &options, &[stream]).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn long_streams_of_plain_designs(design in plain_design(), options in options(), stream in stream(4000)) {
        agree(&[design], &options, &[stream]).map_err(TestCaseError::fail)?;
    }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn cuts_change_nothing(
        design in design(),
        options in options(),
        stream in stream(150),
        cuts in prop::collection::vec(any::<u16>(), 1..20),
    ) {
        let whole = run_engine(std::slice::from_ref(&design), &options, std::slice::from_ref(&stream));
        let pieces = run_engine(&[design], &options, &cut(&stream, &cuts));
        compare(&pieces, &whole).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn threads_change_nothing(
        designs in prop::collection::vec(design(), 2..6),
        options in options(),
        stream in stream(150),
        cuts in prop::collection::vec(any::<u16>(), 1..20),
    ) {
        let chunks = cut(&stream, &cuts);
        let with = |threads| feed(&designs, &Options { threads, ..options.clone() }, &chunks);
        prop_assert_eq!(with(1), with(3));
    }

    #[test]
    fn lookups_that_are_left_out_change_nothing(
        designs in prop::collection::vec(design(), 4),
        options in options(),
        stream in stream(300),
    ) {
        let with = |skips_repeats| feed(&designs, &Options { skips_repeats, ..options.clone() }, std::slice::from_ref(&stream));
        prop_assert_eq!(with(true), with(false));
    }

    #[test]
    fn other_designs_change_nothing(
        designs in prop::collection::vec(design(), 1..8),
        options in options(),
        stream in stream(100),
    ) {
        let together = run_engine(&designs, &options, std::slice::from_ref(&stream));
        for (index, design) in designs.iter().enumerate() {
            let alone = run_engine(std::slice::from_ref(design), &options, std::slice::from_ref(&stream));
            prop_assert_eq!(&together.processes, &alone.processes);
            prop_assert_eq!(&together.designs[index], &alone.designs[0]);
        }
    }

    #[test]
    fn several_designs_agree(
        designs in prop::collection::vec(design(), 1..8),
        options in options(),
        stream in stream(100),
    ) {
        agree(&designs, &options, &[stream]).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn sizes_of_one_design_agree(designs in family(), options in options(), stream in stream(200)) {
        agree(&designs, &options, &[stream]).map_err(TestCaseError::fail)?;
    }
}
