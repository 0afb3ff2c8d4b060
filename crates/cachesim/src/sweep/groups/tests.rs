use switchcost_design::{StreamBuffers, WriteBuffers, WritePolicy, read_design, vary};

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

fn first() -> Design {
    read_design(FIRST, "first").expect("a design")
}

fn both() -> Design {
    read_design(&format!("{FIRST}{SECOND}"), "both").expect("a design")
}

fn varied(base: &Design, axis: &str) -> Vec<Design> {
    vary(base, &[axis]).expect("they can be built")
}

/// Returns the levels in which these designs are swept together, if they are.
fn swept(designs: &[Design]) -> Option<(Vec<usize>, Position)> {
    let groups = groups(designs, designs.len());
    groups
        .first()
        .map(|group| (group.levels.clone(), group.position))
}

#[test]
fn first_levels_are_simulated_one_by_one() {
    assert_eq!(swept(&varied(&first(), "L1D.size=4KiB,8KiB")), None);
}

#[test]
fn last_levels_go_together_behind_the_same_first_ones() {
    for axis in [
        "L2.size=64KiB,128KiB",
        "L2.ways=1,2,4",
        "L2.miss_cycles=10,30",
    ] {
        let found = swept(&varied(&both(), axis));
        assert_eq!(found, Some((vec![2], Position::Last)), "{axis}");
    }
    let first = varied(&both(), "L1D.size=4KiB,8KiB");
    assert_eq!(swept(&first), None, "other requests to the L2");
}

#[test]
fn what_differs_in_more_does_not_go_together() {
    assert_eq!(swept(&varied(&both(), "L2.line=32B,64B")), None);
    assert_eq!(swept(&varied(&both(), "L2.replacement=lru,fifo")), None);
    let designs = [
        varied(&both(), "L2.size=64KiB,128KiB"),
        varied(&three(), "L2.size=64KiB,128KiB"),
    ]
    .concat();
    assert_eq!(groups(&designs, 2).len(), 2);
    assert_eq!(groups(&designs, 3).len(), 0);
}

/// Asserts for each of these lines in the table of the L2, before what follows, whether its sizes
/// are still swept together.
fn assert_swept(behind: &str, cases: &[(&str, bool)]) {
    for (lines, is_swept) in cases {
        let text = format!("{FIRST}{SECOND}{lines}\n{behind}");
        let design = read_design(&text, "changed").expect("a design");
        let found = swept(&varied(&design, "L2.size=64KiB,128KiB"));
        assert_eq!(found.is_some(), *is_swept, "{lines}");
    }
}

#[test]
fn only_levels_with_one_order_for_all_sizes_are_swept() {
    assert_swept(
        "",
        &[
            ("", true),
            ("on_switch = 'flush'", true),
            ("index = 'physical'\ntag = 'physical'", true),
            ("write = 'through'\nwrite_allocate = true", true),
            ("write_allocate = false", false),
            // Stores through do not allocate either.
            ("write = 'through'", false),
            // One line may be in several sets.
            ("tag = 'physical'", false),
            ("replacement = 'fifo'", false),
            ("inclusion = 'inclusive'", false),
            (
                "streamer = { entries = 8, degree = 2, distance = 8 }",
                false,
            ),
            ("partition = { server = '1' }", false),
            ("prefetch = 'next-line'", false),
            ("victim = { lines = 4, hit_cycles = 1 }", false),
        ],
    );
    for (ways, sizes) in [
        (Ways::Full, "64KiB,128KiB"),
        (Ways::Count(3), "48KiB,60KiB"),
    ] {
        let mut base = both();
        base.levels[2].ways = ways;
        // 2048 ways are too many, and 512 sets are not a part of 640.
        let found = swept(&varied(&base, &format!("L2.size={sizes}")));
        assert_eq!(found, None, "{ways:?}");
    }
}

#[test]
fn write_buffers_anywhere_are_simulated_one_by_one() {
    let mut design = both();
    let first = &mut design.levels[1];
    first.write = WritePolicy::Through;
    assert!(swept(&varied(&design, "L2.size=64KiB,128KiB")).is_some());
    design.levels[1].write_buffers = Some(WriteBuffers {
        count: 2,
        drain_cycles: 5,
    });
    assert!(swept(&varied(&design, "L2.size=64KiB,128KiB")).is_none());
}

#[test]
fn timed_designs_are_simulated_one_by_one() {
    let streams = StreamBuffers {
        allocate_after: 2,
        ..StreamBuffers::default()
    };
    let mut design = both();
    design.levels[1].streams = Some(streams);
    assert!(swept(&varied(&design, "L2.size=64KiB,128KiB")).is_some());
    design.levels[1].streams = Some(StreamBuffers {
        timed: true,
        ..streams
    });
    assert!(swept(&varied(&design, "L2.size=64KiB,128KiB")).is_none());
    for level in [1, 2] {
        let mut design = both();
        design.levels[level].bus_cycles = 40;
        assert!(swept(&varied(&design, "L2.size=64KiB,128KiB")).is_none());
    }
}

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

fn three() -> Design {
    read_design(&format!("{FIRST}{SECOND}{THIRD}"), "three").expect("a design")
}

#[test]
fn a_level_between_others_is_swept_whatever_lies_behind_it() {
    let between = Some((vec![2], Position::Between));
    assert_eq!(swept(&varied(&three(), "L2.size=64KiB,128KiB")), between);
    let both = vary(
        &three(),
        &[
            "L2.size=64KiB,128KiB",
            "L3.size=256KiB,512KiB",
            "L3.replacement=lru,fifo",
        ],
    );
    assert_eq!(swept(&both.expect("they can be built")), between);
    assert_eq!(
        swept(&varied(&three(), "L3.size=256KiB,512KiB")),
        None,
        "not LRU"
    );
    assert_eq!(
        swept(&varied(&three(), "L3.replacement=lru,fifo")),
        None,
        "nothing to sweep"
    );
    let many = varied(
        &three(),
        &format!(
            "L2.miss_cycles={}",
            (0..129)
                .map(|n| n.to_string())
                .collect::<Vec<_>>()
                .join(",")
        ),
    );
    assert!(groups(&many, 2).is_empty(), "nothing to sweep");
}

#[test]
fn what_lies_behind_must_change_nothing_before_it() {
    assert_swept(
        THIRD,
        &[
            ("on_switch = 'flush'", true),
            ("replacement = 'srrip'", false),
            ("write = 'through'", false),
        ],
    );
    for (behind, is_swept) in [
        ("inclusion = 'exclusive'", true),
        ("inclusion = 'inclusive'", false),
        // Time.
        ("bus_cycles = 4", false),
        ("index = 'physical'\ntag = 'physical'", false),
    ] {
        assert_swept(&format!("{THIRD}{behind}"), &[("", is_swept)]);
    }
    // Fetches end before it.
    assert_swept(&THIRD.replace("both", "data"), &[("", false)]);
}

#[test]
fn so_many_members_as_can_be_distinguished_go_together() {
    let sizes: Vec<String> = (1..=4).map(|power| format!("{}KiB", 32 << power)).collect();
    let cycles: Vec<String> = (0..40).map(|cycles| cycles.to_string()).collect();
    let axes = [
        format!("L2.size={}", sizes.join(",")),
        format!("L2.hit_cycles={}", cycles.join(",")),
    ];
    let found = groups(&vary(&three(), &axes).expect("they can be built"), 6);
    let counts: Vec<usize> = found.iter().map(|group| group.members.len()).collect();
    assert_eq!(counts, [128, 32]);
}
