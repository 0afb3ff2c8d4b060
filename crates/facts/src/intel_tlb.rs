//! TLBs as Intel's CPUID reports them (Software Developer's Manual, volume 2A, CPUID, leaves 02H
//! and 18H).
//!
//! Leaf 18H gives sets and ways of each TLB. Older CPUs list one-byte descriptors in leaf 02H. Only
//! descriptors with a single number of entries are decoded. A descriptor with a choice of page
//! sizes gives one TLB for each.

use raw_cpuid::{CpuId as Leaves, CpuIdReader, DatInfo, DatType};
use switchcost_record::{Tlb, TlbKind};
use switchcost_units::Bytes;

const K4: Bytes = Bytes::kib(4);
const M2: Bytes = Bytes::mib(2);
const M4: Bytes = Bytes::mib(4);
const G1: Bytes = Bytes::mib(1024);

/// Largest number of sub-leaves of leaf 18H that are read. No CPU has as many. The limit ends the
/// loop under a hypervisor that answers every sub-leaf alike.
const MOST_STRUCTURES: usize = 64;

pub(super) fn tlbs<R: CpuIdReader>(leaves: &Leaves<R>) -> Vec<Tlb> {
    let deterministic = leaves.get_deterministic_address_translation_info();
    let listed: Vec<Tlb> = deterministic
        .into_iter()
        .flatten()
        .take(MOST_STRUCTURES)
        .flat_map(|tlb| structure(&tlb))
        .collect();
    match listed.is_empty() {
        true => leaves
            .get_cache_info()
            .into_iter()
            .flatten()
            .flat_map(|info| descriptor(info.num))
            .collect(),
        false => listed,
    }
}

/// Returns the TLBs that one sub-leaf of leaf 18H describes, one per page size. A first-level TLB
/// for only loads or only stores is reported as a data TLB, because the record has no kind for
/// either.
fn structure(tlb: &DatInfo) -> Vec<Tlb> {
    let kind = match tlb.cache_type() {
        DatType::DataTLB | DatType::LoadOnly | DatType::StoreOnly => TlbKind::Data,
        DatType::InstructionTLB => TlbKind::Instruction,
        DatType::UnifiedTLB => TlbKind::Unified,
        DatType::Null | DatType::Unknown => return Vec::new(),
    };
    let Some(entries) = u32::from(tlb.ways())
        .checked_mul(tlb.sets())
        .filter(|entries| *entries != 0)
    else {
        return Vec::new();
    };
    let sizes = [
        (tlb.has_4k_entries(), K4),
        (tlb.has_2mb_entries(), M2),
        (tlb.has_4mb_entries(), M4),
        (tlb.has_1gb_entries(), G1),
    ];
    let level = u32::from(tlb.cache_level());
    let taken = sizes.into_iter().filter(|(is_taken, _)| *is_taken);
    taken
        .map(|(_, page_bytes)| Tlb {
            level,
            kind,
            entries,
            page_bytes,
        })
        .collect()
}

/// Returns the TLBs of one descriptor of leaf 02H, as 64-bit CPUs since 2008 use them; empty for
/// unknown descriptors.
fn descriptor(number: u8) -> Vec<Tlb> {
    use TlbKind::{Data, Instruction, Unified};
    let (level, kind, parts): (u32, TlbKind, &[(u32, Bytes)]) = match number {
        0x55 => (1, Instruction, &[(7, M2), (7, M4)]),
        0x5a => (1, Data, &[(32, M2), (32, M4)]),
        0x61 => (1, Instruction, &[(48, K4)]),
        0x63 => (1, Data, &[(32, M2), (32, M4), (4, G1)]),
        0x64 => (1, Data, &[(512, K4)]),
        0x6b => (1, Data, &[(256, K4)]),
        0x6c => (1, Data, &[(128, M2), (128, M4)]),
        0x6d => (1, Data, &[(16, G1)]),
        0x76 => (1, Instruction, &[(8, M2), (8, M4)]),
        0xa0 => (1, Data, &[(32, K4)]),
        0xb2 => (1, Instruction, &[(64, K4)]),
        0xb5 => (1, Instruction, &[(64, K4)]),
        0xb6 => (1, Instruction, &[(128, K4)]),
        0x03 => (1, Data, &[(64, K4)]),
        0xc1 => (2, Unified, &[(1024, K4), (1024, M2)]),
        0xc3 => (2, Unified, &[(1536, K4), (1536, M2), (16, G1)]),
        0xc4 => (1, Data, &[(32, M2), (32, M4)]),
        0xca => (2, Unified, &[(512, K4)]),
        _ => return Vec::new(),
    };
    parts
        .iter()
        .map(|(entries, page_bytes)| Tlb {
            level,
            kind,
            entries: *entries,
            page_bytes: *page_bytes,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use raw_cpuid::CpuIdResult;

    use super::*;
    use crate::cpuid::tests::result;

    fn intel(leaf: u32) -> CpuIdResult {
        match leaf {
            0 => result(0x18, 0x756e_6547, 0x6c65_746e, 0x4965_6e69),
            _ => result(0, 0, 0, 0),
        }
    }

    fn of(level: u32, kind: TlbKind, entries: u32, page_bytes: Bytes) -> Tlb {
        Tlb {
            level,
            kind,
            entries,
            page_bytes,
        }
    }

    #[test]
    fn leaf_eighteen_gives_sets_times_ways() {
        // Ice Lake's second level: 8 ways x 128 sets for 4 KiB and 2 MiB pages, sub-leaf 1 after an invalid sub-leaf 0.
        let reader = |leaf, sub| match (leaf, sub) {
            (0x18, 0) => result(1, 0, 0, 0),
            (0x18, 1) => result(0, 0x0008_0003, 128, 0x43),
            _ => intel(leaf),
        };
        let tlbs = tlbs(&Leaves::with_cpuid_reader(reader));
        assert_eq!(
            tlbs,
            [
                of(2, TlbKind::Unified, 1024, K4),
                of(2, TlbKind::Unified, 1024, M2)
            ]
        );
    }

    #[test]
    fn leaf_two_is_the_fallback() {
        // Haswell: 63H, 03H, 76H, B6H, C1H; FFH refers to leaf 4 for the caches.
        let reader = |leaf, _: u32| match leaf {
            2 => result(0x7603_6301, 0x00f0_b6ff, 0, 0x00c1_0000),
            _ => intel(leaf),
        };
        let tlbs = tlbs(&Leaves::with_cpuid_reader(reader));
        for expected in [
            of(1, TlbKind::Data, 64, K4),
            of(1, TlbKind::Data, 4, G1),
            of(2, TlbKind::Unified, 1024, M2),
            of(1, TlbKind::Instruction, 128, K4),
        ] {
            assert!(tlbs.contains(&expected), "{expected:?}");
        }
    }
}
