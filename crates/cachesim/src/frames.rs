//! Physical addresses, from the trace or assigned (`docs/method/simulation.md`, "Addresses").

use std::collections::{BTreeMap, HashMap};

use switchcost_design::PageAllocation;
use switchcost_design::result::PhysicalPages;

use crate::address::{KERNEL, VIRTUAL_MASK, owner, sign_extended};
use crate::mappings::Mappings;

/// Range of page sizes that a trace may have, as powers of two.
const PAGE_BITS: std::ops::RangeInclusive<u32> = 12..=30;
/// Number of entries of the translation cache.
const CACHED: usize = 256;

/// Physical address of a page, as a mark of the trace gives it.
#[derive(Clone, Copy, Debug)]
struct Recorded {
    physical: u64,
    /// Sequence number of the mark. If several marks cover an address, the latest counts.
    order: u64,
}

/// Frames of one address space.
#[derive(Debug, Default)]
struct Space {
    /// Recorded pages, by size in bits and by page number.
    recorded: BTreeMap<u32, HashMap<u64, Recorded>>,
    /// Assigned frame numbers, by page number.
    made_up: BTreeMap<u64, u32>,
}

/// A recently used translation.
#[derive(Clone, Copy, Debug, Default)]
struct CachedTranslation {
    /// Process, number of the 4 KiB page, and whether stores are allowed, in one word; 0 if the
    /// entry is empty.
    key: u64,
    /// Physical address minus virtual address, modulo 2^64.
    distance: u64,
}

/// Filter of the physical pages that more than one address space has ever had. Lines of a page that
/// was once shared may remain in the private caches of several processes. False positives are
/// possible, false negatives are not (Bloom 1970, with one hash).
#[derive(Debug)]
struct SharedPages(Vec<u64>);

const SHARED_PAGES_BITS: u32 = 16;

impl SharedPages {
    fn none() -> SharedPages {
        SharedPages(vec![0; 1 << (SHARED_PAGES_BITS - 6)])
    }

    fn place(page: u64) -> (usize, u64) {
        // Multiplying spreads numbers over the upper bits (Knuth's multiplicative hashing).
        let hash = page.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - SHARED_PAGES_BITS);
        ((hash >> 6) as usize, 1 << (hash & 63))
    }

    fn add(&mut self, page: u64) {
        let (word, bit) = SharedPages::place(page);
        self.0[word] |= bit;
    }

    fn add_all(&mut self) {
        self.0.fill(u64::MAX);
    }

    #[inline]
    fn may_have(&self, page: u64) -> bool {
        let (word, bit) = SharedPages::place(page);
        self.0[word] & bit != 0
    }
}

/// All page frames of one design.
#[derive(Debug)]
pub(crate) struct Frames {
    allocation: PageAllocation,
    page_bits: u32,
    next: u32,
    marks: u64,
    spaces: HashMap<u32, Space>,
    /// Frame numbers of file pages, by file and offset.
    files: HashMap<(Vec<u8>, u64), u32>,
    /// Number of holders of each frame that has more than one. A file counts as a holder.
    holders: HashMap<u32, u32>,
    cached: Vec<CachedTranslation>,
    shared: SharedPages,
    /// Whether any page has moved to another frame since [`Frames::take_moved`] was last called.
    has_moved: bool,
}

impl Frames {
    pub(crate) fn new(allocation: PageAllocation) -> Frames {
        Frames {
            allocation,
            page_bits: allocation.size.0.trailing_zeros(),
            next: 0,
            marks: 0,
            spaces: HashMap::new(),
            files: HashMap::new(),
            holders: HashMap::new(),
            cached: vec![CachedTranslation::default(); CACHED],
            shared: SharedPages::none(),
            has_moved: false,
        }
    }

    /// Returns the numbers of recorded and of assigned pages.
    pub(crate) fn counts(&self) -> PhysicalPages {
        PhysicalPages {
            recorded: self.marks,
            assigned: self.next.into(),
        }
    }

    /// Translates the low 48 bits of a virtual address to a physical address.
    #[inline]
    pub(crate) fn translate(
        &mut self,
        process: u32,
        address: u64,
        is_store: bool,
        mappings: &Mappings,
    ) -> u64 {
        let address = sign_extended(address);
        let page = (address & VIRTUAL_MASK) >> 12;
        let key = 1 << 63 | u64::from(process) << 37 | page << 1 | 1;
        let place = (page as usize ^ process as usize) % CACHED;
        let cached = self.cached[place];
        let wanted = if is_store { key } else { key & !1 };
        let held = if is_store {
            cached.key
        } else {
            cached.key & !1
        };
        if held == wanted && self.is_exact(process) {
            return address.wrapping_add(cached.distance);
        }
        let physical = self.look_up(process, address, is_store, mappings);
        self.cached[place] = CachedTranslation {
            key: wanted,
            distance: physical.wrapping_sub(address),
        };
        physical
    }

    /// Whether the key of a cached translation distinguishes `process` from all other processes.
    #[inline]
    fn is_exact(&self, process: u32) -> bool {
        process < 1 << 26
    }

    /// Returns whether a page has moved to another frame since the last call.
    #[inline]
    pub(crate) fn take_moved(&mut self) -> bool {
        std::mem::take(&mut self.has_moved)
    }

    /// Whether several address spaces may have touched the page of a physical address.
    #[inline]
    pub(crate) fn may_be_shared(&self, physical: u64) -> bool {
        self.shared.may_have(physical >> self.page_bits)
    }

    fn share(&mut self, frame: u32) {
        self.shared
            .add(self.allocation.physical_address(frame) >> self.page_bits);
    }

    fn look_up(&mut self, process: u32, address: u64, is_store: bool, mappings: &Mappings) -> u64 {
        let process = owner(process, address);
        let space = self.spaces.entry(process).or_default();
        if let Some(physical) = space.recorded_address(address) {
            return physical;
        }
        let page = address >> self.page_bits;
        let frame = match space.made_up.get(&page) {
            Some(&frame) => frame,
            None => {
                let frame = if process == KERNEL {
                    self.first_of_kernel()
                } else {
                    self.first_frame(page, mappings)
                };
                self.set(process, page, frame);
                frame
            }
        };
        let frame = if is_store {
            self.own(process, page, frame)
        } else {
            frame
        };
        self.allocation.physical_address(frame) + (address & ((1 << self.page_bits) - 1))
    }

    fn set(&mut self, process: u32, page: u64, frame: u32) {
        self.spaces
            .entry(process)
            .or_default()
            .made_up
            .insert(page, frame);
    }

    fn take_next(&mut self) -> u32 {
        let frame = self.next;
        self.next = self.next.wrapping_add(1);
        frame
    }

    /// Assigns a frame to a page of the kernel at its first lookup by any process.
    fn first_of_kernel(&mut self) -> u32 {
        let frame = self.take_next();
        self.share(frame);
        frame
    }

    /// Assigns a frame to a page that is looked up for the first time.
    fn first_frame(&mut self, page: u64, mappings: &Mappings) -> u32 {
        let Some(place) = mappings.executable_place(page << self.page_bits, self.page_bits) else {
            return self.take_next();
        };
        if let Some(&frame) = self.files.get(&place) {
            *self.holders.entry(frame).or_insert(1) += 1;
            self.share(frame);
            return frame;
        }
        let frame = self.take_next();
        self.files.insert(place, frame);
        self.share(frame);
        self.holders.insert(frame, 2);
        frame
    }

    /// Returns the frame for a store: a new frame if another process or a file shares the page's
    /// frame (copy-on-write).
    fn own(&mut self, process: u32, page: u64, frame: u32) -> u32 {
        if !self.holders.contains_key(&frame) {
            return frame;
        }
        self.release(frame);
        let own = self.take_next();
        self.set(process, page, own);
        self.forget_cached();
        self.has_moved = true;
        own
    }

    fn release(&mut self, frame: u32) {
        if let Some(holders) = self.holders.get_mut(&frame) {
            *holders -= 1;
            if *holders == 1 {
                self.holders.remove(&frame);
            }
        }
    }

    fn forget_cached(&mut self) {
        self.cached.fill(CachedTranslation::default());
    }

    /// Records a page's frame from a mark.
    pub(crate) fn record(&mut self, process: u32, virtual_address: u64, physical: u64, bytes: u64) {
        let bits = bits_of(bytes);
        let Some(bits) = bits else { return };
        self.marks += 1;
        // All pages count as shared, because the address spaces that have this page are not
        // recorded.
        self.shared.add_all();
        let recorded = Recorded {
            physical: physical >> bits << bits,
            order: self.marks,
        };
        let address = sign_extended(virtual_address);
        let (process, page) = (owner(process, address), address >> bits);
        self.spaces
            .entry(process)
            .or_default()
            .recorded
            .entry(bits)
            .or_default()
            .insert(page, recorded);
        self.forget_cached();
    }

    /// Gives a new address space the parent's assigned frames, which both then share.
    pub(crate) fn fork(&mut self, parent: u32, child: u32) {
        let made_up = self
            .spaces
            .get(&parent)
            .map(|space| space.made_up.clone())
            .unwrap_or_default();
        for &frame in made_up.values() {
            *self.holders.entry(frame).or_insert(1) += 1;
            self.share(frame);
        }
        self.spaces.insert(
            child,
            Space {
                made_up,
                ..Space::default()
            },
        );
        self.forget_cached();
    }

    /// Forgets the frames of a range whose mapping changes or ends.
    pub(crate) fn unmap(&mut self, process: u32, start: u64, bytes: u64) {
        let Some(space) = self.spaces.get_mut(&process) else {
            return;
        };
        let first = (u128::from(start)).div_ceil(1 << self.page_bits) as u64;
        let end = ((u128::from(start) + u128::from(bytes)) >> self.page_bits) as u64;
        if first >= end {
            return;
        }
        let lost: Vec<(u64, u32)> = space
            .made_up
            .range(first..end)
            .map(|(&page, &frame)| (page, frame))
            .collect();
        for (page, _) in &lost {
            space.made_up.remove(page);
        }
        lost.iter().for_each(|&(_, frame)| self.release(frame));
        self.forget_cached();
    }

    /// Forgets an address space that has ended.
    pub(crate) fn drop_space(&mut self, process: u32) {
        let Some(space) = self.spaces.remove(&process) else {
            return;
        };
        space
            .made_up
            .values()
            .for_each(|&frame| self.release(frame));
        self.forget_cached();
    }
}

fn bits_of(bytes: u64) -> Option<u32> {
    let bits = bytes.trailing_zeros();
    (bytes.is_power_of_two() && PAGE_BITS.contains(&bits)).then_some(bits)
}

impl Space {
    fn recorded_address(&self, address: u64) -> Option<u64> {
        let covering = self
            .recorded
            .iter()
            .filter_map(|(&bits, pages)| Some((bits, pages.get(&(address >> bits))?)));
        let (bits, recorded) = covering.max_by_key(|(_, recorded)| recorded.order)?;
        Some(recorded.physical | address & ((1 << bits) - 1))
    }
}

#[cfg(test)]
mod tests {
    use switchcost_design::PageOrder;

    use super::*;

    #[test]
    fn the_kernels_pages_are_the_same_in_all_address_spaces() {
        let size = switchcost_units::Bytes(4096);
        let mut frames = Frames::new(PageAllocation {
            size,
            order: PageOrder::Random,
            seed: 1,
        });
        let mappings = Mappings::default();
        let mut at = |process, address| frames.translate(process, address, true, &mappings);
        let (kernel, user) = (0xffff_8880_0000_1040, 0x7fff_0000_1040);
        let first = at(1, kernel);
        assert_eq!(at(2, kernel), first);
        assert_ne!(at(1, user), at(2, user));
        frames.drop_space(1);
        assert_eq!(
            frames.translate(3, kernel, false, &mappings),
            first,
            "it outlives those who entered it"
        );
        assert!(frames.may_be_shared(first));
        frames.record(4, kernel, 0x7000, 4096);
        assert_eq!(
            frames.translate(5, kernel, false, &mappings),
            0x7040,
            "a mark of one process holds for all"
        );
        assert_eq!(
            frames.counts(),
            PhysicalPages {
                recorded: 1,
                assigned: 3
            }
        );
    }
}
