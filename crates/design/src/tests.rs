use toml::{Table, Value};

use super::*;

/// A valid design: a split first level, a second level of 256 KiB, two data TLBs.
const SOUND: &str = r#"
schema = "switchcost.design/1"
name = "sound"
cycle_ns = [0.5, 1.0]
level = [
    { name = "L1I", holds = "instructions", size = "32KiB", line = 64, ways = 8, miss_cycles = 10 },
    { name = "L1D", holds = "data", size = "32KiB", line = 64, ways = 8, miss_cycles = 10 },
    { name = "L2", holds = "both", size = "256KiB", line = 64, ways = 8, miss_cycles = 10 },
]
tlb = [
    { name = "DTLB", holds = "data", entries = 64, ways = 4, page = "4KiB", miss_cycles = 20 },
    { name = "STLB", holds = "data", entries = 512, ways = 4, page = "4KiB", miss_cycles = 20 },
]
"#;

/// Returns the valid design after changes in TOML: of fields of the design, or of a level or TLB by
/// its name.
fn changed(changes: &str) -> Design {
    let mut design: Table = SOUND.parse().expect("TOML");
    for (name, change) in changes.parse::<Table>().expect("TOML") {
        let parts = design
            .iter_mut()
            .filter(|(key, _)| *key == "level" || *key == "tlb");
        let parts = parts.flat_map(|(_, parts)| parts.as_array_mut().expect("parts"));
        let named = parts
            .filter_map(Value::as_table_mut)
            .find(|part| part["name"].as_str() == Some(name.as_str()));
        if let Some(part) = named {
            part.extend(change.as_table().expect("fields").clone());
        } else {
            design.insert(name, change);
        }
    }
    design.try_into().expect("a design")
}

fn assert_refused(design: &Design, text: &str) {
    let refusal = design.check().map_err(|error| error.to_string());
    assert_eq!(refusal, Err(text.to_owned()));
}

#[test]
fn accepts_what_could_be_built() {
    for changes in [
        "",
        "L1D.ways = 'full'",
        "L1D = { size = '48KiB', ways = 12 }",
        "L2.size = '768KiB'",
        "L2.line = 128",
        "L1I.line = 32",
        "L2.inclusion = 'inclusive'",
        "L2.inclusion = 'exclusive'",
        "L1D.replacement = 'tree-plru'",
        "L2.replacement = 'drrip'",
        "L2.replacement = 'ship'",
        "L1D = { write = 'through', write_buffers = { count = 4, drain_cycles = 5 } }",
        "L1D = { prefetch = 'next-line', victim = { lines = 4, hit_cycles = 1 } }",
        "L1D.streams = { count = 4, depth = 4, hit_cycles = 1 }",
        "L1D = { streams = { count = 4, depth = 4, hit_cycles = 1, allocate_after = 2, timed = true }, bus_cycles = 40 }",
        "L1D.stride = { entries = 64, degree = 2, distance = 4 }",
        "L2.streamer = { entries = 32, degree = 2, distance = 20 }",
        "L2.partition = { server = 'f0', 'process:3' = '80', default = 'f' }",
        "L2 = { ways = 64, partition = { server = 'ffffffffffffffff' } }",
        "pages = { size = '4KiB' }\nL2 = { index = 'physical', tag = 'physical' }",
    ] {
        assert_eq!(changed(changes).check(), Ok(()), "{changes}");
    }
}

/// Changes of the valid design, each with the error.
const REFUSED: &[(&str, &str)] = &[
    // The head.
    (
        "schema = 'switchcost.design/2'",
        r#"design "sound": schema is "switchcost.design/2", not "switchcost.design/1"; this version reads no other schema"#,
    ),
    (
        r#"name = "a\u001b[2J""#,
        r#"design "a\u{1b}[2J": name is "a\u{1b}[2J", not 1 to 256 bytes without control characters; choose a short name"#,
    ),
    (
        "name = ''",
        r#"design "": name is "", not 1 to 256 bytes without control characters; choose a short name"#,
    ),
    (
        r#"title = "a\u0007""#,
        r#"design "sound": title is "a\u{7}", which is longer than 4096 bytes or has control characters; shorten it, and use only line ends and tabs as control characters"#,
    ),
    (
        "cycle_ns = [2.0, 1.0]",
        r#"design "sound": cycle_ns is [2, 1], not two times above 0 and up to 1000000, the shorter first; write a single time twice"#,
    ),
    (
        "cycle_ns = [0.0, 1.0]",
        r#"design "sound": cycle_ns is [0, 1], not two times above 0 and up to 1000000, the shorter first; write a single time twice"#,
    ),
    (
        "cycle_ns = [nan, 1.0]",
        r#"design "sound": cycle_ns is [NaN, 1], not two times above 0 and up to 1000000, the shorter first; write a single time twice"#,
    ),
    (
        "cycle_ns = [1.0, 1e7]",
        r#"design "sound": cycle_ns is [1, 10000000], not two times above 0 and up to 1000000, the shorter first; write a single time twice"#,
    ),
    // Levels and their names.
    (
        "level = []",
        r#"design "sound": no level holds instructions; add a [[level]] with holds = "instructions" or "both""#,
    ),
    (
        "L1D.holds = 'instructions'\nL2.holds = 'instructions'",
        r#"design "sound": no level holds data; add a [[level]] with holds = "data" or "both""#,
    ),
    (
        "L1D.name = 'L1I'",
        r#"level "L1I": this name is used twice; give each level and TLB its own name"#,
    ),
    (
        "DTLB.name = 'L2'",
        r#"tlb "L2": this name is used twice; give each level and TLB its own name"#,
    ),
    (
        r#"L1D.name = "a\nb""#,
        r#"level "a\nb": name is "a\nb", not 1 to 64 ASCII letters, digits, - and _; choose a name such as L1D"#,
    ),
    // Sizes.
    (
        "L1D.size = 100500",
        r#"level "L1D": size is 100500 B, not a multiple of line x ways (64 B x 8 = 512 B); change size, line or ways"#,
    ),
    (
        "L1D = { size = 100, ways = 'full' }",
        r#"level "L1D": size is 100 B, not a multiple of line x ways (64 B x 1 = 64 B); change size, line or ways"#,
    ),
    (
        "L1D = { size = '4KiB', ways = 128 }",
        r#"level "L1D": size is 4 KiB, not a multiple of line x ways (64 B x 128 = 8 KiB); change size, line or ways"#,
    ),
    (
        "L1D.size = 0",
        r#"level "L1D": size is 0 B, not above 0 and up to 4 GiB; give the capacity of one cache"#,
    ),
    (
        "L2.size = 4294967808",
        r#"level "L2": size is 4294967808 B, not above 0 and up to 4 GiB; give the capacity of one cache"#,
    ),
    (
        "L1D.line = 0",
        r#"level "L1D": line is 0 B, not a power of two from 4 B to 4 KiB; 64 B is common"#,
    ),
    (
        "L1D.line = 2",
        r#"level "L1D": line is 2 B, not a power of two from 4 B to 4 KiB; 64 B is common"#,
    ),
    (
        "L1D.line = 48",
        r#"level "L1D": line is 48 B, not a power of two from 4 B to 4 KiB; 64 B is common"#,
    ),
    (
        "L1D.line = 8192",
        r#"level "L1D": line is 8 KiB, not a power of two from 4 B to 4 KiB; 64 B is common"#,
    ),
    (
        "L1D.ways = 0",
        r#"level "L1D": ways is 0; set it to 1 (direct-mapped) or more, or to "full""#,
    ),
    (
        "L2.size = 4294967296",
        r#"design "sound": all levels and TLBs have 67110464 lines and entries, more than 67108864; use smaller sizes or longer lines, so that the simulation fits into memory"#,
    ),
    // Replacement.
    (
        "L1D = { size = '48KiB', ways = 12, replacement = 'tree-plru' }",
        r#"level "L1D": replacement is tree-plru, but ways (12) is not a power of two; change ways, or use lru"#,
    ),
    (
        "DTLB = { entries = 72, ways = 'full', replacement = 'tree-plru' }",
        r#"tlb "DTLB": replacement is tree-plru, but ways (72) is not a power of two; change ways, or use lru"#,
    ),
    (
        "L2 = { ways = 'full', replacement = 'drrip' }",
        r#"level "L2": replacement is drrip, which needs two sets or more, but there is one set; use srrip, or fewer ways"#,
    ),
    // Cycles.
    (
        "STLB.hit_cycles = 1000001",
        r#"tlb "STLB": hit_cycles is 1000001, more than 1000000; choose a smaller number"#,
    ),
    (
        "STLB.miss_cycles = 1000001",
        r#"tlb "STLB": miss_cycles is 1000001, more than 1000000; choose a smaller number"#,
    ),
    (
        "L1D.victim = { lines = 4, hit_cycles = 1000001 }",
        r#"level "L1D": victim.hit_cycles is 1000001, more than 1000000; choose a smaller number"#,
    ),
    (
        "L1D.streams = { count = 4, depth = 4, hit_cycles = 1000001 }",
        r#"level "L1D": streams.hit_cycles is 1000001, more than 1000000; choose a smaller number"#,
    ),
    (
        "L1D = { write = 'through', write_buffers = { count = 4, drain_cycles = 1000001 } }",
        r#"level "L1D": write_buffers.drain_cycles is 1000001, more than 1000000; choose a smaller number"#,
    ),
    // Writes.
    (
        "L1D.write_buffers = { count = 4, drain_cycles = 5 }",
        r#"level "L1D": write_buffers is set, but the level is write-back; set write = "through", or leave write_buffers out"#,
    ),
    (
        "L1D = { write = 'through', write_buffers = { count = 0, drain_cycles = 5 } }",
        r#"level "L1D": write_buffers.count is 0, not 1 to 65536; leave write_buffers out if stores never wait"#,
    ),
    (
        "L1I.write = 'through'",
        r#"level "L1I": write is set, but the level holds only instructions; leave it out"#,
    ),
    (
        "L1I.write_allocate = true",
        r#"level "L1I": write_allocate is set, but the level holds only instructions; leave it out"#,
    ),
    (
        "L1I.write_buffers = { count = 4, drain_cycles = 5 }",
        r#"level "L1I": write_buffers is set, but the level holds only instructions; leave it out"#,
    ),
    // What stands beside a cache.
    (
        "L1D.victim = { lines = 0, hit_cycles = 1 }",
        r#"level "L1D": victim.lines is 0, not 1 to 65536; leave victim out if there is none"#,
    ),
    (
        "L1D.streams = { count = 0, depth = 4, hit_cycles = 1 }",
        r#"level "L1D": streams.count is 0; leave streams out if there are none"#,
    ),
    (
        "L1D.streams = { count = 4, depth = 0, hit_cycles = 1 }",
        r#"level "L1D": streams.depth is 0; leave streams out if there are none"#,
    ),
    (
        "L1D.streams = { count = 4294967295, depth = 4294967295, hit_cycles = 1 }",
        r#"level "L1D": streams has 18446744065119617025 lines (count x depth), more than 65536; use fewer or shorter streams"#,
    ),
    (
        "L1D.streams = { count = 4, depth = 4, hit_cycles = 1, allocate_after = 0 }",
        r#"level "L1D": streams.allocate_after is 0, not 1 to 1024; leave it out if every miss begins a stream"#,
    ),
    (
        "L1D.streams = { count = 4, depth = 4, hit_cycles = 1, allocate_after = 1025 }",
        r#"level "L1D": streams.allocate_after is 1025, not 1 to 1024; leave it out if every miss begins a stream"#,
    ),
    (
        "L1D.stride = { entries = 0, degree = 2, distance = 4 }",
        r#"level "L1D": stride.entries is 0, not 1 to 65536; leave stride out if there is none"#,
    ),
    (
        "L1D.stride = { entries = 64, degree = 2, distance = 1025 }",
        r#"level "L1D": stride.distance is 1025, not 1 to 1024; leave stride out if there is none"#,
    ),
    (
        "L2.streamer = { entries = 32, degree = 65, distance = 20 }",
        r#"level "L2": streamer.degree is 65, not 1 to 64; leave streamer out if there is none"#,
    ),
    (
        "L1I.stride = { entries = 64, degree = 2, distance = 4 }",
        r#"level "L1I": stride is set, but the level holds only instructions; leave it out: strides are those of loads and stores"#,
    ),
    // Partitions.
    (
        "L2.partition = { server = '1f0' }",
        r#"level "L2": partition has 1f0 for "server", not a capacity bitmask of 8 ways: 1 to ff; one bit is one way, as in resctrl's schemata"#,
    ),
    (
        "L2.partition = { default = '0' }",
        r#"level "L2": partition has 0 for "default", not a capacity bitmask of 8 ways: 1 to ff; one bit is one way, as in resctrl's schemata"#,
    ),
    (
        "L2.partition = { 'process:03' = '1' }",
        r#"level "L2": partition has "process:03", which is no name of a program, process:NUMBER or default; trace info shows names and numbers"#,
    ),
    (
        "L2.partition = {}",
        r#"level "L2": partition has 0 capacity bitmasks, not 1 to 64; leave partition out if all programs may fill all ways"#,
    ),
    (
        "L2 = { ways = 'full', partition = { server = '1' } }",
        r#"level "L2": partition is set on 4096 ways, more than 64; use fewer ways, or leave partition out"#,
    ),
    // Paths.
    (
        "L2.line = 32",
        r#"level "L2": line is 32 B, less than the 64 B of level "L1I" before it; lengthen this line, or shorten that one"#,
    ),
    (
        "L2 = { size = '16KiB', inclusion = 'inclusive' }",
        r#"level "L2": size is 16 KiB, less than the 32 KiB of level "L1I", which an inclusive level includes; enlarge it, or set inclusion = "neither""#,
    ),
    (
        "L1D.inclusion = 'inclusive'",
        r#"level "L1D": inclusion is inclusive, but no level is before it; leave inclusion out"#,
    ),
    (
        "L1I.inclusion = 'exclusive'",
        r#"level "L1I": inclusion is exclusive, but no level is before it; leave inclusion out"#,
    ),
    (
        "L2 = { line = 128, inclusion = 'exclusive' }",
        r#"level "L2": line is 128 B, not the 64 B of level "L1I", whose lines an exclusive level takes; use one line size, or set inclusion = "neither""#,
    ),
    (
        "L2.inclusion = 'exclusive'\nL1I.streams = { count = 4, depth = 4, hit_cycles = 1 }",
        r#"level "L2": inclusion is exclusive, but level "L1I" before it has stream buffers; leave streams out there, or set inclusion = "neither" here"#,
    ),
    (
        "L2.inclusion = 'exclusive'\nL1D.streams = { count = 4, depth = 4, hit_cycles = 1 }",
        r#"level "L2": inclusion is exclusive, but level "L1D" before it has stream buffers; leave streams out there, or set inclusion = "neither" here"#,
    ),
    (
        "L2.inclusion = 'exclusive'\nL1D.write = 'through'",
        r#"level "L2": inclusion is exclusive, but level "L1D" before it is write-through; set write = "back" there, or inclusion = "neither" here"#,
    ),
    (
        "L2.inclusion = 'exclusive'\nL1D.write_allocate = false",
        r#"level "L2": inclusion is exclusive, but level "L1D" before it allocates no lines on writes; leave write_allocate out there, or set inclusion = "neither" here"#,
    ),
    (
        "L2 = { index = 'physical', tag = 'physical', inclusion = 'inclusive' }\npages = { size = '4KiB' }",
        r#"level "L2": inclusion is inclusive and tags are physical, but level "L1I" before it has virtual tags; set the same tag on both, or inclusion = "neither""#,
    ),
    // Exclusive levels.
    (
        "L2 = { inclusion = 'exclusive', write = 'through' }",
        r#"level "L2": an exclusive level cannot have write = "through"; leave it out, or set inclusion = "neither""#,
    ),
    (
        "L2 = { inclusion = 'exclusive', write_allocate = false }",
        r#"level "L2": an exclusive level cannot have write_allocate = false; leave it out, or set inclusion = "neither""#,
    ),
    (
        "L2 = { inclusion = 'exclusive', prefetch = 'next-line' }",
        r#"level "L2": an exclusive level cannot have prefetch = "next-line"; leave it out, or set inclusion = "neither""#,
    ),
    (
        "L2 = { inclusion = 'exclusive', streamer = { entries = 32, degree = 2, distance = 20 } }",
        r#"level "L2": an exclusive level cannot have streamer; leave it out, or set inclusion = "neither""#,
    ),
    (
        "L2 = { inclusion = 'exclusive', replacement = 'ship' }",
        r#"level "L2": an exclusive level cannot have replacement = "ship"; leave it out, or set inclusion = "neither""#,
    ),
    (
        "L2 = { inclusion = 'exclusive', victim = { lines = 4, hit_cycles = 1 } }",
        r#"level "L2": an exclusive level cannot have victim; leave it out, or set inclusion = "neither""#,
    ),
    (
        "L2 = { inclusion = 'exclusive', streams = { count = 4, depth = 4, hit_cycles = 1 } }",
        r#"level "L2": an exclusive level cannot have streams; leave it out, or set inclusion = "neither""#,
    ),
    // Addresses.
    (
        "L1D.index = 'physical'",
        r#"level "L1D": tag is virtual, but the index is physical; set tag = "physical", or index = "virtual""#,
    ),
    (
        "L2 = { index = 'physical', tag = 'physical' }",
        r#"design "sound": pages is missing, but level "L2" has physical addresses; add pages = { size = "4KiB" }"#,
    ),
    (
        "L1D.tag = 'physical'\npages = { size = '4KiB' }",
        r#"level "L2": index is virtual, but level "L1D" before it has physical tags; set index = "physical""#,
    ),
    (
        "L1D.tag = 'physical'\nL2.tag = 'physical'\npages = { size = '4KiB' }",
        r#"level "L2": index is virtual, but level "L1D" before it has physical tags; set index = "physical""#,
    ),
    (
        "pages = { size = 0 }",
        r#"design "sound": pages.size is 0 B, not a power of two from 4 KiB to 1 GiB; 4 KiB is common"#,
    ),
    (
        "pages = { size = 5000 }",
        r#"design "sound": pages.size is 5000 B, not a power of two from 4 KiB to 1 GiB; 4 KiB is common"#,
    ),
    (
        "pages = { size = '2KiB' }",
        r#"design "sound": pages.size is 2 KiB, not a power of two from 4 KiB to 1 GiB; 4 KiB is common"#,
    ),
    (
        "pages = { size = '2GiB' }",
        r#"design "sound": pages.size is 2 GiB, not a power of two from 4 KiB to 1 GiB; 4 KiB is common"#,
    ),
    // TLBs.
    (
        "DTLB.entries = 0",
        r#"tlb "DTLB": entries is 0; leave the tlb out if there is none"#,
    ),
    (
        "DTLB.entries = 66",
        r#"tlb "DTLB": entries is 66, not a multiple of ways (4); change entries or ways"#,
    ),
    (
        "DTLB.ways = 0",
        r#"tlb "DTLB": ways is 0; set it to 1 (direct-mapped) or more, or to "full""#,
    ),
    (
        "DTLB.page = 5000",
        r#"tlb "DTLB": page is 5000 B, not a power of two from 4 KiB to 1 GiB; 4 KiB is common"#,
    ),
    (
        "DTLB.page = '2MiB'",
        r#"tlb "STLB": page is 4 KiB, less than the 2 MiB of tlb "DTLB" before it; use one page size"#,
    ),
];

#[test]
fn refuses_what_could_not_be_built_and_says_why() {
    for (changes, text) in REFUSED {
        assert_refused(&changed(changes), text);
    }
}

#[test]
fn refuses_what_is_too_long_too_many_or_too_large() {
    let long = "x".repeat(65);
    assert_refused(
        &changed(&format!("STLB.name = '{long}'")),
        &format!(
            "tlb \"{0}\"...: name is \"{0}\"..., not 1 to 64 ASCII letters, digits, - and _; choose a name such as L1D",
            &long[..64]
        ),
    );
    assert_refused(
        &changed(&format!("source = '{}'", "x".repeat(4097))),
        &format!(
            "design \"sound\": source is \"{}\"..., which is longer than 4096 bytes or has control characters; shorten \
             it, and use only line ends and tabs as control characters",
            &long[..64]
        ),
    );
    let mut many = changed("");
    many.levels = vec![many.levels[2].clone(); 65];
    assert_refused(
        &many,
        "design \"sound\": there are 65 levels, more than 64; leave some out",
    );
    let mut many = changed("");
    many.tlbs = vec![many.tlbs[0].clone(); 65];
    assert_refused(
        &many,
        "design \"sound\": there are 65 tlbs, more than 64; leave some out",
    );
    // TOML has no number as large as these seeds.
    let mut seeded = changed("pages = { size = '4KiB' }");
    seeded.levels[1].seed = 1 << 63;
    assert_refused(
        &seeded,
        "level \"L1D\": seed is 9223372036854775808, more than 9223372036854775807; choose a smaller one",
    );
    seeded.levels[1].seed = 0;
    seeded.pages.as_mut().expect("set above").seed = u64::MAX;
    assert_refused(
        &seeded,
        "design \"sound\": pages.seed is 18446744073709551615, more than 9223372036854775807; choose a smaller one",
    );
}

#[test]
fn each_number_of_cycles_has_a_bound() {
    let fields = changed("").levels[1].cycles();
    for (field, _) in fields {
        assert_refused(
            &changed(&format!("L1D.{field} = 1000001")),
            &format!(
                r#"level "L1D": {field} is 1000001, more than 1000000; choose a smaller number"#
            ),
        );
    }
}

/// Tests only the form of the written fields. `file::tests` tests that a design is read back
/// unchanged.
#[test]
fn sizes_are_written_with_their_unit_and_defaults_not_at_all() {
    let design = changed(
        "L1D = { ways = 'full', streams = { count = 4, depth = 4, hit_cycles = 1 } }\nL2.size = 100500\npages = { size = 65536 }",
    );
    let value = serde_json::to_value(&design).expect("JSON");
    let [_, data, second] = value["level"].as_array().expect("levels").as_slice() else {
        panic!("three levels")
    };
    assert_eq!(data["size"], "32 KiB");
    assert_eq!(data["ways"], "full");
    assert_eq!(data.get("bus_cycles"), None);
    assert_eq!(
        data["streams"],
        serde_json::json!({"count": 4, "depth": 4, "hit_cycles": 1})
    );
    assert_eq!(second["size"], "100500 B");
    assert_eq!(second["ways"], 8);
    assert_eq!(value["pages"]["size"], "64 KiB");
    assert_eq!(value["pages"].get("order"), None);
}

#[test]
fn names_what_is_no_size_and_no_number_of_ways() {
    let level = &changed("").levels[1];
    for (field, value, error) in [
        (
            "size",
            "-1",
            "invalid value: integer `-1`, expected a size such as \"64KiB\", or a number of bytes",
        ),
        (
            "size",
            "true",
            "invalid type: boolean `true`, expected a size such as \"64KiB\", or a number of bytes",
        ),
        (
            "size",
            "\"64kb\"",
            "'64kb' is not a size; write 512B, 64KiB or 4MiB (1 KiB = 1024 bytes)",
        ),
        (
            "ways",
            "-1",
            "invalid value: integer `-1`, expected a number of ways, or \"full\"",
        ),
        (
            "ways",
            "\"all\"",
            "invalid value: string \"all\", expected a number of ways, or \"full\"",
        ),
        (
            "ways",
            "4294967296",
            "invalid value: integer `4294967296`, expected a number of ways, or \"full\"",
        ),
    ] {
        let mut level = serde_json::to_value(level).expect("JSON");
        level[field] = serde_json::from_str(value).expect("JSON");
        let found = serde_json::from_value::<Level>(level).expect_err("not of that kind");
        assert_eq!(found.to_string(), error);
    }
}
