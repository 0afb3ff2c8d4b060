//! TLBs as AMD's CPUID reports them (AMD64 Architecture Programmer's Manual, volume 3, appendix
//! E.4).
//!
//! The registers are decoded here, because the counts have 12 bits. The CPUID crate, which decodes
//! the other leaves, keeps only 8 bits for pages of 1 GiB.

use raw_cpuid::CpuIdReader;
use switchcost_record::{Tlb, TlbKind};
use switchcost_units::Bytes;

const L1: u32 = 0x8000_0005;
const L2: u32 = 0x8000_0006;
const GIBIBYTE_PAGES: u32 = 0x8000_0019;
const LARGEST_EXTENDED: u32 = 0x8000_0000;

const BASE_PAGE: Bytes = Bytes::kib(4);
const LARGE_PAGE: Bytes = Bytes::mib(2);
const GIANT_PAGE: Bytes = Bytes::mib(1024);

pub(super) fn tlbs<R: CpuIdReader>(reader: &R) -> Vec<Tlb> {
    let largest = reader.cpuid1(LARGEST_EXTENDED).eax;
    let leaf = |number: u32| (number <= largest).then(|| reader.cpuid1(number));
    let mut tlbs = Vec::new();
    if let Some(l1) = leaf(L1) {
        tlbs.extend(pair(1, BASE_PAGE, narrow(l1.ebx)));
        tlbs.extend(pair(1, LARGE_PAGE, narrow(l1.eax)));
    }
    if let Some(l2) = leaf(L2) {
        tlbs.extend(second_level(BASE_PAGE, wide(l2.ebx)));
        tlbs.extend(second_level(LARGE_PAGE, wide(l2.eax)));
    }
    if let Some(giant) = leaf(GIBIBYTE_PAGES) {
        tlbs.extend(pair(1, GIANT_PAGE, wide(giant.eax)));
        tlbs.extend(second_level(GIANT_PAGE, wide(giant.ebx)));
    }
    tlbs
}

/// Numbers of entries of a data TLB and of an instruction TLB.
type Entries = (u32, u32);

/// Returns the numbers of TLB entries in a register of a first-level leaf, where each has 8 bits.
fn narrow(register: u32) -> Entries {
    (register >> 16 & 0xff, register & 0xff)
}

/// Returns the numbers of TLB entries in a register of a second-level leaf, where each has 12 bits.
fn wide(register: u32) -> Entries {
    (register >> 16 & 0xfff, register & 0xfff)
}

fn pair(level: u32, page_bytes: Bytes, (data, instruction): Entries) -> Vec<Tlb> {
    let tlb = |kind, entries| Tlb {
        level,
        kind,
        entries,
        page_bytes,
    };
    let both = [
        tlb(TlbKind::Data, data),
        tlb(TlbKind::Instruction, instruction),
    ];
    both.into_iter().filter(|tlb| tlb.entries != 0).collect()
}

/// Returns the second-level TLBs for one page size, from the numbers of entries that CPUID reports.
/// If the number for data is 0, the TLB is unified, and the number for instructions is its size.
fn second_level(page_bytes: Bytes, (data, instruction): Entries) -> Vec<Tlb> {
    match (data, instruction) {
        (0, entries) if entries != 0 => vec![Tlb {
            level: 2,
            kind: TlbKind::Unified,
            entries,
            page_bytes,
        }],
        entries => pair(2, page_bytes, entries),
    }
}

#[cfg(test)]
mod tests {
    use raw_cpuid::CpuIdResult;

    use super::*;
    use crate::cpuid::tests::result;

    /// Returns the CPUID leaves of a Zen 3 server.
    fn zen3(leaf: u32, _: u32) -> CpuIdResult {
        let (eax, ebx) = match leaf {
            0x8000_0000 => (0x8000_0021, 0),
            0x8000_0005 => (0xff40_ff40, 0xff40_ff40),
            0x8000_0006 => (0x4800_2200, 0x6800_4200),
            0x8000_0019 => (0xf040_f040, 0xf040_0000),
            _ => (0, 0),
        };
        result(eax, ebx, 0, 0)
    }

    fn entries(tlbs: &[Tlb], level: u32, kind: TlbKind, page_bytes: Bytes) -> Option<u32> {
        let mut found = tlbs
            .iter()
            .filter(|tlb| (tlb.level, tlb.kind, tlb.page_bytes) == (level, kind, page_bytes));
        found.next().map(|tlb| tlb.entries)
    }

    #[test]
    fn decodes_every_level_and_page_size() {
        let tlbs = tlbs(&zen3);
        for (level, kind, page, expected) in [
            (1, TlbKind::Data, BASE_PAGE, Some(64)),
            (2, TlbKind::Data, BASE_PAGE, Some(2048)),
            (2, TlbKind::Instruction, BASE_PAGE, Some(512)),
            (2, TlbKind::Data, LARGE_PAGE, Some(2048)),
            (2, TlbKind::Data, GIANT_PAGE, Some(64)),
            (2, TlbKind::Instruction, GIANT_PAGE, None),
        ] {
            let found = entries(&tlbs, level, kind, page);
            assert_eq!(found, expected, "{level} {kind} {page}");
        }
    }

    #[test]
    fn twelve_bits_of_entries_are_kept() {
        let reader = |leaf, sub| match leaf {
            0x8000_0019 => result(0, 0xf400_0000, 0, 0),
            _ => zen3(leaf, sub),
        };
        let found = entries(&tlbs(&reader), 2, TlbKind::Data, GIANT_PAGE);
        assert_eq!(found, Some(1024));
    }

    #[test]
    fn a_second_level_without_a_data_half_is_unified() {
        let unified = second_level(BASE_PAGE, (0, 512));
        assert_eq!(
            unified,
            [Tlb {
                level: 2,
                kind: TlbKind::Unified,
                entries: 512,
                page_bytes: BASE_PAGE
            }]
        );
    }

    #[test]
    fn leaves_beyond_the_largest_are_not_asked() {
        let old = |leaf, sub| match leaf {
            0x8000_0000 => result(0x8000_0005, 0, 0, 0),
            _ => zen3(leaf, sub),
        };
        assert!(tlbs(&old).iter().all(|tlb| tlb.level == 1));
    }
}
