//! A hierarchy: caches and TLBs with a clock.

use switchcost_design::Design;
use switchcost_design::result::{HierarchyCounts, LevelCounts};

use super::address::{Address, KERNEL};
use super::fault::Fault;
use super::shape::Shape;
use super::stack::{Event, Kind, Run, Stack};

/// A lookup by the processor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) is_tlb: bool,
    pub(crate) kind: Kind,
    pub(crate) process: u32,
    pub(crate) space: u32,
    pub(crate) virt: u64,
    /// First requested byte in the line.
    pub(crate) first_byte: u64,
    /// Last byte of the loading or storing instruction.
    pub(crate) instruction: Option<u64>,
    /// Whether the lookup is the first of its reference: at most one miss is counted until the next
    /// first lookup.
    pub(crate) is_first: bool,
}

pub(crate) struct Hierarchy {
    pub(crate) caches: Stack,
    pub(crate) tlbs: Stack,
    pub(crate) clock: u64,
    pub(crate) stall_cycles: u64,
    has_missed: [bool; 2],
    fault: Option<Fault>,
}

impl Hierarchy {
    pub(crate) fn new(design: &Design, fault: Option<Fault>) -> Hierarchy {
        let caches = design.levels.iter().map(Shape::of_cache).collect();
        let tlbs = design.tlbs.iter().map(Shape::of_tlb).collect();
        Hierarchy {
            caches: Stack::new(caches, false, fault),
            tlbs: Stack::new(tlbs, true, fault),
            clock: 0,
            stall_cycles: 0,
            has_missed: [false; 2],
            fault,
        }
    }

    pub(crate) fn stack(&self, is_tlb: bool) -> &Stack {
        if is_tlb { &self.tlbs } else { &self.caches }
    }

    /// Begins a block: adds the instructions' own cycles, and counts them as fetches at first
    /// levels.
    pub(crate) fn begin_block(&mut self, instructions: u64) {
        self.clock += instructions;
        for stack in [&mut self.caches, &mut self.tlbs] {
            if let Some(first) = stack.first(Kind::Fetch) {
                stack.count_access(first, Kind::Fetch, instructions);
            }
        }
    }

    /// Makes a lookup; returns whether the line was missing.
    pub(crate) fn step(&mut self, step: Step, address: Address) -> bool {
        let Hierarchy {
            caches,
            tlbs,
            clock,
            stall_cycles,
            has_missed,
            ..
        } = self;
        let stack = if step.is_tlb { tlbs } else { caches };
        let has_missed = &mut has_missed[usize::from(step.is_tlb)];
        let first = stack
            .first(step.kind)
            .expect("steps are made for levels that exist");
        if step.is_first {
            *has_missed = false;
            if step.kind != Kind::Fetch {
                stack.count_access(first, step.kind, 1);
            }
        }
        let is_kernels = address.owner() == KERNEL && self.fault != Some(Fault::KernelOwnsNothing);
        let owner = if is_kernels { KERNEL } else { step.process };
        let asking = if step.kind == Kind::Fetch {
            Some(step.first_byte)
        } else {
            step.instruction
        };
        let mut run = Run {
            clock,
            stall_cycles,
            owner,
            process: step.process,
            instruction: step.instruction,
            signature: folded(asking.unwrap_or(0)),
            first_byte: step.first_byte,
            is_first_line: step.is_first,
        };
        let is_miss = stack.look_up_first(&mut run, step.kind, address).is_miss;
        if is_miss {
            if !*has_missed || self.fault == Some(Fault::EachLineIsAMiss) {
                stack.count_miss(first, step.kind);
            }
            *has_missed = true;
        }
        is_miss
    }

    /// Sets the ways that the running process may fill.
    pub(crate) fn let_fill(&mut self, program: &str, process: u32) {
        self.caches
            .levels
            .iter_mut()
            .for_each(|cache| cache.let_fill(program, process));
    }

    /// Returns the misses by level so far.
    pub(crate) fn misses(&self, is_tlb: bool) -> Vec<u64> {
        self.stack(is_tlb)
            .levels
            .iter()
            .map(|cache| cache.counts.misses())
            .collect()
    }

    /// Returns the misses so far, by level, then by TLB.
    pub(crate) fn all_misses(&self) -> Vec<u64> {
        [self.misses(false), self.misses(true)].concat()
    }

    /// Flushes the levels that the design flushes at a switch to another address space.
    pub(crate) fn flush_where_asked(&mut self) {
        let forgets_tlbs = self.fault == Some(Fault::FlushForgetsTlbs);
        for stack in [&mut self.caches, &mut self.tlbs] {
            let asked: Vec<usize> = (0..stack.levels.len())
                .filter(|&level| stack.levels[level].shape.flushes())
                .collect();
            if !(stack.is_tlb && forgets_tlbs) {
                asked
                    .into_iter()
                    .for_each(|level| stack.flush(level, self.clock));
            }
        }
    }

    pub(crate) fn flush_all(&mut self) {
        for stack in [&mut self.caches, &mut self.tlbs] {
            (0..stack.levels.len()).for_each(|level| stack.flush(level, self.clock));
        }
    }

    /// Returns the events of lines since the last call, each with true if the line was in a TLB.
    pub(crate) fn take_events(&mut self) -> Vec<(bool, Event)> {
        let mut all = Vec::new();
        for stack in [&mut self.caches, &mut self.tlbs] {
            all.extend(stack.events.drain(..).map(|event| (stack.is_tlb, event)));
        }
        all
    }

    pub(crate) fn counts(&self) -> HierarchyCounts {
        let counts = |stack: &Stack| {
            stack
                .levels
                .iter()
                .map(|cache| cache.counts.clone())
                .collect()
        };
        HierarchyCounts {
            cycles: self.clock,
            write_stall_cycles: self.stall_cycles,
            levels: counts(&self.caches),
            tlbs: counts(&self.tlbs),
        }
    }
}

/// Folds an address into 14 bits, by combining pieces of 14 bits.
fn folded(mut address: u64) -> u64 {
    let mut all = 0;
    while address > 0 {
        all ^= address % (1 << 14);
        address >>= 14;
    }
    all
}

/// Adds the counters of a hierarchy of the same design.
pub(crate) fn add(sum: &mut HierarchyCounts, more: &HierarchyCounts) {
    sum.cycles += more.cycles;
    sum.write_stall_cycles += more.write_stall_cycles;
    for (sum, more) in sum
        .levels
        .iter_mut()
        .zip(&more.levels)
        .chain(sum.tlbs.iter_mut().zip(&more.tlbs))
    {
        add_level(sum, more);
    }
}

fn add_level(sum: &mut LevelCounts, more: &LevelCounts) {
    macro_rules! add {
        ($($field:ident)*) => { $(sum.$field += more.$field;)* };
    }
    add!(instruction_accesses instruction_misses load_accesses load_misses store_accesses store_misses);
    add!(fills write_backs prefetches victim_hits stream_hits cycles);
    add!(prefetch_hits late_stream_hits back_invalidations moves bus_lines);
}
