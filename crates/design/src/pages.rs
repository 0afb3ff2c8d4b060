//! Placement of pages in physical memory.

use serde::{Deserialize, Serialize};
use strum::Display;
use switchcost_units::Bytes;

use crate::size_text;

/// Rule by which pages are assigned to physical frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageAllocation {
    /// Page size in bytes, a power of two.
    #[serde(with = "size_text")]
    pub size: Bytes,
    /// Order of frames in which pages are assigned.
    #[serde(default, skip_serializing_if = "PageOrder::is_random")]
    pub order: PageOrder,
    /// Seed of the random order of frames.
    #[serde(default)]
    pub seed: u64,
}

/// Order of physical frames in which new pages are assigned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum PageOrder {
    /// Pages get random frames, as on a system that has run for a while.
    #[default]
    Random,
    /// Pages get ascending frames, as when memory is free in long runs.
    Consecutive,
}

impl PageOrder {
    fn is_random(&self) -> bool {
        *self == PageOrder::Random
    }
}

/// Bit that is set in every assigned physical address, so that no assigned address equals an
/// address in a trace.
const MADE_UP: u64 = 1 << 62;

impl PageAllocation {
    /// Returns the physical address of the page with the number `number`. Pages are numbered from 0
    /// in the order of their first requests.
    ///
    /// No two pages get the same frame, because the mixing function is a permutation.
    pub const fn physical_address(&self, number: u32) -> u64 {
        let frame = match self.order {
            PageOrder::Random => {
                let low = self.seed as u32;
                let high = (self.seed >> 32) as u32;
                mixed(mixed(number ^ low) ^ high)
            }
            PageOrder::Consecutive => number,
        };
        MADE_UP + frame as u64 * self.size.0
    }
}

/// Returns a permuted number, by the finalizer of MurmurHash3 for 32 bits (Austin Appleby, public
/// domain), which is a permutation of all 32-bit numbers.
const fn mixed(number: u32) -> u32 {
    let number = (number ^ (number >> 16)).wrapping_mul(0x85eb_ca6b);
    let number = (number ^ (number >> 13)).wrapping_mul(0xc2b2_ae35);
    number ^ (number >> 16)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use switchcost_units::Bytes;

    use super::*;

    #[test]
    fn the_mix_is_the_published_one() {
        // Test values of fmix32, as they are listed for MurmurHash3.
        assert_eq!(mixed(0), 0);
        assert_eq!(mixed(1), 0x514e_28b7);
        assert_eq!(mixed(2), 0x30f4_c306);
    }

    #[test]
    fn each_page_has_a_frame_of_its_own() {
        let pages = PageAllocation {
            size: Bytes::kib(4),
            order: PageOrder::Random,
            seed: 0x1234_5678_9abc,
        };
        let frames: HashSet<u64> = (0..100_000)
            .map(|order| pages.physical_address(order))
            .collect();
        assert_eq!(frames.len(), 100_000);
        assert!(
            frames
                .iter()
                .all(|address| address.is_multiple_of(4096) && *address >= 1 << 62)
        );
    }

    #[test]
    fn frames_fill_the_sets_of_a_cache_evenly() {
        // 64 colours, 64 pages for each: a fair draw leaves none with fewer than 32 or more than 96 (4 deviations).
        let pages = PageAllocation {
            size: Bytes::kib(4),
            order: PageOrder::Random,
            seed: 1,
        };
        let mut colours = [0_u32; 64];
        (0..4096)
            .for_each(|order| colours[(pages.physical_address(order) / 4096 % 64) as usize] += 1);
        assert!(
            colours.iter().all(|count| (32..=96).contains(count)),
            "{colours:?}"
        );
    }

    #[test]
    fn consecutive_frames_lie_one_behind_the_other() {
        let pages = PageAllocation {
            size: Bytes::kib(8),
            order: PageOrder::Consecutive,
            seed: 5,
        };
        let frames = [0, 1, 2, u32::MAX].map(|number| pages.physical_address(number) - (1 << 62));
        assert_eq!(frames, [0, 8192, 16384, 8192 * u64::from(u32::MAX)]);
    }

    #[test]
    fn another_seed_gives_other_frames() {
        let first = |seed| {
            PageAllocation {
                size: Bytes::kib(4),
                order: PageOrder::Random,
                seed,
            }
            .physical_address(0)
        };
        let all: HashSet<u64> = [0, 1, 2, 1 << 32, 1 << 40].map(first).into_iter().collect();
        assert_eq!(all.len(), 5);
    }
}
