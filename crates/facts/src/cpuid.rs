//! Facts from the CPUID instruction: TLBs, caches and the hypervisor's name.
//!
//! The input is a reader of CPUID leaves, so that tests can simulate any CPU. The output is plain
//! facts. A leaf that is absent or zero gives no fact, because hypervisors hide leaves in this way.

use raw_cpuid::{CacheParameter, CacheType, CpuId as Leaves, CpuIdReader, CpuIdResult, Hypervisor};
use switchcost_record::{Cache, CacheKind, Tlb};
use switchcost_units::{Bytes, CpuId};

use super::{amd_tlb, intel_tlb};

/// Returns all TLBs in order of level; empty if CPUID reports none.
pub(super) fn tlbs<R: CpuIdReader>(reader: R) -> Vec<Tlb> {
    let leaves = Leaves::with_cpuid_reader(reader.clone());
    let vendor = leaves
        .get_vendor_info()
        .map(|vendor| vendor.as_str().to_owned())
        .unwrap_or_default();
    let mut tlbs = match vendor.as_str() {
        "AuthenticAMD" | "HygonGenuine" => amd_tlb::tlbs(&reader),
        _ => intel_tlb::tlbs(&leaves),
    };
    tlbs.sort_by_key(|tlb| (tlb.level, tlb.kind.to_string(), tlb.page_bytes));
    tlbs
}

/// Returns all caches of `cpu`, on which this function must run. CPUID reports only the number of
/// CPUs that share a cache, so the list of sharing CPUs is left empty unless the number is 1.
pub(super) fn caches<R: CpuIdReader>(reader: R, cpu: CpuId) -> Vec<Cache> {
    let parameters = Leaves::with_cpuid_reader(countable(reader)).get_cache_parameters();
    // The limit ends the loop under a hypervisor that answers every sub-leaf alike. No CPU has more
    // caches.
    parameters
        .into_iter()
        .flatten()
        .take(16)
        .filter_map(|parameter| cache(&parameter, cpu))
        .collect()
}

/// Wraps a CPUID reader so that ECX is never all ones, because the CPUID crate would add one to the
/// number of sets and overflow.
fn countable<R: CpuIdReader>(reader: R) -> impl CpuIdReader {
    move |leaf, sub_leaf| {
        let result = reader.cpuid2(leaf, sub_leaf);
        CpuIdResult {
            ecx: result.ecx.min(u32::MAX - 1),
            ..result
        }
    }
}

fn cache(parameter: &CacheParameter, cpu: CpuId) -> Option<Cache> {
    let kind = match parameter.cache_type() {
        CacheType::Data => CacheKind::Data,
        CacheType::Instruction => CacheKind::Instruction,
        CacheType::Unified => CacheKind::Unified,
        CacheType::Null | CacheType::Reserved => return None,
    };
    let line = parameter.coherency_line_size() as u64;
    let ways = parameter.associativity() as u64;
    let size = line * ways * parameter.physical_line_partitions() as u64;
    Some(Cache {
        level: u32::from(parameter.level()),
        kind,
        size_bytes: Bytes(size.checked_mul(parameter.sets() as u64)?),
        line_bytes: Bytes(line),
        ways: u32::try_from(ways).ok(),
        shared_by: if parameter.max_cores_for_cache() == 1 {
            vec![cpu]
        } else {
            Vec::new()
        },
    })
}

/// Returns the hypervisor's name from CPUID leaf 0x4000_0000; `None` if the leaf is absent.
pub(super) fn hypervisor<R: CpuIdReader>(reader: R) -> Option<String> {
    let name = match Leaves::with_cpuid_reader(reader)
        .get_hypervisor_info()?
        .identify()
    {
        Hypervisor::KVM => "kvm".to_owned(),
        Hypervisor::VMware => "vmware".to_owned(),
        Hypervisor::Xen => "xen".to_owned(),
        Hypervisor::HyperV => "hyper-v".to_owned(),
        Hypervisor::QEMU => "qemu without kvm".to_owned(),
        Hypervisor::Bhyve => "bhyve".to_owned(),
        Hypervisor::QNX => "qnx".to_owned(),
        Hypervisor::ACRN => "acrn".to_owned(),
        Hypervisor::Unknown(a, b, c) => signature([a, b, c]),
    };
    Some(name).filter(|name| !name.is_empty())
}

fn signature(registers: [u32; 3]) -> String {
    let bytes: Vec<u8> = registers
        .iter()
        .flat_map(|register| register.to_le_bytes())
        .collect();
    String::from_utf8_lossy(&bytes)
        .trim_matches(|c: char| c == '\0' || c == ' ')
        .to_owned()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    const INTEL: (u32, u32, u32) = (0x756e_6547, 0x6c65_746e, 0x4965_6e69);

    pub(crate) fn result(eax: u32, ebx: u32, ecx: u32, edx: u32) -> CpuIdResult {
        CpuIdResult { eax, ebx, ecx, edx }
    }

    fn guest(leaf: u32, _: u32) -> CpuIdResult {
        match leaf {
            0 => result(0x18, INTEL.0, INTEL.2, INTEL.1),
            1 => result(0, 0, 1 << 31, 0),
            0x4000_0000 => result(0x4000_0001, 0x4b4d_564b, 0x564b_4d56, 0x4d),
            _ => result(0, 0, 0, 0),
        }
    }

    #[test]
    fn names_the_hypervisor() {
        assert_eq!(hypervisor(guest).as_deref(), Some("kvm"));
        let bare = |leaf, sub| {
            if leaf == 1 {
                result(0, 0, 0, 0)
            } else {
                guest(leaf, sub)
            }
        };
        assert_eq!(hypervisor(bare), None);
        let odd = |leaf, sub| match leaf {
            0x4000_0000 => result(0x4000_0001, u32::from_le_bytes(*b"Odd\n"), 0, 0),
            _ => guest(leaf, sub),
        };
        assert_eq!(hypervisor(odd).as_deref(), Some("Odd\n"));
    }

    #[test]
    fn hidden_leaves_are_no_tlbs_and_no_caches() {
        assert_eq!(tlbs(guest), []);
        assert_eq!(caches(guest, CpuId(0)), []);
    }

    #[test]
    fn reads_a_cache_from_leaf_four() {
        let reader = |leaf, sub| match (leaf, sub) {
            (4, 0) => result(0x0000_0121, 0x01c0_003f, 63, 0),
            (4, 1) => result(0x0000_4143, 0x01c0_003f, 1023, 0),
            _ => guest(leaf, sub),
        };
        let caches = caches(reader, CpuId(2));
        assert_eq!(caches.len(), 2);
        assert_eq!(
            (caches[0].level, caches[0].kind, caches[0].size_bytes),
            (1, CacheKind::Data, Bytes::kib(32))
        );
        assert_eq!(
            (caches[0].ways, &caches[0].shared_by[..]),
            (Some(8), &[CpuId(2)][..])
        );
        assert_eq!(
            (caches[1].level, caches[1].size_bytes),
            (2, Bytes::kib(512))
        );
        assert_eq!(
            caches[1].shared_by,
            [],
            "two share it, and CPUID does not say who"
        );
    }

    #[test]
    fn a_hypervisor_that_answers_every_leaf_alike_comes_to_an_end() {
        let endless = |_, _| result(u32::MAX, u32::MAX, u32::MAX, u32::MAX);
        assert!(caches(endless, CpuId(0)).len() <= 16);
        let endless_caches = |leaf, sub| match leaf {
            4 => result(1, u32::MAX, u32::MAX, u32::MAX),
            _ => guest(leaf, sub),
        };
        assert!(caches(endless_caches, CpuId(0)).len() <= 16);
        assert!(tlbs(endless).len() <= 1_000);
    }
}
