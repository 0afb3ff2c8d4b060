//! Lists the lookups of a block, or of a touch by the kernel, in order.

use switchcost_design::Design;
use switchcost_trace::{Block, Reference};

use super::hierarchy::Step;
use super::stack::Kind;

/// A first level, with the line size of a cache or the page size of a TLB.
#[derive(Clone, Copy)]
struct First {
    is_tlb: bool,
    bytes: u64,
}

pub(crate) struct Steps {
    process: u32,
    /// Instruction of the current load or store.
    instruction: Option<u64>,
    space: u32,
    fetch: Vec<First>,
    data: Vec<First>,
    pub(crate) steps: Vec<Step>,
}

fn first_levels(design: &Design, is_on: fn(switchcost_design::Holds) -> bool) -> Vec<First> {
    let tlb = design
        .tlbs
        .iter()
        .find(|tlb| is_on(tlb.holds))
        .map(|tlb| First {
            is_tlb: true,
            bytes: tlb.page.0,
        });
    let cache = design.levels.iter().find(|level| is_on(level.holds));
    let cache = cache.map(|level| First {
        is_tlb: false,
        bytes: level.line.0,
    });
    tlb.into_iter().chain(cache).collect()
}

impl Steps {
    pub(crate) fn new(design: &Design, process: u32, space: u32) -> Steps {
        Steps {
            process,
            instruction: None,
            space,
            fetch: first_levels(design, switchcost_design::Holds::instructions),
            data: first_levels(design, switchcost_design::Holds::data),
            steps: Vec::new(),
        }
    }

    pub(crate) fn block(mut self, block: &Block, references: &[Reference]) -> Vec<Step> {
        let last = block.address.saturating_add(u64::from(block.bytes) - 1);
        let first_end = block
            .address
            .saturating_add(u64::from(block.first_bytes) - 1);
        let mut waiting: Vec<(First, Vec<u64>)> = Vec::new();
        for first in self.fetch.clone() {
            let all = lines(block.address, last, first.bytes);
            let (now, later): (Vec<u64>, Vec<u64>) =
                all.into_iter().partition(|&line| line <= first_end);
            self.look_up(first, Kind::Fetch, &now, block.address);
            waiting.push((first, later));
        }
        for reference in references {
            let end = block.address.saturating_add(u64::from(reference.through()));
            self.fetch_until(&mut waiting, end);
            self.instruction = Some(end);
            let kind = if reference.is_store() {
                Kind::Store
            } else {
                Kind::Load
            };
            self.touch(kind, reference.address(), u64::from(reference.bytes()));
        }
        self.fetch_until(&mut waiting, u64::MAX);
        self.steps
    }

    /// Adds fetches of the code that has been reached, each line separately.
    fn fetch_until(&mut self, waiting: &mut [(First, Vec<u64>)], reached: u64) {
        for (first, lines) in waiting {
            while lines.first().is_some_and(|&line| line <= reached) {
                let line = lines.remove(0);
                self.look_up(*first, Kind::Fetch, &[line], line);
            }
        }
    }

    pub(crate) fn touch(&mut self, kind: Kind, address: u64, bytes: u64) {
        let last = address.saturating_add(bytes - 1);
        for first in self.data.clone() {
            self.look_up(first, kind, &lines(address, last, first.bytes), address);
        }
    }

    fn look_up(&mut self, first: First, kind: Kind, lines: &[u64], first_byte: u64) {
        for (index, &virt) in lines.iter().enumerate() {
            let (is_tlb, first_byte) = (first.is_tlb, virt.max(first_byte));
            let Steps {
                process,
                space,
                instruction,
                ..
            } = *self;
            let is_first = index == 0;
            self.steps.push(Step {
                is_tlb,
                kind,
                process,
                space,
                virt,
                first_byte,
                instruction,
                is_first,
            });
        }
    }

    /// Adds a touch by the kernel, in pieces of at most 64 bytes.
    pub(crate) fn kernel(mut self, kind: Kind, address: u64, bytes: u64) -> Vec<Step> {
        if bytes == 0 {
            return self.steps;
        }
        let last = address.saturating_add(bytes.min(1 << 30) - 1);
        for piece in lines(address, last, 64) {
            let start = piece.max(address);
            let end = (piece + 63).min(last);
            self.touch(kind, start, end - start + 1);
        }
        self.steps
    }
}

/// Returns the addresses of the lines that contain the bytes from `first` to `last`.
fn lines(first: u64, last: u64, bytes: u64) -> Vec<u64> {
    (first / bytes..=last / bytes)
        .map(|line| line * bytes)
        .collect()
}
