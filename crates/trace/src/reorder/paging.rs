//! Models page faults that wait for a disk. Each page of a file is read at its first use by any
//! task, and stays in memory.
//!
//! Pages without a file, which the kernel fills with zeros, need no wait. The mappings come from
//! the marks of the trace.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::RangeInclusive;

use crate::{Block, Mapping, ProcessId, Reference};

const PAGE: u64 = 4096;

/// Range of addresses to which a part of a file is mapped.
#[derive(Clone, Copy, Debug)]
struct Mapped {
    end: u64,
    file: usize,
    offset: u64,
}

type Mappings = BTreeMap<u64, Mapped>;

/// Mapped files of processes, and their pages in memory.
#[derive(Debug)]
pub(super) struct Paging {
    /// Number of instructions that are executed while the disk reads a page.
    pub(super) delay: u64,
    files: HashMap<Vec<u8>, usize>,
    mappings: HashMap<ProcessId, Mappings>,
    read: HashSet<(usize, u64)>,
    /// Pages of processes that need no read, because they belong to no file or have been read. Most
    /// references are to a few of these pages.
    present: HashSet<(ProcessId, u64)>,
}

impl Paging {
    pub(super) fn new(delay: u64) -> Paging {
        Paging {
            delay,
            files: HashMap::new(),
            mappings: HashMap::new(),
            read: HashSet::new(),
            present: HashSet::new(),
        }
    }

    pub(super) fn map(&mut self, process: ProcessId, mapping: &Mapping) {
        self.unmap(process, mapping.start, mapping.bytes);
        // Memory without a file has no path.
        if mapping.path.is_empty() {
            return;
        }
        let next = self.files.len();
        let file = *self.files.entry(mapping.path.clone()).or_insert(next);
        let mapped = Mapped {
            end: mapping.start.saturating_add(mapping.bytes),
            file,
            offset: mapping.offset,
        };
        self.mappings
            .entry(process)
            .or_default()
            .insert(mapping.start, mapped);
    }

    pub(super) fn unmap(&mut self, process: ProcessId, start: u64, bytes: u64) {
        let end = start.saturating_add(bytes);
        self.forget(process, start / PAGE..=end / PAGE);
        let Some(mappings) = self.mappings.get_mut(&process) else {
            return;
        };
        let touched: Vec<(u64, Mapped)> = mappings
            .range(..end)
            .filter(|(_, old)| old.end > start)
            .map(|(from, old)| (*from, *old))
            .collect();
        for (from, old) in touched {
            mappings.remove(&from);
            if from < start {
                mappings.insert(from, Mapped { end: start, ..old });
            }
            if old.end > end {
                mappings.insert(
                    end,
                    Mapped {
                        offset: old.offset.wrapping_add(end - from),
                        ..old
                    },
                );
            }
        }
    }

    /// Removes pages of a process from `present`. A few pages are removed one by one, because
    /// programs often map and unmap small ranges.
    fn forget(&mut self, process: ProcessId, pages: RangeInclusive<u64>) {
        if pages.end() - pages.start() < self.present.len() as u64 {
            for page in pages {
                self.present.remove(&(process, page));
            }
        } else {
            self.present
                .retain(|(of, page)| *of != process || !pages.contains(page));
        }
    }

    /// Copies the parent's mappings to a new address space.
    pub(super) fn fork(&mut self, parent: ProcessId, child: ProcessId) {
        if parent != child
            && let Some(mappings) = self.mappings.get(&parent).cloned()
        {
            self.mappings.entry(child).or_insert(mappings);
        }
    }

    /// Whether a block must wait for the disk. The pages of its code and of its references count as
    /// read afterwards.
    pub(super) fn faults(
        &mut self,
        process: ProcessId,
        block: &Block,
        references: &[Reference],
    ) -> bool {
        let is_missing = self.reads(process, block.address, block.bytes);
        references.iter().fold(is_missing, |missing, reference| {
            missing | self.reads(process, reference.address(), reference.bytes())
        })
    }

    /// Whether a page of a range, which is at most a page long, must be read from the disk. Its
    /// pages count as read afterwards.
    fn reads(&mut self, process: ProcessId, address: u64, bytes: u16) -> bool {
        let last = address.saturating_add(u64::from(bytes.max(1)) - 1);
        let is_missing = self.reads_page(process, address);
        is_missing | (last / PAGE != address / PAGE && self.reads_page(process, last))
    }

    /// Whether the page at an address must be read from the disk. The page counts as read
    /// afterwards.
    fn reads_page(&mut self, process: ProcessId, address: u64) -> bool {
        if !self.present.insert((process, address / PAGE)) {
            return false;
        }
        let mapped = self
            .mappings
            .get(&process)
            .and_then(|mappings| mappings.range(..=address).next_back());
        match mapped.filter(|(_, mapped)| address < mapped.end) {
            Some((start, Mapped { file, offset, .. })) => self
                .read
                .insert((*file, offset.wrapping_add(address - start) / PAGE)),
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::block;

    fn mapping(start: u64, pages: u64, offset: u64, path: &[u8]) -> Mapping {
        let (path, build_id) = (path.to_vec(), Vec::new());
        Mapping {
            start,
            bytes: pages * PAGE,
            offset,
            path,
            build_id,
            is_executable: true,
        }
    }

    #[test]
    fn a_page_of_a_file_is_read_once_by_whoever_comes_first() {
        let (one, other) = (ProcessId(1), ProcessId(2));
        let mut paging = Paging::new(10);
        paging.map(one, &mapping(0x10_000, 4, 0, b"/lib"));
        paging.map(other, &mapping(0x90_000, 4, 0, b"/lib"));
        assert!(paging.faults(one, &block(0x11_008), &[]));
        assert!(!paging.faults(one, &block(0x11_ffc), &[]), "the same page");
        assert!(
            !paging.faults(other, &block(0x91_000), &[]),
            "the same page of the file"
        );
        assert!(paging.faults(other, &block(0x92_000), &[]));
        assert!(!paging.faults(one, &block(0x50_000), &[]), "no file");
        assert!(
            paging.faults(one, &block(0x12_ffe), &[]),
            "its last bytes lie in the next page, which no one has read"
        );
        let load = Reference::new(0x10_010, 3, 0, false);
        assert!(
            paging.faults(one, &block(0x50_000), &[load])
                && !paging.faults(one, &block(0x50_000), &[load])
        );
    }

    #[test]
    fn a_reference_across_pages_reads_both() {
        let one = ProcessId(1);
        let mut paging = Paging::new(10);
        paging.map(one, &mapping(0x10_000, 4, 0, b"/lib"));
        let [within, across] =
            [0x10_ff8, 0x10_ffc].map(|address| Reference::new(address, 7, 3, false));
        assert!(paging.faults(one, &block(0x50_000), &[within]));
        assert!(paging.faults(one, &block(0x50_000), &[across]));
        assert!(
            !paging.faults(one, &block(0x11_008), &[]),
            "read by the reference"
        );
    }

    #[test]
    fn what_is_mapped_anew_or_inherited_is_looked_up_anew() {
        let (one, child) = (ProcessId(1), ProcessId(2));
        let mut paging = Paging::new(10);
        paging.map(one, &mapping(0x10_000, 4, 0, b"/a"));
        paging.fork(one, child);
        assert!(
            paging.faults(child, &block(0x10_000), &[])
                && !paging.faults(one, &block(0x10_000), &[])
        );
        paging.map(one, &mapping(0x10_000, 1, 0, b"/b"));
        assert!(
            paging.faults(one, &block(0x10_000), &[]),
            "another file lies there now"
        );
        assert!(
            paging.faults(one, &block(0x13_000), &[]),
            "and what is behind it is still there"
        );
        paging.unmap(one, 0x10_000, 4 * PAGE);
        assert!(
            !paging.faults(one, &block(0x12_000), &[]),
            "no file any more"
        );
    }

    #[test]
    fn what_lies_at_the_end_of_all_addresses_and_what_no_file_is_behind_is_no_harm() {
        let one = ProcessId(1);
        let mut paging = Paging::new(10);
        paging.map(one, &mapping(0x10_000, 4, 0, b""));
        assert!(!paging.faults(one, &block(0x10_000), &[]), "no file");
        paging.map(
            one,
            &mapping(u64::MAX - 4 * PAGE, 8, u64::MAX - PAGE, b"/a"),
        );
        assert!(
            paging.faults(one, &block(u64::MAX - 1), &[])
                && paging.faults(one, &block(u64::MAX - 3 * PAGE), &[])
        );
        paging.map(one, &mapping(u64::MAX - 3 * PAGE, 1, 0, b"/b"));
        assert!(
            paging.faults(one, &block(u64::MAX - 3 * PAGE), &[]),
            "another file lies there now"
        );
    }
}
