//! Compares the simulator with the oracle on random designs and random streams: every counter,
//! every interval.
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

/// Runs the simulator and the oracle, and compares the results. Panics of the simulator are
/// reported by proptest.
pub(crate) fn agree(designs: &[Design], options: &Options, chunks: &[Chunk]) -> Result<(), String> {
    let engine = run_engine(designs, options, chunks);
    let oracle = run_oracle(designs, options, chunks, None);
    compare(
        &engine,
        &of_oracle(&oracle, &engine.depths(), options.places),
    )
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

fn one(design: impl Strategy<Value = Design>) -> impl Strategy<Value = Vec<Design>> {
    design.prop_map(|design| vec![design])
}

pub(crate) fn cuts() -> impl Strategy<Value = Vec<u16>> {
    prop::collection::vec(any::<u16>(), 0..8)
}

/// Defines tests, each with its number of cases, designs, the most events of a stream, and what
/// must agree.
macro_rules! agreement {
    ($($name:ident: $cases:literal, $designs:expr, $events:literal, $agree:ident;)*) => {
        $(proptest! {
            #![proptest_config(cases($cases))]

            #[test]
            fn $name(designs in $designs, options in options(), stream in stream($events), cuts in cuts()) {
                $agree(&designs, &options, &cut(&stream, &cuts)).map_err(TestCaseError::fail)?;
            }
        })*
    };
}
pub(crate) use agreement;

agreement! {
    any_design_on_any_stream: 300, one(design()), 150, agree;
    plain_designs_on_any_stream: 60, one(plain_design()), 300, agree;
    split_designs_on_any_stream: 60, one(split_design()), 300, agree;
    several_split_designs_on_any_stream: 40, split_designs(), 300, agree;
    sizes_of_one_design_agree: 30, family(), 200, agree;
    long_streams: 5, one(design()), 2000, agree;
    long_streams_of_plain_designs: 4, one(plain_design()), 3000, agree;
    long_streams_of_split_designs: 4, one(split_design()), 3000, agree;
    long_streams_of_several_split_designs: 4, split_designs(), 2000, agree;
}

proptest! {
    #![proptest_config(cases(30))]

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
}
