use std::collections::HashMap;

use switchcost_design::Design;
use switchcost_trace::synthetic::{Mixed, PingPong};
use switchcost_trace::{Chunk, Event, Mark, TaskId};

use switchcost_design::result::{LastLevelCounts, PrivateBy};

use super::{NoLastLevel, SideBySide};

/// Makes a design with lines of one word, so that every reference is one line, and first levels of
/// one line.
fn design(last_lines: u64, ways: u64) -> Design {
    let level = |name: &str, holds: &str, size: u64, ways: u64| serde_json::json!({"name": name, "holds": holds, "size": format!("{size}B"), "line": "64B", "ways": ways, "miss_cycles": 20});
    let value = serde_json::json!({
        "schema": "switchcost.design/1", "name": "two", "cycle_ns": [1.0, 1.0],
        "level": [
            level("L1I", "instructions", 64, 1), level("L1D", "data", 64, 1), level("L2", "both", last_lines * 64, ways),
        ],
    });
    let design: Design = serde_json::from_value(value).expect("a design");
    design.check().expect("can be built");
    design
}

fn counts(design: Design, chunks: &[Chunk]) -> LastLevelCounts {
    let mut machine = SideBySide::new(design, PrivateBy::Process).expect("a plain last level");
    chunks
        .iter()
        .for_each(|chunk| machine.feed(chunk).expect("a sound chunk"));
    machine.finish()
}

/// Lines of each task by owner and set, the newest first.
type Sets = HashMap<(u32, usize), Vec<(u32, u64)>>;

/// Computes the counts by brute force: first levels of one line for each process, and lists of
/// lines in the order of their last use.
fn by_brute_force(last_lines: usize, ways: usize, chunks: &[Chunk]) -> LastLevelCounts {
    let sets = last_lines / ways;
    let mut first: HashMap<(u32, bool), u64> = HashMap::new();
    let mut levels: [Sets; 2] = Default::default();
    let mut found = LastLevelCounts::default();
    let mut running = TaskId::NONE;
    let mut ask = |task: u32, is_fetch: bool, address: u64, bytes: u64| {
        for line in address / 64..=(address + bytes - 1) / 64 {
            if first.insert((task, is_fetch), line) == Some(line) {
                continue;
            }
            found.lookups += 1;
            for (level, owner) in levels.iter_mut().zip([0, task]) {
                let lines = level.entry((owner, line as usize % sets)).or_default();
                let place = lines.iter().position(|held| *held == (task, line));
                match place {
                    Some(place) => drop(lines.remove(place)),
                    None if owner == 0 => found.shared += 1,
                    None => found.alone += 1,
                }
                lines.insert(0, (task, line));
                lines.truncate(ways);
            }
        }
    };
    for chunk in chunks {
        for event in chunk.events() {
            let (block, own) = match event {
                Event::Block(block, own) => (block, own),
                Event::Mark(mark) => {
                    if let Mark::Switch { to, .. } = mark {
                        running = *to;
                    }
                    continue;
                }
            };
            // Instructions of 4 bytes, each followed by its references.
            let mut own = own.iter().peekable();
            for instruction in 0..u64::from(block.instructions) {
                ask(running.0, true, block.address + instruction * 4, 4);
                while let Some(reference) =
                    own.next_if(|one| u64::from(one.through()) < (instruction + 1) * 4)
                {
                    ask(
                        running.0,
                        false,
                        reference.address(),
                        reference.bytes().into(),
                    );
                }
            }
        }
    }
    found
}

#[test]
fn the_last_level_misses_what_brute_force_says() {
    for (turn, switches) in [(37, 600), (2000, 12)] {
        let mixed = Mixed {
            processes: 3,
            turn_instructions: turn,
            switches,
            seed: 9,
        };
        let chunks: Vec<Chunk> = mixed.chunks().collect();
        for (lines, ways) in [(256, 1), (1024, 4), (64, 64)] {
            let found = counts(design(lines, ways), &chunks);
            let expected = by_brute_force(lines as usize, ways as usize, &chunks);
            assert_eq!(
                (found.lookups, found.alone, found.shared),
                (expected.lookups, expected.alone, expected.shared)
            );
            assert!(found.alone > 0 && found.shared > found.alone, "{found:?}");
        }
    }
}

#[test]
fn two_that_fit_alone_and_not_together_lose_at_each_turn_or_at_each_line() {
    // Each process loops over 264 lines of data. They fit in 512 lines, but those of both processes
    // do not. The line of code is requested once.
    let loops = |turn, switches| PingPong {
        processes: 2,
        code_bytes: 64,
        data_bytes: 264 * 64,
        stride_bytes: 64,
        turn_instructions: turn,
        switches,
    };
    let of = |turn, switches| {
        counts(
            design(512, 512),
            &loops(turn, switches).chunks().collect::<Vec<_>>(),
        )
    };
    // Blocks of four instructions: each process walks its data 40 times, in 2 time slices of 20
    // walks or in time slices of ten lines.
    let (in_turn, at_once) = (of(20 * 1056, 4), of(40, 2 * 1056));
    assert_eq!(
        (in_turn.lookups, in_turn.alone),
        (at_once.lookups, at_once.alone),
        "what is asked is the same"
    );
    assert_eq!(in_turn.alone, 2 * 265);
    // In long time slices, the lost lines come back once per time slice; in short ones, the oldest
    // line is always the next one needed.
    assert!(in_turn.shared < 5 * 265, "{in_turn:?}");
    assert!(at_once.shared > 2 * 39 * 264, "{at_once:?}");
}

#[test]
fn a_last_level_that_is_more_than_plain_is_refused() {
    let mut one = design(512, 8);
    one.levels.truncate(2);
    assert_eq!(
        SideBySide::new(one, PrivateBy::Process).err(),
        Some(NoLastLevel::OneLevel)
    );
    let mut inclusive = design(512, 8);
    inclusive.levels[2].inclusion = switchcost_design::Inclusion::Inclusive;
    assert_eq!(
        SideBySide::new(inclusive, PrivateBy::Process).err(),
        Some(NoLastLevel::NotPlain("lines of other levels"))
    );
    let mut sets = design(512, 8);
    sets.levels[2].size.0 = 3 * 512 * 64;
    assert!(matches!(
        SideBySide::new(sets, PrivateBy::Process).err(),
        Some(NoLastLevel::NotPlain(_))
    ));
}
