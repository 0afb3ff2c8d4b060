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
        "design \"sound\": schema is \"switchcost.design/2\", not \"switchcost.design/1\"; this version reads no other \
         schema",
    );
    refused(
        |d| d.name = "a\u{1b}[2J".to_owned(),
        "design \"a\\u{1b}[2J\": name is \"a\\u{1b}[2J\", not 1 to 256 bytes without control characters; choose a short \
         name",
    );
    refused(
        |d| d.name = String::new(),
        "design \"\": name is \"\", not 1 to 256 bytes without control characters; choose a short name",
    );
    refused(
        |d| d.title = "a\u{7}".to_owned(),
        "design \"sound\": title is \"a\\u{7}\", which is longer than 4096 bytes or has control characters; shorten it, \
         and use only line ends and tabs as control characters",
    );
    refused(
        |d| d.source = "x".repeat(4097),
        &format!(
            "design \"sound\": source is \"{}\"..., which is longer than 4096 bytes or has control characters; shorten \
             it, and use only line ends and tabs as control characters",
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
                "design \"sound\": cycle_ns is {text}, not two times above 0 and up to 1000000, the shorter first; \
                 write a single time twice"
            ),
        );
    }
}

#[test]
fn refuses_levels_that_are_missing_or_too_many() {
    refused(
        |d| d.levels.clear(),
        "design \"sound\": no level holds instructions; add a [[level]] with holds = \"instructions\" or \"both\"",
    );
    refused(
        |d| d.levels.truncate(1),
        "design \"sound\": no level holds data; add a [[level]] with holds = \"data\" or \"both\"",
    );
    refused(
        |d| {
            d.levels = (0..65)
                .map(|i| level(&format!("L{i}"), Holds::Both))
                .collect()
        },
        "design \"sound\": there are 65 levels, more than 64; leave some out",
    );
    refused(
        |d| d.tlbs = (0..65).map(|i| tlb(&format!("T{i}"))).collect(),
        "design \"sound\": there are 65 tlbs, more than 64; leave some out",
    );
}

#[test]
fn refuses_names_that_are_not_names() {
    refused(
        |d| d.levels[1].name = "L1I".to_owned(),
        "level \"L1I\": this name is used twice; give each level and TLB its own name",
    );
    refused(
        |d| d.tlbs[0].name = "L2".to_owned(),
        "tlb \"L2\": this name is used twice; give each level and TLB its own name",
    );
    refused(
        |d| d.levels[1].name = "a\nb".to_owned(),
        "level \"a\\nb\": name is \"a\\nb\", not 1 to 64 ASCII letters, digits, - and _; choose a name such as L1D",
    );
    let long = "x".repeat(65);
    refused(
        |d| d.tlbs[1].name = long.clone(),
        &format!(
            "tlb \"{0}\"...: name is \"{0}\"..., not 1 to 64 ASCII letters, digits, - and _; choose a name such as L1D",
            &long[..64]
        ),
    );
}

#[test]
fn refuses_sizes_that_do_not_divide() {
    refused(
        |d| d.levels[1].size = Bytes(100_500),
        "level \"L1D\": size is 100500 B, not a multiple of line x ways (64 B x 8 = 512 B); change size, line or ways",
    );
    refused(
        |d| (d.levels[1].size, d.levels[1].ways) = (Bytes(100), Ways::Full),
        "level \"L1D\": size is 100 B, not a multiple of line x ways (64 B x 1 = 64 B); change size, line or ways",
    );
    refused(
        |d| (d.levels[1].size, d.levels[1].ways) = (Bytes::kib(4), Ways::Count(128)),
        "level \"L1D\": size is 4 KiB, not a multiple of line x ways (64 B x 128 = 8 KiB); change size, line or ways",
    );
    refused(
        |d| d.levels[1].size = Bytes(0),
        "level \"L1D\": size is 0 B, not above 0 and up to 4 GiB; give the capacity of one cache",
    );
    refused(
        |d| d.levels[2].size = Bytes((4 << 30) + 512),
        "level \"L2\": size is 4294967808 B, not above 0 and up to 4 GiB; give the capacity of one cache",
    );
    for line in [0, 2, 48, 8192] {
        let text = format!(
            "level \"L1D\": line is {}, not a power of two from 4 B to 4 KiB; 64 B is common",
            Bytes(line)
        );
        refused(|d| d.levels[1].line = Bytes(line), &text);
    }
    refused(
        |d| d.levels[1].ways = Ways::Count(0),
        "level \"L1D\": ways is 0; set it to 1 (direct-mapped) or more, or to \"full\"",
    );
    refused(
        |d| (d.levels[2].size, d.levels[2].line) = (Bytes(4 << 30), Bytes(64)),
        "design \"sound\": all levels and TLBs have 67110464 lines and entries, more than 67108864; use smaller sizes \
         or longer lines, so that the simulation fits into memory",
    );
}

#[test]
fn refuses_replacement_that_cannot_be() {
    refused(
        |d| {
            d.levels[1].size = Bytes::kib(48);
            (d.levels[1].ways, d.levels[1].replacement) = (Ways::Count(12), Replacement::TreePlru);
        },
        "level \"L1D\": replacement is tree-plru, but ways (12) is not a power of two; change ways, or use lru",
    );
    refused(
        |d| {
            (d.tlbs[0].entries, d.tlbs[0].ways, d.tlbs[0].replacement) =
                (72, Ways::Full, Replacement::TreePlru)
        },
        "tlb \"DTLB\": replacement is tree-plru, but ways (72) is not a power of two; change ways, or use lru",
    );
    refused(
        |d| d.levels[1].seed = 1 << 63,
        "level \"L1D\": seed is 9223372036854775808, more than 9223372036854775807; choose a smaller one",
    );
}

#[test]
fn refuses_cycles_beyond_reason() {
    let text = |place: &str, field: &str| {
        format!("{place}: {field} is 1000001, more than 1000000; choose a smaller number")
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
        "level \"L1D\": write_buffers is set, but the level is write-back; set write = \"through\", or leave \
         write_buffers out",
    );
    refused(
        |d| {
            d.levels[1].write = WritePolicy::Through;
            d.levels[1].write_buffers = Some(WriteBuffers {
                count: 0,
                drain_cycles: 5,
            });
        },
        "level \"L1D\": write_buffers.count is 0, not 1 to 65536; leave write_buffers out if stores never wait",
    );
    let text = |field: &str| {
        format!(
            "level \"L1I\": {field} is set, but the level holds only instructions; leave it out"
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
        "level \"L1D\": victim.lines is 0, not 1 to 65536; leave victim out if there is none",
    );
    for (count, depth, field) in [(0, 4, "streams.count"), (4, 0, "streams.depth")] {
        let text = format!("level \"L1D\": {field} is 0; leave streams out if there are none");
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
        "level \"L1D\": streams has 18446744065119617025 lines (count x depth), more than 65536; use fewer or shorter \
         streams",
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
        "level \"L1D\": stride.entries is 0, not 1 to 65536; leave stride out if there is none",
    );
    refused(
        |d| {
            d.levels[1].stride = Some(StridePrefetcher {
                distance: 1025,
                ..stride
            })
        },
        "level \"L1D\": stride.distance is 1025, not 1 to 1024; leave stride out if there is none",
    );
    refused(
        |d| {
            d.levels[2].streamer = Some(Streamer {
                degree: 65,
                ..streamer
            })
        },
        "level \"L2\": streamer.degree is 65, not 1 to 64; leave streamer out if there is none",
    );
    refused(
        |d| d.levels[0].stride = Some(stride),
        "level \"L1I\": stride is set, but the level holds only instructions; leave it out: strides are those of loads \
         and stores",
    );
}

#[test]
fn refuses_partitions_that_cannot_be() {
    let with = |text: &str| Some(text.parse::<Partition>().expect("a partition"));
    accepted(|d| d.levels[2].partition = with("server:f0+process:3:80+default:f"));
    refused(
        |d| d.levels[2].partition = with("server:1f0"),
        "level \"L2\": partition has 1f0 for \"server\", not a capacity bitmask of 8 ways: 1 to ff; one bit is one way, \
         as in resctrl's schemata",
    );
    refused(
        |d| d.levels[2].partition = with("default:0"),
        "level \"L2\": partition has 0 for \"default\", not a capacity bitmask of 8 ways: 1 to ff; one bit is one way, \
         as in resctrl's schemata",
    );
    refused(
        |d| d.levels[2].partition = with("process:03:1"),
        "level \"L2\": partition has \"process:03\", which is no name of a program, process:NUMBER or default; trace \
         info shows names and numbers",
    );
    refused(
        |d| d.levels[2].partition = Some(Partition::default()),
        "level \"L2\": partition has 0 capacity bitmasks, not 1 to 64; leave partition out if all programs may fill all \
         ways",
    );
    refused(
        |d| (d.levels[2].ways, d.levels[2].partition) = (Ways::Full, with("server:1")),
        "level \"L2\": partition is set on 4096 ways, more than 64; use fewer ways, or leave partition out",
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
        "level \"L2\": replacement is drrip, which needs two sets or more, but there is one set; use srrip, or fewer ways",
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
                "level \"L1D\": streams.allocate_after is {found}, not 1 to 1024; leave it out if every miss begins a \
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
        "level \"L2\": line is 32 B, less than the 64 B of level \"L1I\" before it; lengthen this line, or shorten that \
         one",
    );
    accepted(|d| d.levels[0].line = Bytes(32));
}

#[test]
fn refuses_inclusion_that_cannot_hold() {
    refused(
        |d| (d.levels[2].size, d.levels[2].inclusion) = (Bytes::kib(16), Inclusion::Inclusive),
        "level \"L2\": size is 16 KiB, less than the 32 KiB of level \"L1I\", which an inclusive level includes; \
         enlarge it, or set inclusion = \"neither\"",
    );
    refused(
        |d| d.levels[1].inclusion = Inclusion::Inclusive,
        "level \"L1D\": inclusion is inclusive, but no level is before it; leave inclusion out",
    );
    refused(
        |d| d.levels[0].inclusion = Inclusion::Exclusive,
        "level \"L1I\": inclusion is exclusive, but no level is before it; leave inclusion out",
    );
    refused(
        |d| (d.levels[2].line, d.levels[2].inclusion) = (Bytes(128), Inclusion::Exclusive),
        "level \"L2\": line is 128 B, not the 64 B of level \"L1I\", whose lines an exclusive level takes; use one line \
         size, or set inclusion = \"neither\"",
    );
    for (position, name) in [(0, "L1I"), (1, "L1D")] {
        let text = format!(
            "level \"L2\": inclusion is exclusive, but level \"{name}\" before it has stream buffers; leave streams out \
             there, or set inclusion = \"neither\" here"
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
        "level \"L2\": inclusion is exclusive, but level \"L1D\" before it is write-through; set write = \"back\" \
         there, or inclusion = \"neither\" here",
    );
    refused(
        |d| {
            (d.levels[1].write_allocate, d.levels[2].inclusion) =
                (Some(false), Inclusion::Exclusive)
        },
        "level \"L2\": inclusion is exclusive, but level \"L1D\" before it allocates no lines on writes; leave \
         write_allocate out there, or set inclusion = \"neither\" here",
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
        "level \"L2\": inclusion is inclusive and tags are physical, but level \"L1I\" before it has virtual tags; set \
         the same tag on both, or inclusion = \"neither\"",
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
    let text = |setting: &str| {
        format!(
            "level \"L2\": an exclusive level cannot have {setting}; leave it out, or set inclusion = \"neither\""
        )
    };
    assert_eq!(
        with(|l| l.write = WritePolicy::Through),
        text("write = \"through\"")
    );
    assert_eq!(
        with(|l| l.write_allocate = Some(false)),
        text("write_allocate = false")
    );
    assert_eq!(
        with(|l| l.prefetch = Prefetch::NextLine),
        text("prefetch = \"next-line\"")
    );
    let streamer = Streamer {
        entries: 32,
        degree: 2,
        distance: 20,
    };
    assert_eq!(
        refusal(|d| (d.levels[2].inclusion, d.levels[2].streamer) =
            (Inclusion::Exclusive, Some(streamer))),
        text("streamer")
    );
    assert_eq!(
        with(|l| l.replacement = Replacement::Ship),
        text("replacement = \"ship\"")
    );
    assert_eq!(
        with(|l| l.victim = Some(VictimCache {
            lines: 4,
            hit_cycles: 1
        })),
        text("victim")
    );
    assert_eq!(
        with(|l| l.streams = Some(StreamBuffers {
            count: 4,
            depth: 4,
            hit_cycles: 1,
            ..StreamBuffers::default()
        })),
        text("streams")
    );
}

#[test]
fn refuses_addresses_that_no_one_knows() {
    refused(
        |d| d.levels[1].index = AddressKind::Physical,
        "level \"L1D\": tag is virtual, but the index is physical; set tag = \"physical\", or index = \"virtual\"",
    );
    refused(
        |d| (d.levels[2].index, d.levels[2].tag) = (AddressKind::Physical, AddressKind::Physical),
        "design \"sound\": pages is missing, but level \"L2\" has physical addresses; add pages = { size = \"4KiB\" }",
    );
    let pages = Some(PageAllocation {
        size: Bytes::kib(4),
        order: PageOrder::Random,
        seed: 1,
    });
    refused(
        |d| (d.levels[1].tag, d.pages) = (AddressKind::Physical, pages),
        "level \"L2\": index is virtual, but level \"L1D\" before it has physical tags; set index = \"physical\"",
    );
    refused(
        |d| {
            (d.levels[1].tag, d.levels[2].tag) = (AddressKind::Physical, AddressKind::Physical);
            d.pages = pages;
        },
        "level \"L2\": index is virtual, but level \"L1D\" before it has physical tags; set index = \"physical\"",
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
                "design \"sound\": pages.size is {text}, not a power of two from 4 KiB to 1 GiB; 4 KiB is common"
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
        "design \"sound\": pages.seed is 18446744073709551615, more than 9223372036854775807; choose a smaller one",
    );
}

#[test]
fn refuses_tlbs_that_cannot_be() {
    refused(
        |d| d.tlbs[0].entries = 0,
        "tlb \"DTLB\": entries is 0; leave the tlb out if there is none",
    );
    refused(
        |d| d.tlbs[0].entries = 66,
        "tlb \"DTLB\": entries is 66, not a multiple of ways (4); change entries or ways",
    );
    refused(
        |d| d.tlbs[0].ways = Ways::Count(0),
        "tlb \"DTLB\": ways is 0; set it to 1 (direct-mapped) or more, or to \"full\"",
    );
    refused(
        |d| d.tlbs[0].page = Bytes(5000),
        "tlb \"DTLB\": page is 5000 B, not a power of two from 4 KiB to 1 GiB; 4 KiB is common",
    );
    refused(
        |d| d.tlbs[0].page = Bytes::mib(2),
        "tlb \"STLB\": page is 4 KiB, less than the 2 MiB of tlb \"DTLB\" before it; use one page size",
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
        "'64kb' is not a size; write 512B, 64KiB or 4MiB (1 KiB = 1024 bytes)"
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
