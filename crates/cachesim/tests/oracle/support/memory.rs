//! Page tables of all processes, for one design.

use std::collections::{HashMap, HashSet};

use switchcost_design::PageAllocation;
use switchcost_trace::Mark;

use super::address::Address;
use super::fault::Fault;
use super::mappings::{Mappings, covers};

/// A `Page` mark, rounded to whole pages.
struct Recorded {
    process: u32,
    virt: u64,
    phys: u64,
    bytes: u64,
}

fn owner(process: u32, virt: u64) -> u32 {
    Address {
        process,
        virt,
        phys: 0,
    }
    .owner()
}

#[derive(Default)]
pub(crate) struct Memory {
    pages: Option<PageAllocation>,
    recorded: Vec<Recorded>,
    mappings: Mappings,
    /// Frame number of each process's pages.
    frames: HashMap<(u32, u64), u32>,
    /// Frame numbers of pages of files, which are identified by build ID or path.
    files: HashMap<(Vec<u8>, Vec<u8>, u64), u32>,
    of_files: HashSet<u32>,
    next: u32,
    fault: Option<Fault>,
}

impl Memory {
    pub(crate) fn new(pages: Option<PageAllocation>, fault: Option<Fault>) -> Memory {
        Memory {
            pages,
            fault,
            ..Memory::default()
        }
    }

    pub(crate) fn tell(&mut self, process: u32, virt: u64, phys: u64, bytes: u64) {
        if bytes.is_power_of_two() && (4096..=1 << 30).contains(&bytes) {
            let process = owner(process, virt);
            self.recorded.push(Recorded {
                process,
                virt: virt / bytes * bytes,
                phys: phys / bytes * bytes,
                bytes,
            });
        }
    }

    pub(crate) fn map(&mut self, process: u32, mark: &Mark) {
        self.mappings.change(process, mark);
        let (start, bytes) = match mark {
            Mark::Map(mapping) => (mapping.start, mapping.bytes),
            &Mark::Unmap { start, bytes } => (start, bytes),
            _ => return,
        };
        let Some(page) = self.pages.map(|pages| pages.size.0) else {
            return;
        };
        let is_within = |number: u64| {
            let (first, last) = (number * page, number * page + (page - 1));
            covers(start, bytes, first) && covers(start, bytes, last)
        };
        self.frames
            .retain(|&(who, number), _| who != process || !is_within(number));
    }

    pub(crate) fn fork(&mut self, parent: u32, child: u32) {
        self.mappings.fork(parent, child);
        let of_parent = |&(&(who, page), &frame): &(&(u32, u64), &u32)| {
            (who == parent).then_some(((child, page), frame))
        };
        let copied: Vec<_> = self
            .frames
            .iter()
            .filter_map(|entry| of_parent(&entry))
            .collect();
        self.frames.extend(copied);
    }

    pub(crate) fn drop_process(&mut self, process: u32) {
        self.mappings.drop_process(process);
        self.frames.retain(|&(who, _), _| who != process);
        self.recorded.retain(|recorded| recorded.process != process);
    }

    /// Translates the address of a load, store or fetch of a process.
    pub(crate) fn address(&mut self, process: u32, virt: u64, is_store: bool) -> Address {
        Address {
            process,
            virt,
            phys: self.physical(process, virt, is_store),
        }
    }

    fn physical(&mut self, process: u32, virt: u64, is_store: bool) -> u64 {
        let process = owner(process, virt);
        let is_recorded = |recorded: &&Recorded| {
            recorded.process == process && covers(recorded.virt, recorded.bytes, virt)
        };
        if let Some(recorded) = self.recorded.iter().rev().find(is_recorded) {
            return recorded.phys + (virt - recorded.virt);
        }
        let Some(pages) = self.pages else { return 0 };
        let page = virt / pages.size.0;
        let mut frame = match self.frames.get(&(process, page)) {
            Some(&frame) => frame,
            None => self.first_frame(process, page * pages.size.0, pages.size.0),
        };
        let shared = self
            .frames
            .iter()
            .any(|(&(who, _), &other)| who != process && other == frame);
        let is_shared = shared && self.fault != Some(Fault::ForksShareStores);
        if is_store && (is_shared || self.of_files.contains(&frame)) {
            frame = self.next_number();
        }
        self.frames.insert((process, page), frame);
        pages.physical_address(frame) + virt % pages.size.0
    }

    fn next_number(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    fn first_frame(&mut self, process: u32, start: u64, page: u64) -> u32 {
        // Mappings of a process in the kernel's half belong to the kernel: `at` has no mapping of
        // that address space.
        let Some(mapping) = self.mappings.at(process, start) else {
            return self.next_number();
        };
        let offset = mapping.offset + (start - mapping.start);
        let has_name = !mapping.path.is_empty() || !mapping.build_id.is_empty();
        if !mapping.is_executable || !has_name || !offset.is_multiple_of(page) {
            return self.next_number();
        }
        let path = if mapping.build_id.is_empty() {
            mapping.path.clone()
        } else {
            Vec::new()
        };
        let file = (mapping.build_id.clone(), path, offset);
        if let Some(&frame) = self.files.get(&file) {
            return frame;
        }
        let frame = self.next_number();
        self.files.insert(file, frame);
        self.of_files.insert(frame);
        frame
    }
}
