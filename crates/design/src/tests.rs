use super::*;

fn level(name: &str, holds: Holds) -> Level {
    Level::plain(name, holds, Bytes::kib(32), Bytes(64), Ways::Count(8), 10)
}

fn tlb(name: &str) -> TlbLevel {
    TlbLevel {
        name: name.to_owned(),
        holds: Holds::Data,
        entries: 64,
        ways: Ways::Count(4),
        page: Bytes::kib(4),
        replacement: Replacement::Lru,
        seed: 0,
        hit_cycles: 0,
        miss_cycles: 20,
        on_switch: OnSwitch::Keep,
    }
}

/// Creates a valid design: a split first level, a second level of 256 KiB, two data TLBs.
fn sound() -> Design {
    let second = Level {
        size: Bytes::kib(256),
        ..level("L2", Holds::Both)
    };
    Design {
        schema: DESIGN_SCHEMA.to_owned(),
        name: "sound".to_owned(),
        title: String::new(),
        source: String::new(),
        cycle_ns: Some([0.5, 1.0]),
        levels: vec![
            level("L1I", Holds::Instructions),
            level("L1D", Holds::Data),
            second,
        ],
        tlbs: vec![
            tlb("DTLB"),
            TlbLevel {
                entries: 512,
                ..tlb("STLB")
            },
        ],
        pages: None,
    }
}

/// Returns the error for the valid design after a change that makes it invalid.
fn refusal(change: impl FnOnce(&mut Design)) -> String {
    let mut design = sound();
    change(&mut design);
    design.check().expect_err("unrealisable").to_string()
}

#[track_caller]
fn refused(change: impl FnOnce(&mut Design), text: &str) {
    assert_eq!(refusal(change), text);
}

fn accepted(change: impl FnOnce(&mut Design)) {
    let mut design = sound();
    change(&mut design);
    assert_eq!(design.check(), Ok(()));
}

#[test]
fn accepts_what_could_be_built() {
    accepted(|_| {});
    accepted(|d| d.levels[1].ways = Ways::Full);
    accepted(|d| (d.levels[1].size, d.levels[1].ways) = (Bytes::kib(48), Ways::Count(12)));
    accepted(|d| d.levels[2].size = Bytes::kib(256 * 3));
    accepted(|d| d.levels[2].line = Bytes(128));
    accepted(|d| d.levels[2].inclusion = Inclusion::Inclusive);
    accepted(|d| d.levels[2].inclusion = Inclusion::Exclusive);
    accepted(|d| d.levels[1].replacement = Replacement::TreePlru);
    accepted(|d| {
        d.levels[1].write = WritePolicy::Through;
        d.levels[1].write_buffers = Some(WriteBuffers {
            count: 4,
            drain_cycles: 5,
        });
    });
    accepted(|d| {
        d.levels[1].prefetch = Prefetch::NextLine;
        d.levels[1].streams = Some(StreamBuffers {
            count: 4,
            depth: 4,
            hit_cycles: 1,
            ..StreamBuffers::default()
        });
        d.levels[1].victim = Some(VictimCache {
            lines: 4,
            hit_cycles: 1,
        });
    });
    accepted(|d| {
        (d.levels[2].index, d.levels[2].tag) = (AddressKind::Physical, AddressKind::Physical);
        d.pages = Some(PageAllocation {
            size: Bytes::kib(4),
            order: PageOrder::Random,
            seed: 1,
        });
    });
}

#[test]
fn refuses_a_wrong_head() {
    refused(
        |d| d.schema = "switchcost.design/2".to_owned(),
        "design \"sound\": schema: found \"switchcost.design/2\", need \"switchcost.design/1\"; this program knows no \
         other version",
    );
    refused(
        |d| d.name = "a\u{1b}[2J".to_owned(),
        "design \"a\\u{1b}[2J\": name: found \"a\\u{1b}[2J\", need 1 to 256 bytes without control characters; choose a \
         short name",
    );
    refused(
        |d| d.name = String::new(),
        "design \"\": name: found \"\", need 1 to 256 bytes without control characters; choose a short name",
    );
    refused(
        |d| d.title = "a\u{7}".to_owned(),
        "design \"sound\": title: found \"a\\u{7}\", need at most 4096 bytes without control characters other than line \
         ends and tabs; shorten it",
    );
    refused(
        |d| d.source = "x".repeat(4097),
        &format!(
            "design \"sound\": source: found \"{}\"..., need at most 4096 bytes without control characters other than \
             line ends and tabs; shorten it",
            "x".repeat(64)
        ),
    );
    for (times, text) in [
        ([2.0, 1.0], "[2, 1]"),
        ([0.0, 1.0], "[0, 1]"),
        ([f64::NAN, 1.0], "[NaN, 1]"),
        ([1.0, 1e7], "[1, 10000000]"),
    ] {
        refused(
            |d| d.cycle_ns = Some(times),
            &format!(
                "design \"sound\": cycle_ns: found {text}, need two times above 0, the shorter first, at most 1000000 \
                 ns; repeat the same time where there is one"
            ),
        );
    }
}

#[test]
fn refuses_levels_that_are_missing_or_too_many() {
    refused(
        |d| d.levels.clear(),
        "design \"sound\": level: found none that holds instructions, need one or more; add a [[level]] with holds = \
         \"instructions\" or \"both\"",
    );
    refused(
        |d| d.levels.truncate(1),
        "design \"sound\": level: found none that holds data, need one or more; add a [[level]] with holds = \"data\" or \
         \"both\"",
    );
    refused(
        |d| {
            d.levels = (0..65)
                .map(|i| level(&format!("L{i}"), Holds::Both))
                .collect()
        },
        "design \"sound\": level: found 65 of them, need at most 64; leave some out",
    );
    refused(
        |d| d.tlbs = (0..65).map(|i| tlb(&format!("T{i}"))).collect(),
        "design \"sound\": tlb: found 65 of them, need at most 64; leave some out",
    );
}

#[test]
fn refuses_names_that_are_not_names() {
    refused(
        |d| d.levels[1].name = "L1I".to_owned(),
        "level \"L1I\": name: found it twice, need one of its own for each level and TLB; rename one of the two",
    );
    refused(
        |d| d.tlbs[0].name = "L2".to_owned(),
        "tlb \"L2\": name: found it twice, need one of its own for each level and TLB; rename one of the two",
    );
    refused(
        |d| d.levels[1].name = "a\nb".to_owned(),
        "level \"a\\nb\": name: found \"a\\nb\", need 1 to 64 letters, digits, - and _ of ASCII; choose a name such as L1D",
    );
    let long = "x".repeat(65);
    refused(
        |d| d.tlbs[1].name = long.clone(),
        &format!(
            "tlb \"{0}\"...: name: found \"{0}\"..., need 1 to 64 letters, digits, - and _ of ASCII; choose a name such \
             as L1D",
            &long[..64]
        ),
    );
}

#[test]
fn refuses_sizes_that_do_not_divide() {
    refused(
        |d| d.levels[1].size = Bytes(100_500),
        "level \"L1D\": size: found 100500 B, need a multiple of line x ways (64 B x 8 = 512 B); change size, line or \
         ways",
    );
    refused(
        |d| (d.levels[1].size, d.levels[1].ways) = (Bytes(100), Ways::Full),
        "level \"L1D\": size: found 100 B, need a multiple of line x ways (64 B x 1 = 64 B); change size, line or ways",
    );
    refused(
        |d| (d.levels[1].size, d.levels[1].ways) = (Bytes::kib(4), Ways::Count(128)),
        "level \"L1D\": size: found 4 KiB, need a multiple of line x ways (64 B x 128 = 8 KiB); change size, line or ways",
    );
    refused(
        |d| d.levels[1].size = Bytes(0),
        "level \"L1D\": size: found 0 B, need more than 0 and at most 4 GiB; give the capacity of one cache",
    );
    refused(
        |d| d.levels[2].size = Bytes((4 << 30) + 512),
        "level \"L2\": size: found 4294967808 B, need more than 0 and at most 4 GiB; give the capacity of one cache",
    );
    for line in [0, 2, 48, 8192] {
        let text = format!(
            "level \"L1D\": line: found {}, need a power of two from 4 B to 4 KiB; 64 B is common",
            Bytes(line)
        );
        refused(|d| d.levels[1].line = Bytes(line), &text);
    }
    refused(
        |d| d.levels[1].ways = Ways::Count(0),
        "level \"L1D\": ways: found 0, need 1 or more, or \"full\"; 1 is direct-mapped",
    );
    refused(
        |d| (d.levels[2].size, d.levels[2].line) = (Bytes(4 << 30), Bytes(64)),
        "design \"sound\": level: found 67110464 lines and entries in all, need at most 67108864, for a simulation that \
         fits into memory; take smaller sizes or longer lines",
    );
}

#[test]
fn refuses_replacement_that_cannot_be() {
    refused(
        |d| {
            d.levels[1].size = Bytes::kib(48);
            (d.levels[1].ways, d.levels[1].replacement) = (Ways::Count(12), Replacement::TreePlru);
        },
        "level \"L1D\": replacement: found tree-plru over 12 ways, need a power of two of ways; change ways, or take lru",
    );
    refused(
        |d| {
            (d.tlbs[0].entries, d.tlbs[0].ways, d.tlbs[0].replacement) =
                (72, Ways::Full, Replacement::TreePlru)
        },
        "tlb \"DTLB\": replacement: found tree-plru over 72 ways, need a power of two of ways; change ways, or take lru",
    );
    refused(
        |d| d.levels[1].seed = 1 << 63,
        "level \"L1D\": seed: found 9223372036854775808, need at most 9223372036854775807; choose a smaller one",
    );
}

#[test]
fn refuses_cycles_beyond_reason() {
    let text = |place: &str, field: &str| {
        format!(
            "{place}: {field}: found 1000001, need at most 1000000; longer waits are no memory system's, and their sums \
             would not fit"
        )
    };
    let l1d = "level \"L1D\"";
    refused(
        |d| d.levels[1].hit_cycles = 1_000_001,
        &text(l1d, "hit_cycles"),
    );
    refused(
        |d| d.levels[1].miss_cycles = 1_000_001,
        &text(l1d, "miss_cycles"),
    );
    refused(
        |d| d.tlbs[1].hit_cycles = 1_000_001,
        &text("tlb \"STLB\"", "hit_cycles"),
    );
    refused(
        |d| d.tlbs[1].miss_cycles = 1_000_001,
        &text("tlb \"STLB\"", "miss_cycles"),
    );
    refused(
        |d| {
            d.levels[1].victim = Some(VictimCache {
                lines: 4,
                hit_cycles: 1_000_001,
            })
        },
        &text(l1d, "victim.hit_cycles"),
    );
    refused(
        |d| {
            d.levels[1].streams = Some(StreamBuffers {
                count: 4,
                depth: 4,
                hit_cycles: 1_000_001,
                ..StreamBuffers::default()
            })
        },
        &text(l1d, "streams.hit_cycles"),
    );
    refused(
        |d| d.levels[1].bus_cycles = 1_000_001,
        &text(l1d, "bus_cycles"),
    );
    refused(
        |d| {
            d.levels[1].write = WritePolicy::Through;
            d.levels[1].write_buffers = Some(WriteBuffers {
                count: 4,
                drain_cycles: 1_000_001,
            });
        },
        &text(l1d, "write_buffers.drain_cycles"),
    );
}

#[test]
fn refuses_writes_that_cannot_be() {
    refused(
        |d| {
            d.levels[1].write_buffers = Some(WriteBuffers {
                count: 4,
                drain_cycles: 5,
            })
        },
        "level \"L1D\": write_buffers: found buffers on a write-back level, need a write-through level; set write = \
         \"through\", or leave write_buffers out",
    );
    refused(
        |d| {
            d.levels[1].write = WritePolicy::Through;
            d.levels[1].write_buffers = Some(WriteBuffers {
                count: 0,
                drain_cycles: 5,
            });
        },
        "level \"L1D\": write_buffers.count: found 0, need 1 to 65536; leave write_buffers out where a store never waits",
    );
    let text = |field: &str| {
        format!(
            "level \"L1I\": {field}: found it on a level for instructions only, need a level that holds data; leave it \
             out: nothing is stored here"
        )
    };
    refused(|d| d.levels[0].write = WritePolicy::Through, &text("write"));
    refused(
        |d| d.levels[0].write_allocate = Some(true),
        &text("write_allocate"),
    );
    refused(
        |d| {
            d.levels[0].write_buffers = Some(WriteBuffers {
                count: 4,
                drain_cycles: 5,
            })
        },
        &text("write_buffers"),
    );
}

#[test]
fn refuses_empty_victim_caches_and_stream_buffers() {
    refused(
        |d| {
            d.levels[1].victim = Some(VictimCache {
                lines: 0,
                hit_cycles: 1,
            })
        },
        "level \"L1D\": victim.lines: found 0, need 1 to 65536; leave victim out where there is none",
    );
    for (count, depth, field) in [(0, 4, "streams.count"), (4, 0, "streams.depth")] {
        let text = format!(
            "level \"L1D\": {field}: found 0, need 1 or more; leave streams out where there are none"
        );
        refused(
            |d| {
                d.levels[1].streams = Some(StreamBuffers {
                    count,
                    depth,
                    hit_cycles: 1,
                    ..StreamBuffers::default()
                })
            },
            &text,
        );
    }
    refused(
        |d| {
            d.levels[1].streams = Some(StreamBuffers {
                count: u32::MAX,
                depth: u32::MAX,
                hit_cycles: 1,
                ..StreamBuffers::default()
            })
        },
        "level \"L1D\": streams: found count x depth = 18446744065119617025, need at most 65536 lines; take fewer or \
         shorter ones",
    );
}

#[test]
fn refuses_prefetchers_that_cannot_be() {
    let stride = StridePrefetcher {
        entries: 64,
        degree: 2,
        distance: 4,
        by: StrideKey::Instruction,
    };
    let streamer = Streamer {
        entries: 32,
        degree: 2,
        distance: 20,
    };
    accepted(|d| (d.levels[1].stride, d.levels[2].streamer) = (Some(stride), Some(streamer)));
    refused(
        |d| {
            d.levels[1].stride = Some(StridePrefetcher {
                entries: 0,
                ..stride
            })
        },
        "level \"L1D\": stride.entries: found 0, need 1 to 65536; leave stride out where there is none",
    );
    refused(
        |d| {
            d.levels[1].stride = Some(StridePrefetcher {
                distance: 1025,
                ..stride
            })
        },
        "level \"L1D\": stride.distance: found 1025, need 1 to 1024; leave stride out where there is none",
    );
    refused(
        |d| {
            d.levels[2].streamer = Some(Streamer {
                degree: 65,
                ..streamer
            })
        },
        "level \"L2\": streamer.degree: found 65, need 1 to 64; leave streamer out where there is none",
    );
    refused(
        |d| d.levels[0].stride = Some(stride),
        "level \"L1I\": stride: found it on a level for instructions only, need a level that holds data; leave it out: \
         strides are those of loads and stores",
    );
}

#[test]
fn refuses_partitions_that_cannot_be() {
    let with = |text: &str| Some(text.parse::<Partition>().expect("a partition"));
    accepted(|d| d.levels[2].partition = with("server:f0+process:3:80+default:f"));
    refused(
        |d| d.levels[2].partition = with("server:1f0"),
        "level \"L2\": partition: found 1f0 for \"server\", need a capacity bitmask of one or more of 8 ways: 1 to ff; one \
         bit is one way, as in resctrl's schemata",
    );
    refused(
        |d| d.levels[2].partition = with("default:0"),
        "level \"L2\": partition: found 0 for \"default\", need a capacity bitmask of one or more of 8 ways: 1 to ff; one \
         bit is one way, as in resctrl's schemata",
    );
    refused(
        |d| d.levels[2].partition = with("process:03:1"),
        "level \"L2\": partition: found \"process:03\", need the name of a program as the trace has it, process:NUMBER, or \
         default; see trace info for names and numbers",
    );
    refused(
        |d| d.levels[2].partition = Some(Partition::default()),
        "level \"L2\": partition: found 0 capacity bitmasks, need 1 to 64; leave partition out where all programs fill all \
         ways",
    );
    refused(
        |d| (d.levels[2].ways, d.levels[2].partition) = (Ways::Full, with("server:1")),
        "level \"L2\": partition: found one of 4096 ways, need at most 64 ways; take fewer ways, or leave partition out",
    );
    accepted(|d| {
        (d.levels[2].ways, d.levels[2].partition) =
            (Ways::Count(64), with("server:ffffffffffffffff"))
    });
}

#[test]
fn refuses_policies_that_have_nothing_to_learn_from() {
    accepted(|d| d.levels[2].replacement = Replacement::Drrip);
    accepted(|d| d.levels[2].replacement = Replacement::Ship);
    refused(
        |d| (d.levels[2].ways, d.levels[2].replacement) = (Ways::Full, Replacement::Drrip),
        "level \"L2\": replacement: found drrip over one set, need two sets or more, of which one follows each policy; take \
         srrip, or fewer ways",
    );
}

#[test]
fn refuses_streams_that_never_begin() {
    for (after, found) in [(0, "0"), (1025, "1025")] {
        let streams = StreamBuffers {
            allocate_after: after,
            ..StreamBuffers::default()
        };
        refused(
            |d| d.levels[1].streams = Some(streams),
            &format!(
                "level \"L1D\": streams.allocate_after: found {found}, need 1 to 1024; leave it out where each miss begins a \
                 stream"
            ),
        );
    }
    accepted(|d| {
        d.levels[1].streams = Some(StreamBuffers {
            allocate_after: 2,
            timed: true,
            ..StreamBuffers::default()
        });
        d.levels[1].bus_cycles = 40;
    });
}

#[test]
fn knows_when_time_matters() {
    let mut level = level("L2", Holds::Both);
    level.streams = Some(StreamBuffers {
        allocate_after: 2,
        ..StreamBuffers::default()
    });
    assert!(!level.is_timed());
    assert!(
        Level {
            bus_cycles: 1,
            ..level.clone()
        }
        .is_timed()
    );
    level.streams = Some(StreamBuffers {
        timed: true,
        ..StreamBuffers::default()
    });
    assert!(level.is_timed());
}

#[test]
fn what_is_left_out_is_not_written() {
    let mut design = sound();
    design.levels[1].streams = Some(StreamBuffers::default());
    design.pages = Some(PageAllocation {
        size: Bytes::kib(4),
        order: PageOrder::Random,
        seed: 1,
    });
    let value = serde_json::to_value(&design).expect("JSON");
    let level = value["level"][1].as_object().expect("a table");
    assert!(!level.contains_key("bus_cycles"));
    let streams: Vec<&String> = level["streams"]
        .as_object()
        .expect("a table")
        .keys()
        .collect();
    assert_eq!(streams, ["count", "depth", "hit_cycles"]);
    assert!(value["pages"].get("order").is_none());
}

#[test]
fn refuses_lines_shorter_than_those_before() {
    refused(
        |d| d.levels[2].line = Bytes(32),
        "level \"L2\": line: found 32 B, need at least the 64 B of level \"L1I\" before it; lengthen this line, or \
         shorten that one",
    );
    accepted(|d| d.levels[0].line = Bytes(32));
}

#[test]
fn refuses_inclusion_that_cannot_hold() {
    refused(
        |d| (d.levels[2].size, d.levels[2].inclusion) = (Bytes::kib(16), Inclusion::Inclusive),
        "level \"L2\": size: found 16 KiB, need at least the 32 KiB of level \"L1I\", which an inclusive level holds too; \
         enlarge it, or set inclusion = \"neither\"",
    );
    refused(
        |d| d.levels[1].inclusion = Inclusion::Inclusive,
        "level \"L1D\": inclusion: found inclusive on a first level, need a level before it; leave inclusion out",
    );
    refused(
        |d| d.levels[0].inclusion = Inclusion::Exclusive,
        "level \"L1I\": inclusion: found exclusive on a first level, need a level before it; leave inclusion out",
    );
    refused(
        |d| (d.levels[2].line, d.levels[2].inclusion) = (Bytes(128), Inclusion::Exclusive),
        "level \"L2\": line: found 128 B, need the 64 B of level \"L1I\", whose lines an exclusive level takes; use one \
         line size, or set inclusion = \"neither\"",
    );
    for (position, name) in [(0, "L1I"), (1, "L1D")] {
        let text = format!(
            "level \"L2\": inclusion: found exclusive right behind the stream buffers of level \"{name}\", need none there; \
             leave streams out there, or set inclusion = \"neither\" here"
        );
        refused(
            |d| {
                d.levels[position].streams = Some(StreamBuffers {
                    count: 4,
                    depth: 4,
                    hit_cycles: 1,
                    ..StreamBuffers::default()
                });
                d.levels[2].inclusion = Inclusion::Exclusive;
            },
            &text,
        );
    }
    refused(
        |d| {
            (d.levels[1].write, d.levels[2].inclusion) =
                (WritePolicy::Through, Inclusion::Exclusive)
        },
        "level \"L2\": inclusion: found exclusive behind the write-through level \"L1D\", need write-back levels before \
         it; set write = \"back\" there, or inclusion = \"neither\" here",
    );
    refused(
        |d| {
            (d.levels[1].write_allocate, d.levels[2].inclusion) =
                (Some(false), Inclusion::Exclusive)
        },
        "level \"L2\": inclusion: found exclusive behind level \"L1D\", which allocates no lines on writes, need a level \
         before it that does; leave write_allocate out there, or set inclusion = \"neither\" here",
    );
    refused(
        |d| {
            (d.levels[2].index, d.levels[2].tag) = (AddressKind::Physical, AddressKind::Physical);
            d.levels[2].inclusion = Inclusion::Inclusive;
            d.pages = Some(PageAllocation {
                size: Bytes::kib(4),
                order: PageOrder::Random,
                seed: 1,
            });
        },
        "level \"L2\": inclusion: found inclusive with physical tags behind virtual tags of level \"L1I\", need tags of \
         one kind; set the same tag on both, or inclusion = \"neither\"",
    );
}

#[test]
fn refuses_what_an_exclusive_level_cannot_have() {
    let with = |change: fn(&mut Level)| {
        refusal(|d| {
            d.levels[2].inclusion = Inclusion::Exclusive;
            change(&mut d.levels[2]);
        })
    };
    let text = |field: &str, found: &str| {
        format!(
            "level \"L2\": {field}: found {found} on an exclusive level, need none: it takes only what leaves the levels \
             before it; leave it out, or set inclusion = \"neither\""
        )
    };
    assert_eq!(
        with(|l| l.write = WritePolicy::Through),
        text("write", "write-through")
    );
    assert_eq!(
        with(|l| l.write_allocate = Some(false)),
        text("write_allocate", "false")
    );
    assert_eq!(
        with(|l| l.prefetch = Prefetch::NextLine),
        text("prefetch", "next-line")
    );
    let streamer = Streamer {
        entries: 32,
        degree: 2,
        distance: 20,
    };
    assert_eq!(
        refusal(|d| (d.levels[2].inclusion, d.levels[2].streamer) =
            (Inclusion::Exclusive, Some(streamer))),
        text("streamer", "a prefetcher")
    );
    assert_eq!(
        with(|l| l.replacement = Replacement::Ship),
        text(
            "replacement",
            "ship, which learns from lines that are found and stay,"
        )
    );
    assert_eq!(
        with(|l| l.victim = Some(VictimCache {
            lines: 4,
            hit_cycles: 1
        })),
        text("victim", "a victim cache")
    );
    assert_eq!(
        with(|l| l.streams = Some(StreamBuffers {
            count: 4,
            depth: 4,
            hit_cycles: 1,
            ..StreamBuffers::default()
        })),
        text("streams", "stream buffers")
    );
}

#[test]
fn refuses_addresses_that_no_one_knows() {
    refused(
        |d| d.levels[1].index = AddressKind::Physical,
        "level \"L1D\": tag: found virtual behind a physical index, need physical; set tag = \"physical\", or index = \
         \"virtual\"",
    );
    refused(
        |d| (d.levels[2].index, d.levels[2].tag) = (AddressKind::Physical, AddressKind::Physical),
        "design \"sound\": pages: found none, need one, for the physical addresses of level \"L2\"; add pages = { size = \
         \"4KiB\" }",
    );
    let pages = Some(PageAllocation {
        size: Bytes::kib(4),
        order: PageOrder::Random,
        seed: 1,
    });
    refused(
        |d| (d.levels[1].tag, d.pages) = (AddressKind::Physical, pages),
        "level \"L2\": index: found virtual behind the physical tags of level \"L1D\", need physical; set index = \
         \"physical\"",
    );
    refused(
        |d| {
            (d.levels[1].tag, d.levels[2].tag) = (AddressKind::Physical, AddressKind::Physical);
            d.pages = pages;
        },
        "level \"L2\": index: found virtual behind the physical tags of level \"L1D\", need physical; set index = \
         \"physical\"",
    );
    for (size, text) in [
        (Bytes(0), "0 B"),
        (Bytes(5000), "5000 B"),
        (Bytes(2048), "2 KiB"),
        (Bytes(2 << 30), "2 GiB"),
    ] {
        refused(
            |d| {
                d.pages = Some(PageAllocation {
                    size,
                    order: PageOrder::Random,
                    seed: 0,
                })
            },
            &format!(
                "design \"sound\": pages.size: found {text}, need a power of two from 4 KiB to 1 GiB; 4 KiB is common"
            ),
        );
    }
    refused(
        |d| {
            d.pages = Some(PageAllocation {
                size: Bytes::kib(4),
                order: PageOrder::Random,
                seed: u64::MAX,
            })
        },
        "design \"sound\": pages.seed: found 18446744073709551615, need at most 9223372036854775807; choose a smaller one",
    );
}

#[test]
fn refuses_tlbs_that_cannot_be() {
    refused(
        |d| d.tlbs[0].entries = 0,
        "tlb \"DTLB\": entries: found 0, need 1 or more; leave the tlb out where there is none",
    );
    refused(
        |d| d.tlbs[0].entries = 66,
        "tlb \"DTLB\": entries: found 66, need a multiple of the ways (4); change entries or ways",
    );
    refused(
        |d| d.tlbs[0].ways = Ways::Count(0),
        "tlb \"DTLB\": ways: found 0, need 1 or more, or \"full\"; 1 is direct-mapped",
    );
    refused(
        |d| d.tlbs[0].page = Bytes(5000),
        "tlb \"DTLB\": page: found 5000 B, need a power of two from 4 KiB to 1 GiB; 4 KiB is common",
    );
    refused(
        |d| d.tlbs[0].page = Bytes::mib(2),
        "tlb \"STLB\": page: found 4 KiB, need at least the 2 MiB of tlb \"DTLB\" before it; use one page size",
    );
}

#[test]
fn goes_through_json_unchanged() {
    let mut design = sound();
    design.levels[1].ways = Ways::Full;
    design.levels[1].write = WritePolicy::Through;
    design.levels[1].write_allocate = Some(true);
    design.levels[1].write_buffers = Some(WriteBuffers {
        count: 4,
        drain_cycles: 5,
    });
    design.levels[1].victim = Some(VictimCache {
        lines: 4,
        hit_cycles: 1,
    });
    design.levels[1].streams = Some(StreamBuffers {
        count: 2,
        depth: 4,
        hit_cycles: 3,
        ..StreamBuffers::default()
    });
    design.levels[2].size = Bytes(100_500);
    design.levels[2].seed = i64::MAX as u64;
    design.levels[2].stride = Some(StridePrefetcher {
        entries: 8,
        degree: 2,
        distance: 3,
        by: StrideKey::Page,
    });
    design.levels[2].streamer = Some(Streamer {
        entries: 32,
        degree: 2,
        distance: 20,
    });
    design.levels[2].partition = Some("server:f0+default:0f".parse().expect("a partition"));
    design.pages = Some(PageAllocation {
        size: Bytes::kib(64),
        order: PageOrder::Random,
        seed: 7,
    });
    design.cycle_ns = Some([0.1, 40.0]);
    let json = serde_json::to_string(&design).expect("JSON");
    assert_eq!(
        serde_json::from_str::<Design>(&json).expect("the same"),
        design
    );
    let value: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(value["level"][1]["size"], "32 KiB");
    assert_eq!(value["level"][1]["ways"], "full");
    assert_eq!(value["level"][2]["size"], "100500 B");
    assert_eq!(value["level"][2]["ways"], 8);
    assert_eq!(value["pages"]["size"], "64 KiB");
}

#[test]
fn names_what_is_no_size_and_no_number_of_ways() {
    let error = |field: &str, value: &str| {
        let level = serde_json::to_value(level("L1D", Holds::Data)).expect("JSON");
        let mut level = level.as_object().expect("an object").clone();
        level.insert(field.to_owned(), serde_json::from_str(value).expect("JSON"));
        serde_json::from_value::<Level>(level.into())
            .expect_err("not of that kind")
            .to_string()
    };
    assert_eq!(
        error("size", "-1"),
        "invalid value: integer `-1`, expected a size such as \"64KiB\", or a number of bytes"
    );
    assert_eq!(
        error("size", "true"),
        "invalid type: boolean `true`, expected a size such as \"64KiB\", or a number of bytes"
    );
    assert_eq!(
        error("size", r#""64kb""#),
        "'64kb' is not a size; write it with its unit: 0, 512B, 64KiB or 4MiB (1 KiB = 1024 bytes)"
    );
    assert_eq!(error("ways", "-1"), "found -1 ways");
    assert_eq!(
        error("ways", r#""all""#),
        "invalid value: string \"all\", expected a number of ways, or \"full\""
    );
    assert_eq!(
        error("ways", "4294967296"),
        "found more ways than 4294967295"
    );
}
