//! Memory for working sets and for data that tasks share, mapped and unmapped as owned handles.

use std::io;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use switchcost_units::Bytes;
use switchcost_workload::Pages;

/// Size and alignment of a huge page in bytes, on x86-64 and on aarch64 with base pages of 4 KiB.
const HUGE_PAGE: usize = 2 << 20;

/// Whether mapped memory is shared with forked processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapType {
    /// The memory is private, copied on write after a fork.
    Private,
    /// The memory is shared with every process that is forked later.
    Shared,
}

/// Why memory could not be mapped.
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    /// The kernel refused the mapping.
    #[error(
        "cannot allocate {size} for each task ({source}); use a smaller --size or fewer --tasks"
    )]
    Refused {
        /// Size that was requested.
        size: Bytes,
        /// Error of the kernel.
        source: io::Error,
    },
    /// The kernel gave base pages although huge pages were requested.
    #[error(
        "only {granted} of {size} is on huge pages; echo madvise > /sys/kernel/mm/transparent_hugepage/enabled, and to make it \
         last add transparent_hugepage=madvise to the kernel's command line, or use --pages base"
    )]
    NoHugePages {
        /// Size that was requested.
        size: Bytes,
        /// Size of the part on huge pages.
        granted: Bytes,
    },
}

/// A mapping of whole pages, seen as the bits of doubles. The mapping is unmapped when dropped.
#[derive(Debug)]
pub struct Memory {
    mapping: NonNull<std::ffi::c_void>,
    mapped: usize,
    start: NonNull<AtomicU64>,
    words: usize,
}

// SAFETY: the mapping belongs to this value alone and holds only atomics, which any thread may use.
unsafe impl Send for Memory {}
// SAFETY: as above: shared access is to atomics.
unsafe impl Sync for Memory {}

impl Memory {
    /// Maps `size` bytes of zeroed memory, without touching it. A `size` of 0 gives an empty
    /// mapping.
    pub fn map(size: Bytes, map_type: MapType, pages: Pages) -> Result<Memory, MapError> {
        let refused = |source| MapError::Refused { size, source };
        let slack = if pages == Pages::Huge { HUGE_PAGE } else { 0 };
        let mapped = size
            .as_usize()
            .checked_add(slack)
            .ok_or_else(|| refused(io::ErrorKind::OutOfMemory.into()))?
            .max(1);
        let sharing = match map_type {
            MapType::Private => MapFlags::PRIVATE,
            MapType::Shared => MapFlags::SHARED,
        };
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new anonymous mapping at a place of the kernel's choice touches no memory of ours.
        let address = unsafe { mmap_anonymous(std::ptr::null_mut(), mapped, protection, sharing) };
        let address = address.map_err(|error| refused(error.into()))?;
        let mapping = NonNull::new(address).expect("the kernel maps nothing at address 0 unasked");
        let offset = if slack > 0 {
            address.align_offset(HUGE_PAGE)
        } else {
            0
        };
        // SAFETY: the offset is below HUGE_PAGE, and the mapping was made that much larger.
        let start = unsafe { mapping.byte_add(offset) }.cast::<AtomicU64>();
        let memory = Memory {
            mapping,
            mapped,
            start,
            words: size.as_usize() / size_of::<AtomicU64>(),
        };
        memory.advise(pages);
        Ok(memory)
    }

    /// Tells the kernel which pages are wanted (madvise), so that the system-wide setting of
    /// transparent huge pages does not decide.
    fn advise(&self, pages: Pages) {
        let advice = match pages {
            Pages::Base => Advice::LinuxNoHugepage,
            Pages::Huge => Advice::LinuxHugepage,
        };
        // SAFETY: the range is our mapping. A refusal (a kernel without huge pages) is seen by `require_huge`.
        let _ = unsafe { madvise(self.mapping.as_ptr(), self.mapped, advice) };
    }

    /// Checks that the whole memory is on huge pages. Memory that was never touched is not.
    pub fn require_huge(&self) -> Result<(), MapError> {
        let size = Bytes((self.words * size_of::<AtomicU64>()) as u64);
        let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap_or_default();
        let first = self.start.as_ptr() as u64;
        let granted = huge_bytes(&smaps, first, first + size.0);
        if granted >= size {
            Ok(())
        } else {
            Err(MapError::NoHugePages { size, granted })
        }
    }
}

/// Returns the number of bytes on huge pages in all mappings of `smaps` that overlap the addresses
/// `first..last`.
fn huge_bytes(smaps: &str, first: u64, last: u64) -> Bytes {
    let mut is_ours = false;
    let mut kib = 0;
    for line in smaps.lines() {
        if let Some((from, to)) = mapping_range(line) {
            is_ours = from < last && first < to;
        } else if is_ours
            && (line.starts_with("AnonHugePages:") || line.starts_with("ShmemPmdMapped:"))
        {
            kib += line
                .split_whitespace()
                .nth(1)
                .and_then(|n| n.parse::<u64>().ok())
                .unwrap_or(0);
        }
    }
    Bytes::kib(kib)
}

fn mapping_range(line: &str) -> Option<(u64, u64)> {
    let (from, to) = line.split_whitespace().next()?.split_once('-')?;
    Some((
        u64::from_str_radix(from, 16).ok()?,
        u64::from_str_radix(to, 16).ok()?,
    ))
}

impl Deref for Memory {
    type Target = [AtomicU64];

    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: `start` is aligned (to a page) and valid for `words` words until drop; the kernel zeroed them, and
        // every bit pattern is an AtomicU64.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.words) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the range is the one mapped in `map`, and nothing borrows it any more.
        let _ = unsafe { munmap(self.mapping.as_ptr(), self.mapped) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn maps_zeroed_words_of_every_kind() {
        for (map_type, pages) in [
            (MapType::Private, Pages::Base),
            (MapType::Shared, Pages::Base),
            (MapType::Private, Pages::Huge),
        ] {
            let memory = Memory::map(Bytes::mib(4), map_type, pages).expect("4 MiB");
            assert_eq!(memory.len(), 4 << 17);
            assert!(memory.iter().all(|word| word.load(Relaxed) == 0));
        }
        assert!(
            Memory::map(Bytes(0), MapType::Private, Pages::Base)
                .expect("nothing")
                .is_empty()
        );
    }

    #[test]
    fn an_impossible_size_is_an_error_with_advice() {
        let error = Memory::map(Bytes(u64::MAX / 4), MapType::Private, Pages::Base)
            .expect_err("more than any machine");
        assert!(
            error
                .to_string()
                .contains("use a smaller --size or fewer --tasks"),
            "{error}"
        );
    }

    #[test]
    fn counts_the_huge_pages_of_the_overlapping_mapping_only() {
        let smaps = "1000-3000 rw-p 00000000 00:00 0 \nAnonHugePages:      2048 kB\n\
                     9000-a000 rw-p 00000000 00:00 0 \nAnonHugePages:      4096 kB\n";
        assert_eq!(huge_bytes(smaps, 0x1000, 0x2000), Bytes::mib(2));
        assert_eq!(huge_bytes(smaps, 0x3000, 0x4000), Bytes(0));
    }

    #[test]
    fn base_pages_are_never_huge() {
        let memory = Memory::map(Bytes::mib(8), MapType::Private, Pages::Base).expect("8 MiB");
        memory.iter().for_each(|word| word.store(1, Relaxed));
        assert!(memory.require_huge().is_err());
    }
}
