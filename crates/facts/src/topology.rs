//! Relations between CPUs, and the choice of the least disturbed CPU.

use std::cmp::Reverse;

use switchcost_record::{HostManifest, InterruptLoad, Relation};
use switchcost_units::{CpuId, parse_cpu_list};

use super::Root;

/// Difference in interrupts per second up to which two CPUs are equally quiet: 250, the most common
/// tick rate (`CONFIG_HZ`). A CPU has timer ticks while it runs any task, so one tick rate is no
/// difference in disturbance.
const SAME_RATE: u64 = 250;

/// Difference of busy shares, in thousandths, up to which two CPUs are equally quiet: two of the
/// five ticks in the observed time. One busy tick may be due to this program.
const SAME_BUSY: u64 = 400;

/// Returns the closest relation of two CPUs: same CPU, same core, shared cache, same or different
/// socket. [`Relation::Unknown`] if the kernel does not report the topology.
pub fn relation(root: &Root, a: CpuId, b: CpuId) -> Relation {
    if a == b {
        return Relation::SameCpu;
    }
    match (
        siblings(root, a),
        shared_cache(root, a, b),
        packages(root, a, b),
    ) {
        (Some(siblings), _, _) if siblings.contains(&b) => Relation::Smt,
        (Some(_), Some(true), _) => Relation::SharedCache,
        (Some(_), Some(false), Some(true)) => Relation::SameSocket,
        (_, _, Some(false)) => Relation::OtherSocket,
        _ => Relation::Unknown,
    }
}

/// Returns the least disturbed CPU, the first of [`cpus_by_quiet`].
pub fn quietest_cpu(manifest: &HostManifest) -> Option<CpuId> {
    cpus_by_quiet(manifest).first().copied()
}

/// Returns the allowed online CPUs, least disturbed first. The order is by: isolated CPUs first,
/// share of busy time, interrupts observed, interrupts since boot. Among equals the highest number
/// comes first, because CPU 0 does the kernel's housekeeping.
pub fn cpus_by_quiet(manifest: &HostManifest) -> Vec<CpuId> {
    let least = usable(manifest)
        .filter_map(|cpu| load(manifest, cpu))
        .map(per_second)
        .min()
        .unwrap_or(0);
    let mut cpus: Vec<CpuId> = usable(manifest).collect();
    cpus.sort_by_key(|cpu| noise(manifest, *cpu, least));
    cpus
}

fn usable(manifest: &HostManifest) -> impl Iterator<Item = CpuId> + '_ {
    manifest
        .cpus_allowed
        .iter()
        .copied()
        .filter(|cpu| manifest.cpus_online.contains(cpu))
}

/// Returns the sort key of a CPU, lowest for the quietest CPU. `least` is the smallest number of
/// interrupts per second of any usable CPU. A CPU without interrupt counts gets the largest.
fn noise(manifest: &HostManifest, cpu: CpuId, least: u64) -> (bool, u64, u64, u64, Reverse<CpuId>) {
    let load = load(manifest, cpu);
    let busy = load
        .and_then(|load| load.busy_per_mille)
        .map_or(0, |busy| busy / SAME_BUSY);
    let excess = load.map_or(u64::MAX, |load| {
        per_second(load).saturating_sub(least).saturating_sub(1) / SAME_RATE
    });
    let since_boot = load.map_or(u64::MAX, |load| load.since_boot);
    (
        !manifest.cpus_isolated.contains(&cpu),
        busy,
        excess,
        since_boot,
        Reverse(cpu),
    )
}

fn load(manifest: &HostManifest, cpu: CpuId) -> Option<&InterruptLoad> {
    manifest.interrupts.iter().find(|load| load.cpu == cpu)
}

/// Returns the number of interrupts per second in the time in which the load was observed.
pub fn per_second(load: &InterruptLoad) -> u64 {
    load.observed.saturating_mul(1_000) / load.observed_ms.max(1)
}

/// Returns the hardware threads of the core of `cpu`, including `cpu`; `None` if the kernel does
/// not report them.
pub fn siblings(root: &Root, cpu: CpuId) -> Option<Vec<CpuId>> {
    let list = |name: &str| {
        cpu_list(
            root,
            &format!("/sys/devices/system/cpu/cpu{cpu}/topology/{name}"),
        )
    };
    list("thread_siblings_list")
        .or_else(|| list("core_cpus_list"))
        .filter(|cpus| !cpus.is_empty())
}

/// Whether the CPUs `a` and `b` share a cache of any level; `None` if the kernel reports for no
/// cache of `a` which CPUs share it.
fn shared_cache(root: &Root, a: CpuId, b: CpuId) -> Option<bool> {
    let folder = format!("/sys/devices/system/cpu/cpu{a}/cache");
    let indexes = root
        .names(&folder)
        .into_iter()
        .filter(|name| name.starts_with("index"));
    let lists =
        indexes.filter_map(|index| cpu_list(root, &format!("{folder}/{index}/shared_cpu_list")));
    lists
        .map(|cpus| cpus.contains(&b))
        .reduce(|any, shared| any || shared)
}

fn packages(root: &Root, a: CpuId, b: CpuId) -> Option<bool> {
    Some(package(root, a)? == package(root, b)?)
}

/// Returns the socket number of `cpu`; `None` if the firmware reports none, for which the kernel's
/// file has a negative number.
fn package(root: &Root, cpu: CpuId) -> Option<u32> {
    root.line(&format!(
        "/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id"
    ))
    .ok()?
    .parse()
    .ok()
}

/// Returns the CPUs that are online: those in the kernel's list, or else those in `/proc/cpuinfo`.
pub fn online(root: &Root) -> Vec<CpuId> {
    cpu_list(root, "/sys/devices/system/cpu/online").unwrap_or_else(|| listed(root))
}

/// Returns the CPUs that `/proc/cpuinfo` lists, which are the online CPUs.
fn listed(root: &Root) -> Vec<CpuId> {
    let text = root.read("/proc/cpuinfo").unwrap_or_default();
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    lines
        .filter(|(name, _)| name.trim() == "processor")
        .filter_map(|(_, number)| number.parse().ok())
        .collect()
}

/// Returns the CPUs on which the kernel lets this process run.
pub fn allowed_cpus(root: &Root) -> Vec<CpuId> {
    super::status::field(root, "Cpus_allowed_list")
        .and_then(|list| parse_cpu_list(&list).ok())
        .unwrap_or_default()
}

/// Returns the CPUs in the file at `path`, which has the kernel's list format; `None` if the file
/// cannot be read.
pub fn cpu_list(root: &Root, path: &str) -> Option<Vec<CpuId>> {
    parse_cpu_list(&root.line(path).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;
    use crate::manifest;

    const A: CpuId = CpuId(0);
    const B: CpuId = CpuId(1);

    #[test]
    fn the_nearest_relation_that_the_kernel_shows_wins() {
        let siblings = "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list";
        let newer_siblings = "/sys/devices/system/cpu/cpu0/topology/core_cpus_list";
        let package = "/sys/devices/system/cpu/cpu0/topology/physical_package_id";
        let all = Fixture::workstation;
        let apart = || all().cache(0, 3, ["3", "Unified", "8M", "16", "0"]);
        let newer = all().remove(siblings).file(newer_siblings, "0-1\n");
        // A shared cache cannot be excluded.
        let without_caches = all().remove("/sys/devices/system/cpu/cpu0/cache");
        for (fixture, expected) in [
            (all(), Relation::SharedCache),
            (all().file(siblings, "0-1\n"), Relation::Smt),
            (newer, Relation::Smt),
            (apart(), Relation::SameSocket),
            (apart().file(package, "1\n"), Relation::OtherSocket),
            (apart().file(package, "-1\n"), Relation::Unknown),
            (without_caches, Relation::Unknown),
            (Fixture::new(), Relation::Unknown),
        ] {
            assert_eq!(relation(&fixture.root(), A, B), expected);
            assert_eq!(relation(&fixture.root(), A, A), Relation::SameCpu);
        }
    }

    fn observed(cpu: u32, observed: u64, since_boot: u64) -> InterruptLoad {
        InterruptLoad {
            cpu: CpuId(cpu),
            since_boot,
            observed,
            observed_ms: 50,
            busy_per_mille: None,
        }
    }

    #[test]
    fn a_cpu_on_which_others_run_is_not_quiet_however_few_interrupts_it_has() {
        let busy = |busy_per_mille, load| InterruptLoad {
            busy_per_mille: Some(busy_per_mille),
            ..load
        };
        let loads = |last| {
            vec![
                busy(200, observed(2, 60, 900)),
                busy(last, observed(3, 0, 0)),
            ]
        };
        let mut host = machine(&[], loads(1_000));
        host.cpus_allowed = vec![CpuId(2), CpuId(3)];
        assert_eq!(cpus_by_quiet(&host), [CpuId(2), CpuId(3)]);
        host.interrupts = loads(200);
        assert_eq!(
            quietest_cpu(&host),
            Some(CpuId(3)),
            "a tick of this program's own is no load"
        );
    }

    fn machine(isolated: &[u32], interrupts: Vec<InterruptLoad>) -> HostManifest {
        let mut manifest = manifest(
            &Fixture::workstation().root(),
            crate::Answers::none("not asked"),
        );
        manifest.cpus_isolated = isolated.iter().copied().map(CpuId).collect();
        manifest.interrupts = interrupts;
        manifest
    }

    #[test]
    fn the_quietest_cpu_is_isolated_or_has_the_fewest_interrupts() {
        for (why, isolated, interrupts, expected) in [
            (
                "isolated, whatever its load",
                &[2][..],
                &[(0, 0, 0), (2, 500, 500)][..],
                2,
            ),
            (
                "the fewest now, before since the start",
                &[],
                &[(0, 90, 1), (1, 12, 900), (2, 80, 2), (3, 70, 3)],
                1,
            ),
            (
                "ticking is as quiet as idle",
                &[],
                &[(0, 1, 900), (1, 12, 40), (2, 13, 30), (3, 40, 1)],
                2,
            ),
            ("the highest number without any", &[], &[], 3),
            (
                "the highest number of equals",
                &[],
                &[(0, 10, 5), (1, 10, 5), (2, 10, 5), (3, 10, 5)],
                3,
            ),
        ] {
            let interrupts = interrupts
                .iter()
                .map(|&(cpu, now, before)| observed(cpu, now, before));
            let host = machine(isolated, interrupts.collect());
            assert_eq!(quietest_cpu(&host), Some(CpuId(expected)), "{why}");
        }
    }

    #[test]
    fn only_cpus_that_may_be_used_and_are_online_count() {
        let mut host = machine(&[3], vec![]);
        host.cpus_allowed = vec![CpuId(1), CpuId(7)];
        assert_eq!(quietest_cpu(&host), Some(CpuId(1)));
        host.cpus_allowed.clear();
        assert_eq!(quietest_cpu(&host), None);
    }
}
