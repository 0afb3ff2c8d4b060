//! Compares the simulator with Cachegrind on the same program and caches: counts must be identical
//! if the definitions coincide. `README.md` describes the differences in definition.

mod valgrind;

use switchcost_cachesim::{Options, Simulator};
use switchcost_design::result::{HierarchyCounts, LevelCounts};
use switchcost_design::{DESIGN_SCHEMA, Design, Holds, Level, Ways};
use switchcost_trace::{Chunk, Importer};
use switchcost_units::Bytes;

use valgrind::{Cache, Caches, Counts, Workshop};

fn level(name: &str, holds: Holds, cache: Cache) -> Level {
    Level::plain(
        name,
        holds,
        Bytes(cache.size),
        Bytes(cache.line),
        Ways::Count(cache.ways),
        10,
    )
}

fn design(caches: &Caches) -> Design {
    Design {
        schema: DESIGN_SCHEMA.to_owned(),
        name: "cachegrind".to_owned(),
        title: String::new(),
        source: String::new(),
        cycle_ns: None,
        levels: vec![
            level("I1", Holds::Instructions, caches.i1),
            level("D1", Holds::Data, caches.d1),
            level("LL", Holds::Both, caches.ll),
        ],
        tlbs: Vec::new(),
        pages: None,
    }
}

fn simulated(caches: &Caches, lackey: &[u8]) -> HierarchyCounts {
    let mut simulator =
        Simulator::new(vec![design(caches)], Options::default()).expect("it can be built");
    let (mut importer, mut chunk, mut intervals) =
        (Importer::lackey(lackey), Chunk::default(), Vec::new());
    while importer.next_into(&mut chunk).expect("lackey's text") {
        simulator
            .feed(&mut chunk, &mut intervals)
            .expect("a sound chunk");
    }
    simulator
        .finish(&mut intervals, &mut |_, _| None)
        .designs
        .remove(0)
        .hierarchies
        .shared
}

/// Compares everything but the last level, because the definitions of the other levels always
/// coincide.
fn first_levels_agree(counts: &HierarchyCounts, wanted: &Counts, modifies: u64) {
    let [i1, d1, _] = three(counts);
    assert_eq!(
        (i1.instruction_accesses, i1.instruction_misses),
        (wanted.get("Ir"), wanted.get("I1mr"))
    );
    assert_eq!(
        (d1.load_accesses, d1.load_misses),
        (wanted.get("Dr"), wanted.get("D1mr"))
    );
    // Cachegrind counts an instruction that reads and then writes as a read only; the write always
    // hits.
    assert_eq!(
        (d1.store_accesses - modifies, d1.store_misses),
        (wanted.get("Dw"), wanted.get("D1mw"))
    );
}

fn three(counts: &HierarchyCounts) -> [&LevelCounts; 3] {
    [&counts.levels[0], &counts.levels[1], &counts.levels[2]]
}

const fn cache(size: u64, ways: u32, line: u64) -> Cache {
    Cache { size, ways, line }
}

const SMALL: [Caches; 4] = [
    Caches {
        i1: cache(512, 2, 64),
        d1: cache(2048, 4, 64),
        ll: cache(16384, 8, 64),
    },
    Caches {
        i1: cache(256, 1, 32),
        d1: cache(1024, 1, 32),
        ll: cache(8192, 1, 32),
    },
    Caches {
        i1: cache(1024, 16, 64),
        d1: cache(4096, 64, 64),
        ll: cache(32768, 512, 64),
    },
    Caches {
        i1: cache(4096, 4, 32),
        d1: cache(8192, 8, 32),
        ll: cache(65536, 16, 64),
    },
];

#[test]
fn counters_are_cachegrinds_where_nothing_crosses_a_line() {
    let Some(workshop) = Workshop::open() else {
        return;
    };
    let program = workshop.compile(
        "aligned",
        &[
            "-static",
            "-nostdlib",
            "-fno-pie",
            "-no-pie",
            "-fno-stack-protector",
        ],
    );
    let lackey = workshop.lackey(&program);
    for caches in SMALL {
        let (counts, wanted) = (
            simulated(&caches, &lackey),
            workshop.cachegrind(&program, &caches),
        );
        first_levels_agree(&counts, &wanted, valgrind::modifies(&lackey));
        let [i1, d1, ll] = three(&counts);
        assert!(
            d1.misses() > 1000 && ll.misses() > 1000,
            "the caches are too large to show anything"
        );
        assert_eq!(
            (ll.instruction_accesses, ll.instruction_misses),
            (i1.fills, wanted.get("ILmr"))
        );
        // A store that misses the first level is a load of the line in the last level.
        assert_eq!((ll.load_accesses, ll.store_accesses), (d1.fills, 0));
        assert_eq!(ll.load_misses, wanted.get("DLmr") + wanted.get("DLmw"));
    }
}

#[test]
fn first_level_counters_are_cachegrinds_for_any_program() {
    let Some(workshop) = Workshop::open() else {
        return;
    };
    let program = workshop.compile("plain", &["-static"]);
    let lackey = workshop.lackey(&program);
    for caches in SMALL {
        let (counts, wanted) = (
            simulated(&caches, &lackey),
            workshop.cachegrind(&program, &caches),
        );
        first_levels_agree(&counts, &wanted, valgrind::modifies(&lackey));
        // The last level's counters cannot agree exactly, because some lines are requested by
        // references that cross lines.
        let [i1, d1, ll] = three(&counts);
        assert!(
            i1.fills >= i1.misses() && d1.fills > d1.misses(),
            "nothing crossed a line"
        );
        assert_eq!(ll.accesses(), i1.fills + d1.fills);
    }
}
