use std::collections::BTreeMap;

use super::*;

fn shipped(name: &str) -> Design {
    crate::shipped::find(name).expect("shipped")
}

fn base() -> Design {
    shipped("mogul-2a")
}

/// Returns the designs of axes that are separated by semicolons.
fn varied(base: &Design, axes: &str) -> Result<Vec<Design>, VaryError> {
    vary(base, &axes.split(';').collect::<Vec<_>>())
}

fn refusal(base: &Design, axes: &str) -> String {
    varied(base, axes).expect_err("a mistake").to_string()
}

/// Returns the fields of a design, its levels and TLBs, with their values in TOML.
fn fields(design: &Design) -> BTreeMap<String, String> {
    let mut fields = BTreeMap::new();
    for (key, value) in Table::try_from(design).expect("TOML") {
        match value {
            Value::Array(parts) if parts[0].is_table() => {
                for part in parts.iter().filter_map(Value::as_table) {
                    let name = part["name"].as_str().expect("a name");
                    let own = part
                        .iter()
                        .map(|(key, value)| (format!("{name}.{key}"), value.to_string()));
                    fields.extend(own);
                }
            }
            value => drop(fields.insert(key, value.to_string())),
        }
    }
    fields
}

/// Returns the fields in which `varied` differs from `base`.
fn difference(base: &Design, varied: &Design) -> Vec<String> {
    let (base, varied) = (fields(base), fields(varied));
    let removed = base.keys().filter(|key| !varied.contains_key(*key));
    let set = varied
        .iter()
        .filter(|(key, value)| base.get(*key) != Some(*value));
    set.map(|(key, value)| format!("{key} = {value}"))
        .chain(removed.map(|key| format!("no {key}")))
        .collect()
}

#[test]
fn all_combinations_the_last_axis_fastest() {
    assert_eq!(vary(&base(), &[] as &[&str]), Ok(vec![base()]));
    let designs = varied(&base(), "L1D.size=4KiB,8192;L1D.ways=1,2,full").expect("six");
    assert_eq!(
        designs
            .iter()
            .map(|design| design.name.as_str())
            .collect::<Vec<_>>(),
        [
            "mogul-2a[L1D.size=4KiB,L1D.ways=1]",
            "mogul-2a[L1D.size=4KiB,L1D.ways=2]",
            "mogul-2a[L1D.size=4KiB,L1D.ways=full]",
            "mogul-2a[L1D.size=8192,L1D.ways=1]",
            "mogul-2a[L1D.size=8192,L1D.ways=2]",
            "mogul-2a[L1D.size=8192,L1D.ways=full]",
        ]
    );
}

/// Each entry is a built-in design, the axes of one or several steps, and the fields that the last
/// step changes. Each step varies the last design of the step before.
const VARIED: &[(&str, &[&str], &[&str])] = &[
    (
        "mogul-2a",
        &["L1D.size=4KiB,8192;L1D.ways=1,2"],
        &[
            "L1D.size = \"8 KiB\"",
            "L1D.ways = 2",
            "name = \"mogul-2a[L1D.size=8192,L1D.ways=2]\"",
        ],
    ),
    (
        "mogul-2a",
        &["L1I + L1D.size = 4KiB, 16KiB"],
        &[
            "L1D.size = \"16 KiB\"",
            "L1I.size = \"16 KiB\"",
            "name = \"mogul-2a[L1I+L1D.size=16KiB]\"",
        ],
    ),
    (
        "mogul-2a",
        &[
            "L2.line=256;L2.replacement=fifo;L2.hit_cycles=3;L2.miss_cycles=100;L2.ways=4;L2.size=1MiB",
        ],
        &[
            "L2.hit_cycles = 3",
            "L2.line = \"256 B\"",
            "L2.miss_cycles = 100",
            "L2.replacement = \"fifo\"",
            "L2.size = \"1 MiB\"",
            "L2.ways = 4",
            "name = \"mogul-2a[L2.line=256,L2.replacement=fifo,L2.hit_cycles=3,L2.miss_cycles=100,L2.ways=4,L2.size=1MiB]\"",
        ],
    ),
    (
        "li2007-xeon",
        &[
            "DTLB.entries=128;DTLB.ways=8;DTLB.page=2MiB;DTLB.hit_cycles=1;DTLB.miss_cycles=50;DTLB.replacement=srrip;DTLB.on_switch=keep",
        ],
        &[
            "DTLB.entries = 128",
            "DTLB.hit_cycles = 1",
            "DTLB.miss_cycles = 50",
            "DTLB.on_switch = \"keep\"",
            "DTLB.page = \"2 MiB\"",
            "DTLB.replacement = \"srrip\"",
            "DTLB.ways = 8",
            "name = \"li2007-xeon[DTLB.entries=128,DTLB.ways=8,DTLB.page=2MiB,DTLB.hit_cycles=1,DTLB.miss_cycles=50,DTLB.replacement=srrip,DTLB.on_switch=keep]\"",
        ],
    ),
    // Several numbers are in the order of a file.
    (
        "mogul-2a",
        &[
            "L1D.victim=none,4:2;L1D.streams=4:8:3;L2.stride=64:2:4;L2.streamer=32:2:20;L2.prefetch=next-line",
        ],
        &[
            "L1D.streams = { count = 4, depth = 8, hit_cycles = 3 }",
            "L1D.victim = { hit_cycles = 2, lines = 4 }",
            "L2.prefetch = \"next-line\"",
            "L2.streamer = { degree = 2, distance = 20, entries = 32 }",
            "L2.stride = { degree = 2, distance = 4, entries = 64 }",
            "name = \"mogul-2a[L1D.victim=4:2,L1D.streams=4:8:3,L2.stride=64:2:4,L2.streamer=32:2:20,L2.prefetch=next-line]\"",
        ],
    ),
    (
        "mogul-2a",
        &["L1D.victim=4:2", "L1D.victim=none"],
        &[
            "name = \"mogul-2a[L1D.victim=4:2][L1D.victim=none]\"",
            "no L1D.victim",
        ],
    ),
    // What has no number stays as the design has it.
    (
        "mogul-2a",
        &[
            "L2.streams=1:1:1;L2.stride=1:1:1",
            "L2.streams.allocate_after=2;L2.streams.timed=true;L2.stride.by=page",
            "L2.streams=4:8:3;L2.stride=64:2:4",
        ],
        &[
            "L2.streams = { allocate_after = 2, count = 4, depth = 8, hit_cycles = 3, timed = true }",
            "L2.stride = { by = \"page\", degree = 2, distance = 4, entries = 64 }",
            "name = \"mogul-2a[L2.streams=1:1:1,L2.stride=1:1:1][L2.streams.allocate_after=2,L2.streams.timed=true,L2.stride.by=page][L2.streams=4:8:3,L2.stride=64:2:4]\"",
        ],
    ),
    // A field within a part is a path.
    (
        "mogul-2a",
        &["L1D+L1I.streams=4:8:3", "L1D+L1I.streams.depth=2,4"],
        &[
            "L1D.streams = { count = 4, depth = 4, hit_cycles = 3 }",
            "L1I.streams = { count = 4, depth = 4, hit_cycles = 3 }",
            "name = \"mogul-2a[L1D+L1I.streams=4:8:3][L1D+L1I.streams.depth=4]\"",
        ],
    ),
    // Physical addresses bring pages.
    (
        "mogul-2a",
        &["L2.index=virtual;L2.tag=physical"],
        &[
            "L2.tag = \"physical\"",
            "name = \"mogul-2a[L2.index=virtual,L2.tag=physical]\"",
            "pages = { seed = 0, size = \"4 KiB\" }",
        ],
    ),
    (
        "mogul-2a",
        &["caches.addressing=vivt,vipt"],
        &[
            "L1D.tag = \"physical\"",
            "L1I.tag = \"physical\"",
            "L2.index = \"physical\"",
            "L2.tag = \"physical\"",
            "name = \"mogul-2a[caches.addressing=vipt]\"",
            "pages = { seed = 0, size = \"4 KiB\" }",
        ],
    ),
    (
        "mogul-2a",
        &["caches.addressing=pipt", "caches.addressing=vivt"],
        &[
            "L1D.index = \"virtual\"",
            "L1D.tag = \"virtual\"",
            "L1I.index = \"virtual\"",
            "L1I.tag = \"virtual\"",
            "L2.index = \"virtual\"",
            "L2.tag = \"virtual\"",
            "name = \"mogul-2a[caches.addressing=pipt][caches.addressing=vivt]\"",
        ],
    ),
    (
        "mogul-2a",
        &["L2.ways=4;L2.partition=none,server:c+process:3:8+default:3"],
        &[
            "L2.partition = { default = \"3\", \"process:3\" = \"8\", server = \"c\" }",
            "L2.ways = 4",
            "name = \"mogul-2a[L2.ways=4,L2.partition=server:c+process:3:8+default:3]\"",
        ],
    ),
];

#[test]
fn axes_set_fields_and_nothing_else_is_changed() {
    for (name, steps, expected) in VARIED {
        let mut designs = vec![shipped(name)];
        for axes in *steps {
            let last = varied(&designs[designs.len() - 1], axes)
                .expect("designs")
                .pop();
            designs.extend(last);
        }
        let [.., before, last] = &designs[..] else {
            panic!("a step")
        };
        assert_eq!(difference(before, last), *expected, "{steps:?}");
    }
}

const REFUSED: &[(&str, &str)] = &[
    (
        "L1I+L3.size=4KiB",
        "L1I+L3.size: design \"mogul-2a\" has no level or TLB \"L3\"; use one of L1I, L1D, L2",
    ),
    (
        "L1D.size=4kb",
        "L1D.size=4kb: '4kb' is not a size; write 512B, 64KiB or 4MiB (1 KiB = 1024 bytes)",
    ),
    (
        "L1D.ways=1,,2",
        "L1D.ways=: invalid value: string \"\", expected a number of ways, or \"full\"",
    ),
    (
        "L1D.on_switch=lose",
        "L1D.on_switch=lose: unknown variant `lose`, expected `keep` or `flush`",
    ),
    (
        "L1D.miss_cycles=-1",
        "L1D.miss_cycles=-1: invalid value: integer `-1`, expected a whole number from 0 to 4294967295",
    ),
    (
        "L1D.ways=-1",
        "L1D.ways=-1: invalid value: integer `-1`, expected a number of ways, or \"full\"",
    ),
    (
        "L1D.seed=1.5",
        "L1D.seed=1.5: invalid type: string \"1.5\", expected a whole number, at least 0",
    ),
    (
        "L1D.victim=4",
        "L1D.victim=4: write LINES:HIT_CYCLES in whole numbers, or none",
    ),
    (
        "caches.addressing=virtual",
        "caches.addressing=virtual: write vivt, vipt or pipt",
    ),
    (
        "L2.partition=server:1f",
        "mogul-2a[L2.partition=server:1f]: level \"L2\": partition has 1f for \"server\", not a capacity bitmask of 1 \
         ways: 1 to 1; one bit is one way, as in resctrl's schemata",
    ),
    (
        "L1D.size=4KiB,4096",
        "L1D.size=4096 is given twice; remove one",
    ),
    (
        "L1I+L1D.size=4KiB;L1D.size=8KiB",
        "L1D.size is given twice; remove one",
    ),
    ("L1D+L1D.size=4KiB", "L1D.size is given twice; remove one"),
    (
        "L2.index=physical;caches.addressing=vipt",
        "L2.index is given twice; remove one",
    ),
    (
        "L1D.size=4KiB,8KiB;L1D.ways=1,3",
        "mogul-2a[L1D.size=4KiB,L1D.ways=3]: level \"L1D\": size is 4 KiB, not a multiple of line x ways (16 B x 3 = 48 \
         B); change size, line or ways",
    ),
];

#[test]
fn refuses_what_cannot_be_varied_and_says_why() {
    for (axes, message) in REFUSED {
        assert_eq!(refusal(&base(), axes), *message);
    }
    for axis in [
        "",
        "L1D",
        "L1D.size",
        "size=4KiB",
        ".size=4KiB",
        "L1D.=4KiB",
        "L1D.size=",
    ] {
        let message = format!(
            "'{axis}' is not of the form LEVEL.FIELD=VALUE,VALUE...; write L1D.size=4KiB,8KiB or L1I+L1D.ways=1,2,4"
        );
        assert_eq!(refusal(&base(), axis), message);
    }
    assert_eq!(
        refusal(&shipped("li2007-xeon"), "L1D+DTLB.size=4KiB"),
        "L1D+DTLB.size=4KiB: unknown field `size`, expected one of `name`, `holds`, `entries`, `ways`, `page`, \
         `replacement`, `seed`, `hit_cycles`, `miss_cycles`, `walk_cycles`, `on_switch`"
    );
}

#[test]
fn refuses_a_part_and_one_of_its_fields() {
    let base = varied(&base(), "L1D.streams=4:8:3").expect("one").remove(0);
    assert_eq!(
        refusal(&base, "L1D.streams=none;L1D.streams.depth=2"),
        "L1D.streams.depth is given twice; remove one"
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
        format!(
            "L1D.miss_cycles={};L2.miss_cycles={}",
            values(first),
            values(second)
        )
    };
    assert_eq!(
        varied(&base(), &axes(64, 64)).map(|designs| designs.len()),
        Ok(4096)
    );
    assert_eq!(
        refusal(&base(), &axes(64, 65)),
        "64 x 65 designs are too many (at most 4096); give fewer values"
    );
}

proptest::proptest! {
    #[test]
    fn any_axis_is_read_or_refused(axis in ".*|L1D\\.[a-z_]{1,12}=[0-9a-zA-Z,.]{0,20}") {
        let _ = vary(&base(), &[axis]);
    }
}
