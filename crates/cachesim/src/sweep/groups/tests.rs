use switchcost_design::{read_design, vary};

use super::*;

const FIRST: &str = r#"
schema = "switchcost.design/1"
name = "first"
pages = { size = "4KiB" }

[[level]]
name = "L1I"
holds = "instructions"
size = "8KiB"
line = "32B"
ways = 2
miss_cycles = 20

[[level]]
name = "L1D"
holds = "data"
size = "8KiB"
line = "32B"
ways = 2
miss_cycles = 20
"#;

const SECOND: &str = r#"
[[level]]
name = "L2"
holds = "both"
size = "64KiB"
line = "32B"
ways = 4
miss_cycles = 100
"#;

const THIRD: &str = r#"
[[level]]
name = "L3"
holds = "both"
size = "256KiB"
line = "32B"
ways = 8
replacement = "srrip"
miss_cycles = 200
"#;

fn two() -> String {
    format!("{FIRST}{SECOND}")
}

fn three() -> String {
    format!("{FIRST}{SECOND}{THIRD}")
}

/// Returns the designs of axes that are separated by semicolons.
fn varied(base: &str, axes: &str) -> Vec<Design> {
    let base = read_design(base, "base").expect("a design");
    vary(&base, &axes.split(';').collect::<Vec<_>>()).expect("they can be built")
}

/// Returns the indices of the levels in which the designs differ, and the position of these levels
/// in the hierarchy; `None` if the designs cannot all be simulated in one pass.
fn swept(designs: &[Design]) -> Option<(Vec<usize>, Position)> {
    let groups = groups(designs, designs.len());
    groups
        .first()
        .map(|group| (group.levels.clone(), group.position))
}

#[test]
fn designs_that_differ_in_one_level_are_swept_in_it() {
    let (last, between) = (Some(Position::Last), Some(Position::Between));
    for (base, axes, position) in [
        // First levels are simulated one by one.
        (FIRST.to_owned(), "L1D.size=4KiB,8KiB", None),
        (two(), "L2.size=64KiB,128KiB", last),
        (two(), "L2.ways=1,2,4", last),
        (two(), "L2.miss_cycles=10,30", last),
        // Other requests to the L2.
        (two(), "L1D.size=4KiB,8KiB", None),
        (two(), "L2.line=32B,64B", None),
        (two(), "L2.replacement=lru,fifo", None),
        // 2048 ways are too many, and 512 sets are not a part of 640.
        (two(), "L2.ways=full;L2.size=64KiB,128KiB", None),
        (two(), "L2.ways=3;L2.size=48KiB,60KiB", None),
        (three(), "L2.size=64KiB,128KiB", between),
        (
            three(),
            "L2.size=64KiB,128KiB;L3.size=256KiB,512KiB;L3.replacement=lru,fifo",
            between,
        ),
        // Not LRU.
        (three(), "L3.size=256KiB,512KiB", None),
        // Nothing to sweep.
        (three(), "L3.replacement=lru,fifo", None),
    ] {
        let expected = position.map(|position| (vec![2], position));
        assert_eq!(swept(&varied(&base, axes)), expected, "{axes}");
    }
    let cycles: Vec<String> = (0..129).map(|cycles| cycles.to_string()).collect();
    let many = varied(&three(), &format!("L2.miss_cycles={}", cycles.join(",")));
    assert!(groups(&many, 2).is_empty(), "nothing to sweep");
    let axis = "L2.size=64KiB,128KiB";
    let designs = [varied(&two(), axis), varied(&three(), axis)].concat();
    assert_eq!(groups(&designs, 2).len(), 2);
    assert_eq!(groups(&designs, 3).len(), 0);
}

#[test]
fn only_levels_with_one_order_and_no_time_are_swept() {
    for (base, level, lines, is_swept) in [
        (two(), "L2", "on_switch = 'flush'", true),
        (two(), "L2", "index = 'physical'\ntag = 'physical'", true),
        (
            two(),
            "L2",
            "write = 'through'\nwrite_allocate = true",
            true,
        ),
        (two(), "L2", "write_allocate = false", false),
        // Stores through do not allocate either.
        (two(), "L2", "write = 'through'", false),
        // One line may be in several sets.
        (two(), "L2", "tag = 'physical'", false),
        (two(), "L2", "replacement = 'fifo'", false),
        (two(), "L2", "inclusion = 'inclusive'", false),
        (
            two(),
            "L2",
            "streamer = { entries = 8, degree = 2, distance = 8 }",
            false,
        ),
        (two(), "L2", "partition = { server = '1' }", false),
        (two(), "L2", "prefetch = 'next-line'", false),
        (two(), "L2", "victim = { lines = 4, hit_cycles = 1 }", false),
        (two(), "L2", "bus_cycles = 40", false),
        (two(), "L1D", "bus_cycles = 40", false),
        (two(), "L1D", "write = 'through'", true),
        (
            two(),
            "L1D",
            "write = 'through'\nwrite_buffers = { count = 2, drain_cycles = 5 }",
            false,
        ),
        (
            two(),
            "L1D",
            "streams = { count = 1, depth = 1, hit_cycles = 0, allocate_after = 2 }",
            true,
        ),
        (
            two(),
            "L1D",
            "streams = { count = 1, depth = 1, hit_cycles = 0, timed = true }",
            false,
        ),
        // What lies after a level must change nothing before it.
        (three(), "L2", "on_switch = 'flush'", true),
        (three(), "L2", "replacement = 'srrip'", false),
        (three(), "L2", "write = 'through'", false),
        (three(), "L3", "inclusion = 'exclusive'", true),
        (three(), "L3", "inclusion = 'inclusive'", false),
        (three(), "L3", "bus_cycles = 4", false),
        (three(), "L3", "index = 'physical'\ntag = 'physical'", false),
    ] {
        let name = format!("name = \"{level}\"\n");
        let base = base.replace(&name, &format!("{name}{lines}\n"));
        let found = swept(&varied(&base, "L2.size=64KiB,128KiB"));
        assert_eq!(found.is_some(), is_swept, "{level}: {lines}");
    }
    // Fetches end before it.
    let of_data = format!("{}{}", two(), THIRD.replace("both", "data"));
    assert_eq!(swept(&varied(&of_data, "L2.size=64KiB,128KiB")), None);
}

#[test]
fn so_many_members_as_can_be_distinguished_go_together() {
    let sizes: Vec<String> = (1..=4).map(|power| format!("{}KiB", 32 << power)).collect();
    let cycles: Vec<String> = (0..40).map(|cycles| cycles.to_string()).collect();
    let axes = format!(
        "L2.size={};L2.hit_cycles={}",
        sizes.join(","),
        cycles.join(",")
    );
    let found = groups(&varied(&three(), &axes), 6);
    let counts: Vec<usize> = found.iter().map(|group| group.members.len()).collect();
    assert_eq!(counts, [128, 32]);
}
