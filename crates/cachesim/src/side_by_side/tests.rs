use std::collections::HashMap;

use switchcost_design::{Design, Inclusion, Level};
use switchcost_trace::synthetic::Mixed;
use switchcost_trace::{Chunk, Event, Mark};

use switchcost_design::result::{LastLevelCounts, PrivateBy};

use super::{NoLastLevel, SideBySide};

/// Makes a design with lines of 64 bytes: first levels of one line, and a last level of
/// `last_lines` lines.
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
    for chunk in chunks {
        machine.feed(chunk).expect("a sound chunk");
    }
    machine.finish()
}

/// Lines of a level by owner (0 for the shared level, otherwise the task) and set, the most
/// recently used first.
type Sets = HashMap<(u32, usize), Vec<(u32, u64)>>;

/// Computes the counts by brute force: first levels of one line for each process, and lists of
/// lines in the order of their last use.
fn by_brute_force(last_lines: usize, ways: usize, chunks: &[Chunk]) -> LastLevelCounts {
    let sets = last_lines / ways;
    let mut first: HashMap<(u32, bool), u64> = HashMap::new();
    let mut levels: [Sets; 2] = Default::default();
    let mut found = LastLevelCounts::default();
    let mut running = 0;
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
    for event in chunks.iter().flat_map(Chunk::events) {
        let (block, own) = match event {
            Event::Block(block, own) => (block, own),
            Event::Mark(Mark::Switch { to, .. }) => {
                running = to.0;
                continue;
            }
            Event::Mark(_) => continue,
        };
        // Instructions of 4 bytes, each followed by its references.
        let mut own = own.iter().peekable();
        for end in (4..=4 * u64::from(block.instructions)).step_by(4) {
            ask(running, true, block.address + end - 4, 4);
            while let Some(one) = own.next_if(|one| u64::from(one.through()) < end) {
                ask(running, false, one.address(), one.bytes().into());
            }
        }
    }
    found
}

#[test]
fn the_last_level_misses_what_brute_force_says() {
    let mixed = |turn_instructions, switches| {
        let mixed = Mixed {
            processes: 3,
            turn_instructions,
            switches,
            seed: 9,
        };
        mixed.chunks().collect::<Vec<_>>()
    };
    for chunks in [mixed(37, 600), mixed(2000, 12)] {
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
fn a_last_level_that_is_more_than_plain_is_refused() {
    let refused = |change: fn(&mut Vec<Level>)| {
        let mut design = design(512, 8);
        change(&mut design.levels);
        SideBySide::new(design, PrivateBy::Process).err()
    };
    assert_eq!(
        refused(|levels| levels.truncate(2)),
        Some(NoLastLevel::OneLevel)
    );
    assert_eq!(
        refused(|levels| levels[2].inclusion = Inclusion::Inclusive),
        Some(NoLastLevel::NotPlain("lines of other levels"))
    );
    let of_sets = refused(|levels| levels[2].size.0 = 3 * 512 * 64);
    assert!(matches!(of_sets, Some(NoLastLevel::NotPlain(_))));
}
