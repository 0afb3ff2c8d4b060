use switchcost_design::{
    AddressKind, OnSwitch, Partition, Prefetch, StreamBuffers, Streamer, VictimCache, WriteBuffers,
    WritePolicy, read_design, vary,
};

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
    assert_eq!(
        swept(&varied(&both(), "L2.size=64KiB,128KiB")),
        Some((vec![2], Position::Last))
    );
    assert_eq!(
        swept(&varied(&both(), "L2.ways=1,2,4")),
        Some((vec![2], Position::Last))
    );
    assert_eq!(
        swept(&varied(&both(), "L2.miss_cycles=10,30")),
        Some((vec![2], Position::Last))
    );
    assert_eq!(
        swept(&varied(&both(), "L1D.size=4KiB,8KiB")),
        None,
        "other requests to the L2"
    );
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

/// Changes the last level of a design, and returns whether its sizes can still be swept together.
fn is_swept_with(base: Design, change: impl Fn(&mut Level)) -> bool {
    let mut base = base;
    let last = base.levels.len() - 1;
    change(&mut base.levels[last]);
    let name = base.levels[last].name.clone();
    swept(&varied(&base, &format!("{name}.size=64KiB,128KiB"))).is_some()
}

#[test]
fn only_levels_with_one_order_for_all_sizes_are_swept() {
    assert!(is_swept_with(both(), |_| {}));
    assert!(is_swept_with(both(), |level| level.on_switch = OnSwitch::Flush));
    assert!(is_swept_with(both(), |level| (level.index, level.tag) =
        (AddressKind::Physical, AddressKind::Physical)));
    assert!(is_swept_with(both(), |level| (
        level.write,
        level.write_allocate
    ) =
        (WritePolicy::Through, Some(true))));
    assert!(
        !is_swept_with(both(), |level| level.write_allocate = Some(false)),
        "stores that do not allocate"
    );
    assert!(
        !is_swept_with(both(), |level| level.write = WritePolicy::Through),
        "they do not allocate either"
    );
    assert!(
        !is_swept_with(both(), |level| level.tag = AddressKind::Physical),
        "one line in several sets"
    );
    assert!(!is_swept_with(both(), |level| level.replacement = Replacement::Fifo));
    assert!(!is_swept_with(both(), |level| level.inclusion = Inclusion::Inclusive));
    assert!(!is_swept_with(both(), |level| level.streamer =
        Some(Streamer {
            entries: 8,
            degree: 2,
            distance: 8
        })));
    let partition: Partition = "server:1".parse().expect("a partition");
    assert!(!is_swept_with(both(), |level| level.partition = Some(partition.clone())));
    assert!(!is_swept_with(both(), |level| level.prefetch = Prefetch::NextLine));
    assert!(!is_swept_with(both(), |level| level.victim =
        Some(VictimCache {
            lines: 4,
            hit_cycles: 1
        })));
    assert!(
        !is_swept_with(both(), |level| level.ways = Ways::Full),
        "2048 ways"
    );
    let mut sets = both();
    sets.levels[2].ways = Ways::Count(3);
    assert_eq!(
        swept(&varied(&sets, "L2.size=48KiB,60KiB")),
        None,
        "512 and 640 sets"
    );
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
    let is_swept_with = |change: fn(&mut Design)| {
        let mut design = three();
        change(&mut design);
        swept(&varied(&design, "L2.size=64KiB,128KiB")).is_some()
    };
    assert!(is_swept_with(
        |design| design.levels[2].on_switch = OnSwitch::Flush
    ));
    assert!(is_swept_with(
        |design| design.levels[3].inclusion = Inclusion::Exclusive
    ));
    assert!(!is_swept_with(
        |design| design.levels[3].inclusion = Inclusion::Inclusive
    ));
    assert!(
        !is_swept_with(|design| design.levels[3].bus_cycles = 4),
        "time"
    );
    assert!(!is_swept_with(
        |design| design.levels[2].replacement = Replacement::Srrip
    ));
    assert!(!is_swept_with(
        |design| design.levels[2].write = WritePolicy::Through
    ));
    assert!(!is_swept_with(|design| {
        (design.levels[3].index, design.levels[3].tag) =
            (AddressKind::Physical, AddressKind::Physical);
    }));
    assert!(
        !is_swept_with(|design| design.levels[3].holds = Holds::Data),
        "fetches end before it"
    );
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
