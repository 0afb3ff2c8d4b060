use crate::{
    AddressKind, Holds, Inclusion, Level, OnSwitch, PageAllocation, PageOrder, Prefetch,
    Replacement, StreamBuffers, Streamer, StrideKey, StridePrefetcher, TlbLevel, VictimCache, Ways,
    WriteBuffers, WritePolicy,
};
use proptest::prelude::*;

use super::*;

const SMALL: &str = "\
schema = \"switchcost.design/1\"
name = \"small\"
[[level]]
name = \"L1\"
holds = \"both\"
size = \"4KiB\"
line = 64
ways = 2
miss_cycles = 10
";

fn error(text: &str) -> String {
    read_design(text, "a.toml")
        .expect_err("a mistake")
        .to_string()
}

#[test]
fn reads_a_small_design_with_its_defaults() {
    let design = read_design(SMALL, "a.toml").expect("sound");
    let level = &design.levels[0];
    assert_eq!(
        (level.size, level.line, level.ways),
        (Bytes::kib(4), Bytes(64), Ways::Count(2))
    );
    assert_eq!(
        (level.replacement, level.write, level.hit_cycles),
        (Replacement::Lru, WritePolicy::Back, 0)
    );
    assert!(level.allocates_on_write());
    assert_eq!(
        (level.inclusion, level.prefetch),
        (Inclusion::Neither, Prefetch::None)
    );
    assert_eq!(
        (level.index, level.tag, level.on_switch),
        (AddressKind::Virtual, AddressKind::Virtual, OnSwitch::Keep)
    );
    assert_eq!(
        (design.tlbs.len(), design.pages, design.cycle_ns),
        (0, None, None)
    );
}

#[test]
fn takes_walk_cycles_for_the_miss_cycles_of_a_tlb() {
    let text = format!(
        "{SMALL}[[tlb]]\nname = \"DTLB\"\nholds = \"data\"\nentries = 64\nways = \"full\"\npage = \"4KiB\"\nwalk_cycles \
         = 30\n"
    );
    let design = read_design(&text, "a.toml").expect("sound");
    assert_eq!(
        (design.tlbs[0].miss_cycles, design.tlbs[0].ways),
        (30, Ways::Full)
    );
}

#[test]
fn names_line_column_and_field_of_a_mistake() {
    assert_eq!(
        error(&SMALL.replace("ways = 2", "ways = -2")),
        "a.toml:8:8 (ways = -2): found -2 ways; docs/formats/design.md lists the fields"
    );
    assert_eq!(
        error(&SMALL.replace("\"4KiB\"", "\"4kb\"")),
        "a.toml:6:8 (size = \"4kb\"): '4kb' is not a size; write 512B, 64KiB or 4MiB (1 KiB = 1024 \
         bytes); docs/formats/design.md lists the fields"
    );
    assert_eq!(
        error(&SMALL.replace("line = 64", "line = 6.4")),
        "a.toml:7:8 (line = 6.4): invalid type: floating point `6.4`, expected a size such as \"64KiB\", or a number of \
         bytes; docs/formats/design.md lists the fields"
    );
    assert_eq!(
        error(&SMALL.replace("\"both\"", "\"all\"")),
        "a.toml:5:9 (holds = \"all\"): unknown variant `all`, expected one of `instructions`, `data`, `both`; \
         docs/formats/design.md lists the fields"
    );
    assert_eq!(
        error(&SMALL.replace("miss_cycles = 10\n", "")),
        "a.toml:3:1 ([[level]]): missing field `miss_cycles`; docs/formats/design.md lists the fields"
    );
}

#[test]
fn refuses_unknown_fields_and_lists_the_known_ones() {
    assert_eq!(
        error(&SMALL.replace("ways", "assoc")),
        "a.toml:8:1 (assoc = 2): unknown field `assoc`, expected one of `name`, `holds`, `size`, `line`, `ways`, \
         `replacement`, `seed`, `write`, `write_allocate`, `write_buffers`, `hit_cycles`, `miss_cycles`, `bus_cycles`, \
         `inclusion`, `index`, `tag`, `on_switch`, `prefetch`, `victim`, `streams`, `stride`, `streamer`, `partition`; docs/formats/design.md lists the fields"
    );
    assert_eq!(
        error(&SMALL.replace("[[level]]", "[[cache]]")),
        "a.toml:3:3 ([[cache]]): unknown field `cache`, expected one of `schema`, `name`, `title`, `source`, `cycle_ns`, \
         `level`, `tlb`, `pages`; docs/formats/design.md lists the fields"
    );
}

#[test]
fn refuses_what_is_not_toml() {
    assert_eq!(
        error("schema = \n"),
        "a.toml:1:10 (schema =): string values must be quoted, expected literal string; docs/formats/design.md lists the \
         fields"
    );
    assert_eq!(
        error(""),
        "a.toml:1:1: missing field `schema`; docs/formats/design.md lists the fields"
    );
}

#[test]
fn refuses_what_could_not_be_built() {
    assert_eq!(
        error(
            &SMALL
                .replace("4KiB", "100KiB")
                .replace("ways = 2", "ways = 3")
        ),
        "a.toml: level \"L1\": size is 100 KiB, not a multiple of line x ways (64 B x 3 = 192 B); change size, line or ways"
    );
}

#[test]
fn refuses_a_file_that_is_too_long() {
    let text = "#".repeat((1 << 20) + 1);
    assert_eq!(
        error(&text),
        "a.toml has 1048577 B, more than the 1 MiB of a design file; check its name"
    );
}

#[test]
fn hostile_names_and_lines_are_escaped_and_cut() {
    let text = format!("schema = \u{1b}[2J{}", "x".repeat(1000));
    let said = read_design(&text, "a\u{1b}.toml")
        .expect_err("no TOML")
        .to_string();
    assert!(!said.contains('\u{1b}'), "{said:?}");
    assert!(said.len() < 400, "{said}");
}

#[test]
fn deep_nesting_is_refused() {
    let text = format!("schema = {}", "[".repeat(200_000));
    assert!(read_design(&text, "a.toml").is_err());
}

fn bytes() -> impl Strategy<Value = Bytes> {
    prop_oneof![
        (0..u64::MAX).prop_map(Bytes),
        (0_u32..40).prop_map(|shift| Bytes(1 << shift))
    ]
}

fn ways() -> impl Strategy<Value = Ways> {
    prop_oneof![any::<u32>().prop_map(Ways::Count), Just(Ways::Full)]
}

fn holds() -> impl Strategy<Value = Holds> {
    prop_oneof![
        Just(Holds::Instructions),
        Just(Holds::Data),
        Just(Holds::Both)
    ]
}

fn replacement() -> impl Strategy<Value = Replacement> {
    use Replacement::{Drrip, Fifo, Lru, Random, Ship, Srrip, TreePlru};
    proptest::sample::select(vec![Lru, Fifo, Random, TreePlru, Srrip, Drrip, Ship])
}

fn address() -> impl Strategy<Value = AddressKind> {
    prop_oneof![Just(AddressKind::Virtual), Just(AddressKind::Physical)]
}

fn on_switch() -> impl Strategy<Value = OnSwitch> {
    prop_oneof![Just(OnSwitch::Keep), Just(OnSwitch::Flush)]
}

prop_compose! {
    fn geometry()(
        name in ".*", holds in holds(), size in bytes(), line in bytes(), ways in ways(), replacement in replacement(),
        seed in 0..=i64::MAX as u64, hit_cycles: u32, miss_cycles: u32, bus_cycles: u32,
    ) -> Level {
        Level { replacement, seed, hit_cycles, bus_cycles, ..Level::plain(&name, holds, size, line, ways, miss_cycles) }
    }
}

prop_compose! {
    fn level()(
        level in geometry(),
        write in prop_oneof![Just(WritePolicy::Through), Just(WritePolicy::Back)],
        write_allocate: Option<bool>, buffers: Option<(u32, u32)>,
        inclusion in proptest::sample::select(vec![Inclusion::Neither, Inclusion::Inclusive, Inclusion::Exclusive]),
        index in address(), tag in address(), on_switch in on_switch(),
        prefetch in prop_oneof![Just(Prefetch::None), Just(Prefetch::NextLine)],
        victim: Option<(u32, u32)>, streams: Option<(u32, u32, u32, u32, bool)>,
        stride: Option<(u32, u32, u32, bool)>, streamer: Option<(u32, u32, u32)>,
        partition in proptest::option::of("[a-z:]{0,9}:[0-9a-f]{1,16}"),
    ) -> Level {
        Level {
            write, write_allocate, inclusion, index, tag, on_switch, prefetch,
            write_buffers: buffers.map(|(count, drain_cycles)| WriteBuffers { count, drain_cycles }),
            victim: victim.map(|(lines, hit_cycles)| VictimCache { lines, hit_cycles }),
            streams: streams.map(|(count, depth, hit_cycles, allocate_after, timed)| {
                StreamBuffers { count, depth, hit_cycles, allocate_after, timed }
            }),
            stride: stride.map(|(entries, degree, distance, is_page)| {
                let by = if is_page { StrideKey::Page } else { StrideKey::Instruction };
                StridePrefetcher { entries, degree, distance, by }
            }),
            streamer: streamer.map(|(entries, degree, distance)| Streamer { entries, degree, distance }),
            partition: partition.map(|text| text.parse().expect("a partition")),
            ..level
        }
    }
}

prop_compose! {
    fn tlb()(
        name in ".*", holds in holds(), entries: u32, ways in ways(), page in bytes(), replacement in replacement(),
        seed in 0..=i64::MAX as u64, hit_cycles: u32, miss_cycles: u32, on_switch in on_switch(),
    ) -> TlbLevel {
        TlbLevel { name, holds, entries, ways, page, replacement, seed, hit_cycles, miss_cycles, on_switch }
    }
}

prop_compose! {
    fn design()(
        schema in ".*", name in ".*", title in ".*", source in "(.|\n)*",
        cycle_ns in proptest::option::of([-1e9..1e9, -1e9..1e9_f64]),
        levels in prop::collection::vec(level(), 0..4),
        tlbs in prop::collection::vec(tlb(), 0..3),
        pages in proptest::option::of((bytes(), any::<bool>(), 0..=i64::MAX as u64)),
    ) -> Design {
        let order = |is_random| if is_random { PageOrder::Random } else { PageOrder::Consecutive };
        let pages = pages.map(|(size, is_random, seed)| PageAllocation { size, order: order(is_random), seed });
        Design { schema, name, title, source, cycle_ns, levels, tlbs, pages }
    }
}

proptest! {
    #[test]
    fn every_design_goes_through_toml_and_json(design in design()) {
        let text = toml::to_string(&design).expect("TOML");
        prop_assert_eq!(parse(&text).map_err(|(at, message)| format!("{at}: {message}\n{text}")), Ok(design.clone()));
        let json = serde_json::to_string(&design).expect("JSON");
        prop_assert_eq!(serde_json::from_str::<Design>(&json).expect("the same"), design);
    }

    #[test]
    fn any_design_is_checked_without_panic(design in design()) {
        let _ = design.check();
        let _ = write_design(&design);
    }

    #[test]
    fn any_text_is_read_without_panic(text in "(.|\n)*") {
        prop_assert!(read_design(&text, "any").is_err());
    }

    #[test]
    fn any_change_of_a_design_is_read_without_panic(at in 0..1000_usize, cut in 0..5_usize, put in "(.|\n){0,4}") {
        let text = crate::shipped::text("mogul-2a").expect("shipped");
        prop_assert!(text.is_ascii() && at + cut <= text.len());
        let changed = format!("{}{put}{}", &text[..at], &text[at + cut..]);
        if let Ok(design) = read_design(&changed, "changed") {
            prop_assert_eq!(design.check(), Ok(()));
        }
    }
}

#[test]
fn shipped_designs_go_through_toml() {
    for name in crate::shipped::names() {
        let design = crate::shipped::find(name).expect("shipped");
        let text = write_design(&design).expect("sound");
        assert_eq!(read_design(&text, name), Ok(design));
    }
}
