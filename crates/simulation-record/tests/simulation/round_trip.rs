//! Tests that a reader gets exactly what was written.

use proptest::array::{uniform3, uniform4};
use proptest::prelude::*;
use switchcost_design::result::{ByView, Interval, OfOthers};

use crate::fixture::{head, intervals};
use crate::{Folder, read, write};

#[test]
fn head_and_intervals_come_back() {
    let folder = Folder::new();
    for (i, (count, rows)) in [(0, 10), (1, 10), (10, 10), (1000, 300), (70_000, 1 << 20)]
        .into_iter()
        .enumerate()
    {
        let path = folder.0.path().join(i.to_string());
        write(&path, &head(), &intervals(count), rows);
        let (found_head, found) = read(&path).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(found_head, head());
        assert!(
            found == intervals(count),
            "{count} intervals in groups of {rows}"
        );
    }
}

#[test]
fn only_the_record_is_left() {
    let folder = Folder::new();
    write(&folder.file(), &head(), &intervals(5), 2);
    assert_eq!(folder.names(), ["run.parquet"]);
}

fn any_interval() -> impl Strategy<Value = Interval> {
    let large = || prop_oneof![Just(0), Just(u64::MAX), any::<u64>()];
    let small = || prop_oneof![Just(0), Just(u32::MAX), any::<u32>()];
    let indices = (0..2_u16, 0..3_u32, 0..4_u32, 0..4_u32);
    let others = proptest::option::of(uniform3(large()));
    (indices, uniform4(small()), uniform4(large()), others).prop_map(
        |(
            (design, process, cause, end),
            [segment, segments, task, number],
            [instructions, shared, private, flushed],
            of_others,
        )| {
            let cycles = ByView {
                shared,
                private,
                flushed,
            };
            Interval {
                design,
                segment,
                segments,
                task,
                process,
                cause,
                end,
                number,
                instructions,
                cycles,
                of_others: of_others.map(|[lost, gained, first_touches]| OfOthers {
                    lost,
                    gained,
                    first_touches,
                }),
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_intervals_come_back(intervals in proptest::collection::vec(any_interval(), 0..100), rows in 1..100_u64) {
        let folder = Folder::new();
        write(&folder.file(), &head(), &intervals, rows);
        let (_, found) = read(&folder.file()).expect("whole");
        prop_assert_eq!(found, intervals);
    }
}
