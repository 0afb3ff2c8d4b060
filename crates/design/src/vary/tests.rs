use super::*;
use crate::{
    OnSwitch, Prefetch, Replacement, StreamBuffers, Streamer, StrideKey, StridePrefetcher,
    VictimCache, Ways,
};
use switchcost_units::Bytes;

fn base() -> Design {
    crate::shipped::find("mogul-2a").expect("shipped")
}

fn names_of(designs: &[Design]) -> Vec<&str> {
    designs.iter().map(|design| design.name.as_str()).collect()
}

fn error(axes: &[&str]) -> String {
    vary(&base(), axes).expect_err("a mistake").to_string()
}

#[test]
fn no_axis_gives_the_design_itself() {
    assert_eq!(vary(&base(), &[] as &[&str]), Ok(vec![base()]));
}

#[test]
fn all_combinations_the_last_axis_fastest() {
    let designs = vary(&base(), &["L1D.size=4KiB,8192", "L1D.ways=1,2,full"]).expect("six");
    assert_eq!(
        names_of(&designs),
        [
            "mogul-2a[L1D.size=4KiB,L1D.ways=1]",
            "mogul-2a[L1D.size=4KiB,L1D.ways=2]",
            "mogul-2a[L1D.size=4KiB,L1D.ways=full]",
            "mogul-2a[L1D.size=8192,L1D.ways=1]",
            "mogul-2a[L1D.size=8192,L1D.ways=2]",
            "mogul-2a[L1D.size=8192,L1D.ways=full]",
        ]
    );
    let mut expected = base();
    expected.name = designs[4].name.clone();
    expected.levels[1].size = Bytes::kib(8);
    expected.levels[1].ways = Ways::Count(2);
    assert_eq!(designs[4], expected, "nothing else is changed");
}

#[test]
fn levels_can_be_set_together() {
    let designs = vary(&base(), &["L1I + L1D.size = 4KiB, 16KiB"]).expect("two");
    assert_eq!(
        names_of(&designs),
        [
            "mogul-2a[L1I+L1D.size=4KiB]",
            "mogul-2a[L1I+L1D.size=16KiB]"
        ]
    );
    assert_eq!(
        (designs[1].levels[0].size, designs[1].levels[1].size),
        (Bytes::kib(16), Bytes::kib(16))
    );
    assert_eq!(designs[1].levels[2].size, Bytes::kib(512));
}

#[test]
fn caches_are_addressed_as_manuals_name_it() {
    use crate::AddressKind::{Physical, Virtual};
    let designs = vary(&base(), &["caches.addressing=vivt,vipt,pipt"]).expect("three");
    assert_eq!(designs[1].name, "mogul-2a[caches.addressing=vipt]");
    let of = |design: &Design| {
        design
            .levels
            .iter()
            .map(|level| (level.index, level.tag))
            .collect::<Vec<_>>()
    };
    assert_eq!(of(&designs[0]), [(Virtual, Virtual); 3]);
    assert_eq!(
        of(&designs[1]),
        [
            (Virtual, Physical),
            (Virtual, Physical),
            (Physical, Physical)
        ]
    );
    assert_eq!(of(&designs[2]), [(Physical, Physical); 3]);
    assert_eq!(
        error(&["caches.addressing=virtual"]),
        "caches.addressing=virtual: write vivt, vipt or pipt"
    );
}

#[test]
fn every_field_of_a_level_and_of_a_tlb() {
    let level = [
        "L2.line=256",
        "L2.replacement=fifo",
        "L2.hit_cycles=3",
        "L2.miss_cycles=100",
        "L2.ways=4",
        "L2.size=1MiB",
    ];
    let design = &vary(&base(), &level).expect("one")[0];
    let second = &design.levels[2];
    assert_eq!(
        (second.line, second.replacement),
        (Bytes(256), Replacement::Fifo)
    );
    assert_eq!(
        (second.hit_cycles, second.miss_cycles, second.ways),
        (3, 100, Ways::Count(4))
    );
    assert_eq!(second.size, Bytes::mib(1));
    let xeon = crate::shipped::find("li2007-xeon").expect("shipped");
    let tlb = [
        "DTLB.entries=128",
        "DTLB.ways=8",
        "DTLB.page=2MiB",
        "DTLB.hit_cycles=1",
        "DTLB.miss_cycles=50",
        "DTLB.replacement=srrip",
        "DTLB.on_switch=keep",
    ];
    let design = &vary(&xeon, &tlb).expect("one")[0];
    let data = &design.tlbs[1];
    assert_eq!(
        (data.entries, data.ways, data.page),
        (128, Ways::Count(8), Bytes::mib(2))
    );
    assert_eq!(
        (data.hit_cycles, data.miss_cycles, data.replacement),
        (1, 50, Replacement::Srrip)
    );
    let flushes = |design: &Design| {
        design
            .tlbs
            .iter()
            .map(|tlb| tlb.on_switch == OnSwitch::Flush)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (flushes(&xeon), flushes(design)),
        (vec![true, true], vec![true, false])
    );
}

#[test]
fn what_stands_beside_a_level_is_numbers_in_the_order_of_a_file() {
    let axes = [
        "L1D.victim=none,4:2",
        "L1D.streams=4:8:3",
        "L2.stride=64:2:4",
        "L2.streamer=32:2:20",
        "L2.prefetch=next-line",
    ];
    let designs = vary(&base(), &axes).expect("two");
    assert_eq!(
        designs[1].name,
        "mogul-2a[L1D.victim=4:2,L1D.streams=4:8:3,L2.stride=64:2:4,L2.streamer=32:2:20,L2.prefetch=next-line]"
    );
    let [_, data, second] = &designs[1].levels[..] else {
        panic!("three levels")
    };
    assert_eq!(
        (designs[0].levels[1].victim, data.victim),
        (
            None,
            Some(VictimCache {
                lines: 4,
                hit_cycles: 2
            })
        )
    );
    assert_eq!(
        data.streams,
        Some(StreamBuffers {
            count: 4,
            depth: 8,
            hit_cycles: 3,
            ..StreamBuffers::default()
        })
    );
    let by = StrideKey::Instruction;
    assert_eq!(
        second.stride,
        Some(StridePrefetcher {
            entries: 64,
            degree: 2,
            distance: 4,
            by
        })
    );
    assert_eq!(
        second.streamer,
        Some(Streamer {
            entries: 32,
            degree: 2,
            distance: 20
        })
    );
    assert_eq!(second.prefetch, Prefetch::NextLine);
    assert_eq!(
        error(&["L1D.victim=4"]),
        "L1D.victim=4: write LINES:HIT_CYCLES in whole numbers, or none"
    );
}

#[test]
fn what_has_no_number_stays_as_the_design_has_it() {
    let mut base = base();
    let streams = StreamBuffers {
        allocate_after: 2,
        timed: true,
        ..StreamBuffers::default()
    };
    let stride = StridePrefetcher {
        entries: 1,
        degree: 1,
        distance: 1,
        by: StrideKey::Page,
    };
    (base.levels[2].streams, base.levels[2].stride) = (Some(streams), Some(stride));
    let varied = vary(&base, &["L2.streams=4:8:3", "L2.stride=64:2:4"])
        .expect("one")
        .remove(0);
    let found = varied.levels[2].streams.expect("streams");
    assert_eq!(
        (found.depth, found.allocate_after, found.timed),
        (8, 2, true)
    );
    assert_eq!(
        varied.levels[2].stride.map(|stride| stride.by),
        Some(StrideKey::Page)
    );
}

#[test]
fn index_tag_and_ways_of_programs() {
    use crate::AddressKind::{Physical, Virtual};
    let designs = vary(&base(), &["L2.index=virtual,physical", "L2.tag=physical"]).expect("two");
    let of = |design: &Design| {
        (
            design.levels[2].index,
            design.levels[2].tag,
            design.pages.is_some(),
        )
    };
    assert_eq!(
        [of(&designs[0]), of(&designs[1])],
        [(Virtual, Physical, true), (Physical, Physical, true)]
    );
    assert_eq!(
        error(&["L2.index=physical", "caches.addressing=vipt"]),
        "L2.index is given twice; remove one"
    );
    let axes = [
        "L2.ways=4",
        "L2.partition=none,server:c+process:3:8+default:3",
    ];
    let designs = vary(&base(), &axes).expect("two");
    assert_eq!(designs[0].levels[2].partition, None);
    assert_eq!(
        designs[1].name,
        "mogul-2a[L2.ways=4,L2.partition=server:c+process:3:8+default:3]"
    );
    let partition = designs[1].levels[2]
        .partition
        .as_ref()
        .expect("a partition");
    assert_eq!(partition.bitmask("server", 1).map(|mask| mask.0), Some(12));
    assert_eq!(
        error(&["L2.partition=server:1f"]),
        "mogul-2a[L2.partition=server:1f]: level \"L2\": partition has 1f for \"server\", not a capacity bitmask of 1 \
         ways: 1 to 1; one bit is one way, as in resctrl's schemata"
    );
}

#[test]
fn a_field_within_a_part_is_a_path() {
    let axes = [
        "L1D.streams=4:8:3",
        "L1I.streams=4:8:3",
        "L1I.hit_cycles=0,1",
    ];
    let base = vary(&base(), &axes).expect("two").remove(0);
    let designs = vary(&base, &["L1D+L1I.streams.depth=2,4"]).expect("two");
    let depth = |level: usize| {
        designs[0].levels[level]
            .streams
            .map(|streams| streams.depth)
    };
    assert_eq!([depth(0), depth(1), depth(2)], [Some(2), Some(2), None]);
    assert_eq!(
        designs[0].name,
        format!("{}[L1D+L1I.streams.depth=2]", base.name)
    );
    assert_eq!(
        vary(&base, &["L1D.streams=none", "L1D.streams.depth=2"])
            .expect_err("both")
            .to_string(),
        "L1D.streams.depth is given twice; remove one"
    );
}

#[test]
fn refuses_what_is_not_of_the_form() {
    for axis in [
        "",
        "L1D",
        "L1D.size",
        "size=4KiB",
        ".size=4KiB",
        "L1D.=4KiB",
        "L1D.size=",
    ] {
        assert_eq!(
            error(&[axis]),
            format!(
                "{axis:?} is not of the form LEVEL.FIELD=VALUE,VALUE...; write L1D.size=4KiB,8KiB or L1I+L1D.ways=1,2,4"
            )
        );
    }
}

#[test]
fn names_the_level_or_field_that_is_not_there() {
    assert_eq!(
        error(&["L1I+L3.size=4KiB"]),
        "L1I+L3.size: design \"mogul-2a\" has no level or TLB \"L3\"; it has L1I, L1D, L2"
    );
    assert_eq!(
        error(&["L1D.colour=1"]),
        "L1D.colour=1: unknown field `colour`, expected one of `name`, `holds`, `size`, `line`, `ways`, `replacement`, `seed`, \
         `write`, `write_allocate`, `write_buffers`, `hit_cycles`, `miss_cycles`, `bus_cycles`, `inclusion`, `index`, `tag`, \
         `on_switch`, `prefetch`, `victim`, `streams`, `stride`, `streamer`, `partition`"
    );
    let xeon = crate::shipped::find("li2007-xeon").expect("shipped");
    assert_eq!(
        vary(&xeon, &["L1D+DTLB.size=4KiB"])
            .expect_err("a TLB has entries")
            .to_string(),
        "L1D+DTLB.size=4KiB: unknown field `size`, expected one of `name`, `holds`, `entries`, `ways`, `page`, \
         `replacement`, `seed`, `hit_cycles`, `miss_cycles`, `walk_cycles`, `on_switch`"
    );
}

#[test]
fn names_the_value_that_is_none() {
    assert_eq!(
        error(&["L1D.size=4kb"]),
        "L1D.size=4kb: '4kb' is not a size; write 512B, 64KiB or 4MiB (1 KiB = 1024 bytes)"
    );
    assert_eq!(
        error(&["L1D.ways=1,,2"]),
        "L1D.ways=: invalid value: string \"\", expected a number of ways, or \"full\""
    );
    assert_eq!(
        error(&["L1D.replacement=best"]),
        "L1D.replacement=best: unknown variant `best`, expected one of `lru`, `fifo`, `random`, `tree-plru`, `srrip`, `drrip`, \
         `ship`"
    );
    assert_eq!(
        error(&["L1D.on_switch=lose"]),
        "L1D.on_switch=lose: unknown variant `lose`, expected `keep` or `flush`"
    );
    assert_eq!(
        error(&["L1D.miss_cycles=-1"]),
        "L1D.miss_cycles=-1: invalid value: integer `-1`, expected u32"
    );
}

#[test]
fn refuses_what_is_said_twice() {
    assert_eq!(
        error(&["L1D.size=4KiB,4096"]),
        "L1D.size=4096 is given twice; remove one"
    );
    assert_eq!(
        error(&["L1I+L1D.size=4KiB", "L1D.size=8KiB"]),
        "L1D.size is given twice; remove one"
    );
    assert_eq!(
        error(&["L1D+L1D.size=4KiB"]),
        "L1D.size is given twice; remove one"
    );
}

#[test]
fn refuses_more_designs_than_anyone_reads() {
    let values = |count: u32| {
        (1..=count)
            .map(|value| value.to_string())
            .collect::<Vec<_>>()
            .join(",")
    };
    let axes = |first, second| {
        [
            format!("L1D.miss_cycles={}", values(first)),
            format!("L2.miss_cycles={}", values(second)),
        ]
    };
    assert_eq!(
        vary(&base(), &axes(64, 64)).map(|designs| designs.len()),
        Ok(4096)
    );
    assert_eq!(
        vary(&base(), &axes(64, 65)).expect_err("4160").to_string(),
        "64 x 65 designs are too many (at most 4096); give fewer values"
    );
}

#[test]
fn refuses_a_combination_that_could_not_be_built() {
    assert_eq!(
        error(&["L1D.size=4KiB,8KiB", "L1D.ways=1,3"]),
        "mogul-2a[L1D.size=4KiB,L1D.ways=3]: level \"L1D\": size is 4 KiB, not a multiple of line x ways (16 B x 3 = 48 \
         B); change size, line or ways"
    );
}

proptest::proptest! {
    #[test]
    fn any_text_is_an_axis_or_an_error(text in ".*") {
        let _ = vary(&base(), &[text]);
    }

    #[test]
    fn any_values_are_read_or_refused(field in "[a-z_]{1,12}", values in "[0-9a-zA-Z,.]{0,20}") {
        let _ = vary(&base(), &[format!("L1D.{field}={values}")]);
    }
}
