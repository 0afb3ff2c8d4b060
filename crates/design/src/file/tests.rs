use crate::{Holds, Level, Ways};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

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

#[test]
fn reads_a_small_design_with_its_defaults() {
    let design = read_design(SMALL, "a.toml").expect("sound");
    let level = Level::plain(
        "L1",
        Holds::Both,
        Bytes::kib(4),
        Bytes(64),
        Ways::Count(2),
        10,
    );
    assert_eq!(design.levels, [level]);
    assert!(design.levels[0].allocates_on_write());
    assert_eq!(
        (design.tlbs.len(), design.pages, design.cycle_ns),
        (0, None, None)
    );
}

#[test]
fn lines_may_end_as_on_windows() {
    let text = SMALL.replace("[[level]]", "source = \"\"\"\na\nb\"\"\"\n[[level]]");
    let design = read_design(&text, "a.toml").expect("sound");
    let windows = read_design(&text.replace('\n', "\r\n"), "a.toml").expect("sound");
    assert_eq!((design.source.as_str(), windows), ("a\nb", design.clone()));
}

#[test]
fn takes_walk_cycles_for_the_miss_cycles_of_a_tlb() {
    let tlb = "[[tlb]]\nname = 'DTLB'\nholds = 'data'\nentries = 64\nways = 'full'\npage = '4KiB'\nwalk_cycles = 30\n";
    let design = read_design(&format!("{SMALL}{tlb}"), "a.toml").expect("sound");
    assert_eq!(
        (design.tlbs[0].miss_cycles, design.tlbs[0].ways),
        (30, Ways::Full)
    );
}

/// Each entry is a piece of the small design's text, the text that replaces the piece, and the
/// error.
const REFUSED: &[(&str, &str, &str)] = &[
    (
        "ways = 2",
        "ways = -2",
        "a.toml:8:8 (ways = -2): invalid value: integer `-2`, expected a number of ways, or \"full\"; \
         docs/formats/design.md lists the fields",
    ),
    (
        "\"4KiB\"",
        "\"4kb\"",
        "a.toml:6:8 (size = \"4kb\"): '4kb' is not a size; write 512B, 64KiB or 4MiB (1 KiB = 1024 \
         bytes); docs/formats/design.md lists the fields",
    ),
    (
        "line = 64",
        "line = 6.4",
        "a.toml:7:8 (line = 6.4): invalid type: floating point `6.4`, expected a size such as \"64KiB\", or a number of \
         bytes; docs/formats/design.md lists the fields",
    ),
    (
        "\"both\"",
        "\"all\"",
        "a.toml:5:9 (holds = \"all\"): unknown variant `all`, expected one of `instructions`, `data`, `both`; \
         docs/formats/design.md lists the fields",
    ),
    (
        "miss_cycles = 10\n",
        "",
        "a.toml:3:1 ([[level]]): missing field `miss_cycles`; docs/formats/design.md lists the fields",
    ),
    (
        "ways",
        "assoc",
        "a.toml:8:1 (assoc = 2): unknown field `assoc`, expected one of `name`, `holds`, `size`, `line`, `ways`, \
         `replacement`, `seed`, `write`, `write_allocate`, `write_buffers`, `hit_cycles`, `miss_cycles`, `bus_cycles`, \
         `inclusion`, `index`, `tag`, `on_switch`, `prefetch`, `victim`, `streams`, `stride`, `streamer`, `partition`; docs/formats/design.md lists the fields",
    ),
    (
        "design/1\"",
        "design/2\"\nlevels = []",
        "a.toml:2:1 (levels = []): schema is \"switchcost.design/2\", and this version reads only \"switchcost.design/1\"; \
         docs/formats/design.md lists the fields",
    ),
    (
        "[[level]]",
        "[[cache]]",
        "a.toml:3:3 ([[cache]]): unknown field `cache`, expected one of `schema`, `name`, `title`, `source`, `cycle_ns`, \
         `level`, `tlb`, `pages`; docs/formats/design.md lists the fields",
    ),
    (
        SMALL,
        "schema = \n",
        "a.toml:1:10 (schema =): string values must be quoted, expected literal string; docs/formats/design.md lists the \
         fields",
    ),
    (
        SMALL,
        "",
        "a.toml:1:1: missing field `schema`; docs/formats/design.md lists the fields",
    ),
    (
        "\"4KiB\"\nline = 64\nways = 2",
        "\"100KiB\"\nline = 64\nways = 3",
        "a.toml: level \"L1\": size is 100 KiB, not a multiple of line x ways (64 B x 3 = 192 B); change size, line or ways",
    ),
];

#[test]
fn names_line_column_and_field_of_a_mistake() {
    let error = |text: &str| {
        read_design(text, "a.toml")
            .expect_err("a mistake")
            .to_string()
    };
    for (from, to, message) in REFUSED {
        assert_eq!(error(&SMALL.replace(from, to)), *message);
    }
    assert_eq!(
        error(&"#".repeat((1 << 20) + 1)),
        "a.toml has 1048577 B, more than the 1 MiB of a design file; check its name"
    );
    error(&format!("schema = {}", "[".repeat(200_000)));
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

/// Lines of TOML by field, each of which may be missing.
type Fields = [&'static [&'static str]];

const DESIGN: &Fields = &[
    &["cycle_ns = [-1e9, 0.1]", "cycle_ns = [0.3, 1e300]"],
    &[
        "pages = { size = 3 }",
        "pages = { size = '4KiB', order = 'consecutive', seed = 9223372036854775807 }",
    ],
];

/// Fields of levels and TLBs.
const BOTH: &Fields = &[
    &[
        "replacement = 'fifo'",
        "replacement = 'random'",
        "replacement = 'tree-plru'",
        "replacement = 'srrip'",
        "replacement = 'drrip'",
        "replacement = 'ship'",
    ],
    &["seed = 7", "seed = 9223372036854775807"],
    &["hit_cycles = 4294967295"],
    &["on_switch = 'flush'"],
];

const LEVEL: &Fields = &[
    &["write = 'through'"],
    &["write_allocate = true", "write_allocate = false"],
    &["write_buffers = { count = 4294967295, drain_cycles = 0 }"],
    &["bus_cycles = 3"],
    &["inclusion = 'inclusive'", "inclusion = 'exclusive'"],
    &["index = 'physical'"],
    &["tag = 'physical'"],
    &["prefetch = 'next-line'"],
    &["victim = { lines = 0, hit_cycles = 4294967295 }"],
    &[
        "streams = { count = 1, depth = 2, hit_cycles = 3 }",
        "streams = { count = 0, depth = 0, hit_cycles = 0, allocate_after = 5, timed = true }",
    ],
    &[
        "stride = { entries = 4294967295, degree = 2, distance = 3 }",
        "stride = { entries = 0, degree = 0, by = 'page' }",
    ],
    &["streamer = { entries = 0, degree = 5, distance = 4294967295 }"],
    &[
        "partition = { default = 'ffffffffffffffff', 'process:x' = '0' }",
        "partition = {}",
    ],
];

/// Generates text with at most one of the possible lines of each field.
fn lines(fields: &'static Fields) -> impl Strategy<Value = String> {
    let fields = fields
        .iter()
        .map(|lines| proptest::option::of(select(*lines)));
    fields
        .collect::<Vec<_>>()
        .prop_map(|lines| lines.into_iter().flatten().collect::<Vec<_>>().join("\n"))
}

/// Generates a level or TLB.
fn part(head: &'static str, fields: &'static Fields) -> impl Strategy<Value = String> {
    let held = select(vec![
        "holds = 'instructions'\nways = 0",
        "holds = 'data'\nways = 4294967295",
        "holds = 'both'\nways = 'full'",
    ]);
    (held, lines(BOTH), lines(fields))
        .prop_map(move |(held, both, own)| format!("{head}\nname = ''\n{held}\n{both}\n{own}\n"))
}

fn bytes() -> impl Strategy<Value = Bytes> {
    prop_oneof![
        (0..u64::MAX).prop_map(Bytes),
        (0_u32..40).prop_map(|shift| Bytes(1 << shift))
    ]
}

/// Generates a design of which only the types are right.
fn design() -> impl Strategy<Value = Design> {
    let level = part("[[level]]\nsize = 1\nline = 1\nmiss_cycles = 0", LEVEL);
    let tlb = part(
        "[[tlb]]\npage = 1\nentries = 4294967295\nmiss_cycles = 4294967295",
        &[],
    );
    let (names, sizes) = (vec("(.|\n)*", 10), vec(bytes(), 10));
    (
        lines(DESIGN),
        vec(level, 1..4),
        vec(tlb, 0..3),
        names,
        sizes,
    )
        .prop_map(|(head, levels, tlbs, names, sizes)| {
            let text = format!(
                "schema = ''\nname = ''\n{head}\n{}{}",
                levels.concat(),
                tlbs.concat()
            );
            let mut design = parse(&text).expect("right types");
            let (mut names, mut sizes) = (names.into_iter(), sizes.into_iter());
            let Design {
                schema,
                name,
                title,
                source,
                levels,
                tlbs,
                ..
            } = &mut design;
            let of_levels = levels.iter_mut().map(|level| &mut level.name);
            let of_tlbs = tlbs.iter_mut().map(|tlb| &mut tlb.name);
            let parts = of_levels.chain(of_tlbs);
            [schema, name, title, source]
                .into_iter()
                .chain(parts)
                .zip(&mut names)
                .for_each(|(into, name)| *into = name);
            for level in &mut design.levels {
                [&mut level.size, &mut level.line]
                    .into_iter()
                    .zip(&mut sizes)
                    .for_each(|(into, size)| *into = size);
            }
            design
                .tlbs
                .iter_mut()
                .zip(&mut sizes)
                .for_each(|(tlb, page)| tlb.page = page);
            design
        })
}

proptest! {
    #[test]
    fn every_design_is_checked_and_goes_through_toml_and_json(design in design()) {
        let _ = (design.check(), write_design(&design));
        let text = toml::to_string(&design).expect("TOML");
        prop_assert_eq!(parse(&text).map_err(|(at, message)| format!("{at}: {message}\n{text}")), Ok(design.clone()));
        let json = serde_json::to_string(&design).expect("JSON");
        prop_assert_eq!(serde_json::from_str::<Design>(&json).expect("the same"), design);
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
