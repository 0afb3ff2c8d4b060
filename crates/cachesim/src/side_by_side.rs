//! Simulates every process on a separate CPU, with private first levels and one last level for all.
//!
//! The input is a design, and the chunks of a trace. If time slices are long, the chunks stand for
//! time-sharing of the last level; if time slices have only a few instructions, the chunks stand
//! for concurrent use. The output is the misses of the last level among the requests of the first
//! levels, if all processes share it and if each process has it alone. The first levels are the
//! private ones of the usual simulation. The requests of the first levels therefore do not depend
//! on the order of time slices, and only the sharing of the last level differs.

use std::collections::HashMap;

use switchcost_design::result::{LastLevelCounts, PrivateBy};
use switchcost_design::{Design, Inclusion, Replacement};
use switchcost_trace::{BlockRun, Chunk, Mark, Reference};

use crate::machine::{Context, Kind, LevelRequest, LevelRequests, Machine, PageChange, RunContext};
use crate::mappings::Mappings;
use crate::processes::{Change, Processes, Running};
use crate::simulator::{Check, SimulationError, TakePieces, take_pieces};

/// Index of the machine's private view, in which a process runs alone.
const PRIVATE: usize = 1;
/// Largest number of blocks simulated in one step, during which their requests are stored.
const SLICE_BLOCKS: usize = 2048;

static NOTHING_MAPPED: Mappings = Mappings::nothing();

/// Reason why the last level of a design cannot be shared concurrently. A message prints the reason
/// after the design's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoLastLevel {
    /// The design has only one level on each path.
    #[error("it has one level on each path; choose a design such as mogul-2a or plain-lru")]
    OneLevel,
    /// The last level is not a plain LRU cache.
    #[error(
        "its last level has {0}; use a plain LRU level: neither inclusive nor exclusive, no prefetching, a power of \
         two of sets, and the same kind of index and tag"
    )]
    NotPlain(&'static str),
    /// A level has a partition: programs may fill only some ways.
    #[error(
        "one of its levels has a partition of its ways, but each process has its own CPU here; leave the partition out"
    )]
    Partition,
}

/// A design with first levels for each process and one last level for all.
#[derive(Debug)]
pub struct SideBySide {
    check: Check,
    machine: Machine<LevelRequests>,
    processes: Processes,
    has_begun: bool,
    sets: usize,
    ways: usize,
    allocates: bool,
    shared: Lines,
    own: HashMap<u32, Lines>,
    counts: LastLevelCounts,
}

/// Contents of a level: one list of line keys per set, the most recently used first.
#[derive(Debug)]
struct Lines(Vec<Vec<u64>>);

impl Lines {
    /// Returns whether a line is in the level. The line becomes the most recently used, and an
    /// absent line is filled if `comes_in`.
    fn look_up(&mut self, set: usize, key: u64, ways: usize, comes_in: bool) -> bool {
        let lines = &mut self.0[set];
        let found = lines.iter().position(|&line| line == key);
        match found {
            Some(place) => lines[..=place].rotate_right(1),
            None if comes_in => {
                lines.truncate(ways - 1);
                lines.insert(0, key);
            }
            None => (),
        }
        found.is_some()
    }
}

impl SideBySide {
    /// Makes empty caches. `private_by` determines whether each process or each task has a private
    /// CPU.
    ///
    /// # Errors
    ///
    /// If no level of instructions and data follows a first level, if the last level is not a plain
    /// LRU cache, or if a level has a partition.
    pub fn new(design: Design, private_by: PrivateBy) -> Result<SideBySide, NoLastLevel> {
        let last = design
            .levels
            .len()
            .checked_sub(1)
            .ok_or(NoLastLevel::OneLevel)?;
        let level = &design.levels[last];
        let all = level.holds.instructions() && level.holds.data();
        if last == 0 || !all {
            return Err(NoLastLevel::OneLevel);
        }
        if design.levels.iter().any(|level| level.partition.is_some()) {
            return Err(NoLastLevel::Partition);
        }
        let ways = level.ways.of(level.lines());
        let sets = level.lines() / ways;
        let odd = [
            (
                level.inclusion != Inclusion::Neither,
                "lines of other levels",
            ),
            (
                level.replacement != Replacement::Lru,
                "another order of replacement",
            ),
            (level.prefetches() || level.streams.is_some(), "prefetching"),
            (level.victim.is_some(), "a victim cache"),
            (
                !sets.is_power_of_two(),
                "a number of sets that is no power of two",
            ),
            (
                level.index != level.tag,
                "another kind of address in its tags",
            ),
        ];
        if let Some((_, what)) = odd.iter().find(|(is, _)| *is) {
            return Err(NoLastLevel::NotPlain(what));
        }
        let counts = LastLevelCounts {
            design: design.name.clone(),
            level: level.name.clone(),
            miss_cycles: level.miss_cycles.into(),
            lines: level.lines(),
            ..LastLevelCounts::default()
        };
        let (allocates, sets, ways) = (level.allocates_on_write(), sets as usize, ways as usize);
        let machine = Machine::new_with_requests_to(design, &[last]);
        Ok(SideBySide {
            check: Check::new(machine.most_processes()),
            machine,
            processes: Processes::new(private_by),
            has_begun: false,
            sets,
            ways,
            allocates,
            shared: Lines(vec![Vec::new(); sets]),
            own: HashMap::new(),
            counts,
        })
    }

    /// Simulates the next chunk.
    ///
    /// # Errors
    ///
    /// If the chunk contradicts itself, or has more processes than tags distinguish.
    pub fn feed(&mut self, chunk: &Chunk) -> Result<(), SimulationError> {
        self.check.chunk(chunk)?;
        take_pieces(chunk, self);
        Ok(())
    }

    /// Returns the counts of all accesses to the last level.
    pub fn finish(self) -> LastLevelCounts {
        let held = self.shared.0.iter().map(|lines| lines.len() as u64).sum();
        LastLevelCounts {
            held,
            ..self.counts
        }
    }

    /// Simulates the last level for the requests of the running process's first levels, both in the
    /// level that all processes share and in the process's private one.
    fn answer(&mut self, process: u32) {
        let SideBySide {
            machine,
            sets,
            ways,
            allocates,
            shared,
            own,
            counts,
            ..
        } = self;
        let own = own
            .entry(process)
            .or_insert_with(|| Lines(vec![Vec::new(); *sets]));
        machine.listener_mut().take(|requests| {
            for &LevelRequest { key, kind, .. } in
                requests.iter().filter(|request| request.views.has(PRIVATE))
            {
                let Some(kind) = kind else { continue };
                let (set, comes_in) = (
                    key as usize & (*sets - 1),
                    kind != Kind::Store || *allocates,
                );
                counts.lookups += 1;
                counts.shared += u64::from(!shared.look_up(set, key, *ways, comes_in));
                counts.alone += u64::from(!own.look_up(set, key, *ways, comes_in));
            }
        });
    }

    fn change_process(&mut self) {
        self.has_begun = true;
        let to = self.processes.running();
        self.machine.change_process(to);
    }

    fn change(&mut self, change: Change) {
        if let Some((parent, child)) = change.fork {
            self.machine
                .change_pages(PageChange::Forked { parent, child });
        }
        if change.is_other {
            self.change_process();
        }
        if let Some(process) = change.ended {
            self.machine.drop_process(process);
            self.own.remove(&process);
        }
        if let Some(space) = change.ended_space {
            self.machine.change_pages(PageChange::Ended { space });
        }
    }
}

impl TakePieces for SideBySide {
    fn blocks<'a>(
        &mut self,
        mut blocks: BlockRun<'_>,
        mut references: &'a [Reference],
    ) -> &'a [Reference] {
        while !blocks.is_empty() {
            if !self.has_begun {
                self.change_process();
            }
            let (now, later) = blocks.split_at(blocks.len().min(SLICE_BLOCKS));
            let count: usize = now.iter().map(|block| usize::from(block.references)).sum();
            let (own, rest) = references.split_at(count);
            let Running { process, space, .. } = self.processes.running();
            // Costs are not attributed to code.
            let context = RunContext {
                space,
                code: Context {
                    program: 0,
                    cause: 0,
                },
                mappings: &NOTHING_MAPPED,
            };
            self.machine.run(now, own, &context);
            self.answer(process);
            (blocks, references) = (later, rest);
        }
        references
    }

    fn mark(&mut self, mark: &Mark) {
        match *mark {
            Mark::Birth { .. } | Mark::Exec { .. } | Mark::Exit { .. } => {
                let change = self.processes.follow(mark);
                self.change(change);
            }
            Mark::Switch {
                is_voluntary,
                cause,
                ..
            } => {
                let (_, is_other) = self.processes.switch(mark, is_voluntary, cause);
                self.change(Change {
                    is_other,
                    ..Change::default()
                });
            }
            Mark::Unmap { start, bytes } if self.has_begun => {
                let space = self.processes.running().space;
                self.machine.change_pages(PageChange::Remapped {
                    space,
                    start,
                    bytes,
                });
            }
            Mark::Map(ref mapping) if self.has_begun => {
                let space = self.processes.running().space;
                let (start, bytes) = (mapping.start, mapping.bytes);
                self.machine.change_pages(PageChange::Remapped {
                    space,
                    start,
                    bytes,
                });
            }
            Mark::Page {
                virtual_address,
                physical_address,
                bytes,
            } if self.has_begun => {
                let space = self.processes.running().space;
                let physical = physical_address;
                self.machine.change_pages(PageChange::Recorded {
                    space,
                    virtual_address,
                    physical,
                    bytes,
                });
            }
            _ => (),
        }
    }
}

#[cfg(test)]
mod tests;
