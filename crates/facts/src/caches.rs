use switchcost_record::{Cache, CacheKind, Fact, Tlb, printable};
use switchcost_units::{Bytes, CpuId};

use super::{Root, status, topology};

/// Returns the caches that `cpu` uses, nearest first, from the kernel's files or else from CPUID;
/// empty if both report none. Also returns an error text for each cache that the kernel lists but
/// whose files cannot be read.
pub(crate) fn caches(root: &Root, cpu: CpuId) -> (Vec<Cache>, Vec<String>) {
    let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cache");
    let indexes = root
        .names(&folder)
        .into_iter()
        .filter(|name| name.starts_with("index"));
    let (mut caches, mut unreported) = (Vec::new(), Vec::new());
    for index in indexes {
        match cache(root, &format!("{folder}/{index}")) {
            Ok(cache) => caches.push(cache),
            Err(why) => unreported.push(why),
        }
    }
    if caches.is_empty() {
        caches = caches_of_cpuid(root, cpu);
        if !caches.is_empty() {
            unreported.clear();
        }
    }
    caches.sort_by_key(|cache: &Cache| (cache.level, cache.kind.to_string()));
    (caches, unreported)
}

/// Reads one cache from its folder in /sys. The error names the file from which the level, type,
/// size or line size cannot be read.
fn cache(root: &Root, folder: &str) -> Result<Cache, String> {
    let line = |name: &str| {
        root.line(&format!("{folder}/{name}"))
            .map_err(|error| error.to_string())
    };
    let odd = |name: &str, found: &str| format!("{folder}/{name}: found \"{}\"", printable(found));
    let number = |name: &str| {
        let text = line(name)?;
        text.parse::<u32>().map_err(|_| odd(name, &text))
    };
    let (size, kind_name) = (line("size")?, line("type")?);
    Ok(Cache {
        level: number("level")?,
        kind: kind(&kind_name).ok_or_else(|| odd("type", &kind_name))?,
        size_bytes: size.parse().map_err(|_| odd("size", &size))?,
        line_bytes: Bytes(number("coherency_line_size")?.into()),
        ways: line("ways_of_associativity")
            .ok()
            .and_then(|ways| ways.parse().ok())
            .filter(|ways| *ways != 0),
        shared_by: topology::cpu_list(root, &format!("{folder}/shared_cpu_list"))
            .unwrap_or_default(),
    })
}

fn kind(text: &str) -> Option<CacheKind> {
    match text {
        "Data" => Some(CacheKind::Data),
        "Instruction" => Some(CacheKind::Instruction),
        "Unified" => Some(CacheKind::Unified),
        _ => None,
    }
}

/// Returns the TLBs as CPUID reports them, because the kernel does not report TLBs.
///
/// The field `TLB size` in `/proc/cpuinfo` of AMD machines is not used: the field is the sum of the
/// second-level data and instruction TLBs (`cpu_detect_cache_sizes`), which cannot be separated.
pub(crate) fn tlbs(root: &Root) -> Fact<Vec<Tlb>> {
    let tlbs = tlbs_of_cpuid(root);
    match tlbs.is_empty() {
        true => Fact::unknown(missing_tlbs_reason(root)),
        false => Fact::Known(tlbs),
    }
}

fn missing_tlbs_reason(root: &Root) -> String {
    let why = if cfg!(target_arch = "x86_64") {
        "CPUID shows none"
    } else {
        "this architecture does not describe its TLBs to programs"
    };
    let sum = root
        .read("/proc/cpuinfo")
        .ok()
        .and_then(|text| status::field_of(&text, "TLB size"));
    match sum {
        Some(sum) => format!(
            "{why}; /proc/cpuinfo gives {sum}, the sum of the second-level data and instruction TLBs"
        ),
        None => why.to_owned(),
    }
}

#[cfg(target_arch = "x86_64")]
fn caches_of_cpuid(root: &Root, cpu: CpuId) -> Vec<Cache> {
    let ask = || super::cpuid::caches(raw_cpuid::CpuIdReaderNative, cpu);
    if root.is_system() { ask() } else { Vec::new() }
}

#[cfg(target_arch = "x86_64")]
fn tlbs_of_cpuid(root: &Root) -> Vec<Tlb> {
    if root.is_system() {
        super::cpuid::tlbs(raw_cpuid::CpuIdReaderNative)
    } else {
        Vec::new()
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn caches_of_cpuid(_: &Root, _: CpuId) -> Vec<Cache> {
    Vec::new()
}

#[cfg(not(target_arch = "x86_64"))]
fn tlbs_of_cpuid(_: &Root) -> Vec<Tlb> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn caches_come_nearest_first() {
        let (caches, unreported) = caches(&Fixture::workstation().root(), CpuId(0));
        assert!(unreported.is_empty());
        let found: Vec<_> = caches
            .iter()
            .map(|cache| (cache.level, cache.kind, cache.size_bytes, cache.ways))
            .collect();
        let expected = [
            (1, CacheKind::Data, Bytes::kib(32), Some(8)),
            (1, CacheKind::Instruction, Bytes::kib(32), Some(8)),
            (2, CacheKind::Unified, Bytes::kib(512), Some(8)),
            (3, CacheKind::Unified, Bytes::mib(32), Some(16)),
        ];
        assert_eq!(found, expected);
        assert_eq!(caches[3].shared_by, [0, 1, 2, 3].map(CpuId));
        assert_eq!(caches[3].line_bytes, Bytes(64));
    }

    #[test]
    fn a_cache_whose_size_or_type_is_odd_is_named_by_its_file() {
        let fixture = Fixture::new()
            .cache(0, 0, ["1", "Data", "-3K", "8", "0"])
            .cache(0, 1, ["1", "Instruction", "32K", "0", "x"])
            .cache(0, 2, ["2", "Martian", "32K", "8", "0"]);
        let (caches, unreported) = caches(&fixture.root(), CpuId(0));
        let folder = "/sys/devices/system/cpu/cpu0/cache";
        let odd = [
            format!("{folder}/index0/size: found \"-3K\""),
            format!("{folder}/index2/type: found \"Martian\""),
        ];
        assert_eq!((caches.len(), unreported), (1, odd.to_vec()));
        assert_eq!((caches[0].ways, &caches[0].shared_by[..]), (None, &[][..]));
    }

    #[test]
    fn a_level_without_a_file_of_its_size_type_level_or_line_does_not_vanish_without_a_word() {
        for name in ["size", "type", "level", "coherency_line_size"] {
            let path = format!("/sys/devices/system/cpu/cpu0/cache/index2/{name}");
            let (caches, unreported) =
                caches(&Fixture::workstation().remove(&path).root(), CpuId(0));
            assert_eq!(
                caches.iter().map(|cache| cache.level).collect::<Vec<_>>(),
                [1, 1, 3]
            );
            assert_eq!(
                unreported,
                [format!("{path}: No such file or directory (os error 2)")]
            );
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn hidden_tlbs_say_why_and_pass_on_the_kernels_sum_as_a_sum() {
        let expected = "CPUID shows none; /proc/cpuinfo gives 2560 4K pages, the sum of the second-level data and instruction TLBs";
        assert_eq!(
            tlbs(&Fixture::workstation().root()),
            Fact::unknown(expected)
        );
        assert_eq!(
            tlbs(&Fixture::new().root()),
            Fact::unknown("CPUID shows none")
        );
    }
}
