//! Compares the simulator with Cachegrind on the same program and caches: counts must be identical
//! if the definitions coincide. `README.md` describes the differences in definition.

mod valgrind;

use switchcost_cachesim::{Options, Simulator};
use switchcost_design::result::{HierarchyCounts, LevelCounts};
use switchcost_design::{Holds, Level, Ways, shipped};
use switchcost_trace::{Chunk, ImportFormat, Importer};
use switchcost_units::Bytes;

use valgrind::{Counts, Workshop};

fn simulated(caches: &[Level; 3], lackey: &[u8]) -> HierarchyCounts {
    let mut design = shipped::find("plain-lru").expect("a design without TLBs");
    design.levels = caches.to_vec();
    let mut simulator = Simulator::new(vec![design], Options::default()).expect("it can be built");
    let mut importer = Importer::new(ImportFormat::Lackey, lackey, 4).expect("text");
    let (mut chunk, mut intervals) = (Chunk::default(), Vec::new());
    while importer.next_into(&mut chunk).expect("lackey's text") {
        simulator
            .feed(&mut chunk, &mut intervals)
            .expect("a sound chunk");
    }
    let mut outcome = simulator.finish(&mut intervals, &mut |_, _| None);
    outcome.designs.remove(0).hierarchies.shared
}

/// Size in bytes, ways and bytes of a line of the caches of instructions, of data, and of the last
/// level.
const SMALL: [[(u64, u32, u64); 3]; 4] = [
    [(512, 2, 64), (2048, 4, 64), (16384, 8, 64)],
    [(256, 1, 32), (1024, 1, 32), (8192, 1, 32)],
    [(1024, 16, 64), (4096, 64, 64), (32768, 512, 64)],
    [(4096, 4, 32), (8192, 8, 32), (65536, 16, 64)],
];

/// Compares the first levels, whose definitions always coincide, for each of the small caches;
/// `check` gets the counters of all levels and Cachegrind's.
fn compare(name: &str, flags: &[&str], check: impl Fn([&LevelCounts; 3], &Counts)) {
    let Some(workshop) = Workshop::open() else {
        return;
    };
    let program = workshop.compile(name, flags);
    let lackey = workshop.lackey(&program);
    for caches in SMALL {
        let mut kinds = [
            ("I1", Holds::Instructions),
            ("D1", Holds::Data),
            ("LL", Holds::Both),
        ]
        .into_iter();
        let caches = caches.map(|(size, ways, line)| {
            let (name, holds) = kinds.next().expect("three levels");
            Level::plain(name, holds, Bytes(size), Bytes(line), Ways::Count(ways), 10)
        });
        let counts = simulated(&caches, &lackey);
        let wanted = workshop.cachegrind(&program, &caches);
        let [i1, d1, ll] = &counts.levels[..] else {
            panic!("three levels")
        };
        assert_eq!(
            (i1.instruction_accesses, i1.instruction_misses),
            (wanted.get("Ir"), wanted.get("I1mr"))
        );
        assert_eq!(
            (d1.load_accesses, d1.load_misses),
            (wanted.get("Dr"), wanted.get("D1mr"))
        );
        // Cachegrind counts an instruction that reads and then writes as a read only; the write
        // always hits.
        assert_eq!(
            (
                d1.store_accesses - valgrind::modifies(&lackey),
                d1.store_misses
            ),
            (wanted.get("Dw"), wanted.get("D1mw"))
        );
        check([i1, d1, ll], &wanted);
    }
}

#[test]
fn counters_are_cachegrinds_where_nothing_crosses_a_line() {
    let flags = [
        "-static",
        "-nostdlib",
        "-fno-pie",
        "-no-pie",
        "-fno-stack-protector",
    ];
    compare("aligned", &flags, |[i1, d1, ll], wanted| {
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
    });
}

#[test]
fn first_level_counters_are_cachegrinds_for_any_program() {
    // The last level's counters cannot agree exactly, because some lines are requested by
    // references that cross lines.
    compare("plain", &["-static"], |[i1, d1, ll], _| {
        assert!(
            i1.fills >= i1.misses() && d1.fills > d1.misses(),
            "nothing crossed a line"
        );
        assert_eq!(ll.accesses(), i1.fills + d1.fills);
    });
}
