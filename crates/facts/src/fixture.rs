//! Simulated machines for tests: each is a temporary tree of files that [`Root::new`] reads.

use std::sync::Arc;

use tempfile::TempDir;

use super::Root;

/// A machine simulated by a temporary tree of files, for tests.
#[derive(Debug)]
pub struct Fixture {
    dir: Arc<TempDir>,
}

impl Default for Fixture {
    fn default() -> Self {
        Fixture::new()
    }
}

impl Fixture {
    /// Creates a machine without any files, so that every fact is unknown.
    pub fn new() -> Self {
        Fixture {
            dir: Arc::new(tempfile::tempdir().expect("a temporary directory")),
        }
    }

    /// Creates a machine that is well suited to measurements: four cores without SMT, one socket,
    /// CPU 3 isolated, no hypervisor, idle.
    pub fn workstation() -> Self {
        let fixture = FILES.iter().fold(Fixture::new(), |fixture, (path, text)| {
            fixture.file(path, text)
        });
        (0..4).fold(fixture, Fixture::core)
    }

    /// Writes `text` to the file at `path` of the simulated machine. An existing file is replaced.
    pub fn file(self, path: &str, text: &str) -> Self {
        self.bytes(path, text.as_bytes())
    }

    /// Writes `bytes` to the file at `path` of the simulated machine. An existing file is replaced.
    pub fn bytes(self, path: &str, bytes: &[u8]) -> Self {
        let path = self.dir.path().join(path.trim_start_matches('/'));
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        std::fs::write(path, bytes).expect("a file");
        self
    }

    /// Makes a symbolic link at `path` to `target` in the machine's tree.
    pub fn link(self, path: &str, target: &str) -> Self {
        let path = self.dir.path().join(path.trim_start_matches('/'));
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        std::os::unix::fs::symlink(target, path).expect("a link");
        self
    }

    /// Removes the file or directory at `path` from the machine.
    pub fn remove(self, path: &str) -> Self {
        let path = self.dir.path().join(path.trim_start_matches('/'));
        match path.is_dir() {
            true => std::fs::remove_dir_all(path).expect("a directory to remove"),
            false => std::fs::remove_file(path).expect("a file to remove"),
        }
        self
    }

    /// Returns the temporary directory of the tree, which exists as long as the returned value.
    pub fn tree(&self) -> Arc<TempDir> {
        Arc::clone(&self.dir)
    }

    /// Returns the machine as a root directory of the kernel's files.
    pub fn root(&self) -> Root {
        Root::new(self.dir.path())
    }

    /// Adds the files of core `n`: private L1 and L2 caches, and an L3 cache that four cores share.
    fn core(self, n: u32) -> Self {
        let topology = format!("/sys/devices/system/cpu/cpu{n}/topology");
        let own = n.to_string();
        self.file(
            &format!("{topology}/thread_siblings_list"),
            &format!("{n}\n"),
        )
        .file(&format!("{topology}/physical_package_id"), "0\n")
        .file(
            &format!("/sys/devices/system/cpu/cpu{n}/cpufreq/scaling_governor"),
            "performance\n",
        )
        .cache(n, 0, ["1", "Data", "32K", "8", &own])
        .cache(n, 1, ["1", "Instruction", "32K", "8", &own])
        .cache(n, 2, ["2", "Unified", "512K", "8", &own])
        .cache(n, 3, ["3", "Unified", "32768K", "16", "0-3"])
    }

    /// Adds the files of a cache of CPU `n`. `values` are the texts of level, type, size, ways and
    /// sharing CPUs.
    pub fn cache(self, n: u32, index: u32, values: [&str; 5]) -> Self {
        let folder = format!("/sys/devices/system/cpu/cpu{n}/cache/index{index}");
        let names = [
            "level",
            "type",
            "size",
            "ways_of_associativity",
            "shared_cpu_list",
        ];
        let fixture = self.file(&format!("{folder}/coherency_line_size"), "64\n");
        names
            .iter()
            .zip(values)
            .fold(fixture, |fixture, (name, value)| {
                fixture.file(&format!("{folder}/{name}"), &format!("{value}\n"))
            })
    }
}

/// Text of `/proc/cpuinfo` for a CPU without a hypervisor.
pub const CPUINFO: &str = "processor\t: 0\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD Ryzen\n\
    flags\t\t: fpu tsc constant_tsc nonstop_tsc pcid\nTLB size\t: 2560 4K pages\n\n\
    processor\t: 1\nmodel name\t: AMD Ryzen\n";

/// Text of `/proc/interrupts` for four CPUs.
pub const INTERRUPTS: &str = "           CPU0       CPU1       CPU2       CPU3\n\
    \x20 24:        100         10          1          5  IO-APIC   5-edge      ACPI:Ged\n\
    NMI:          0          0          0          0   Non-maskable interrupts\n\
    LOC:      90000      80000      70000      60000   Local timer interrupts\n\
    ERR:          7\n\
    MIS:          0\n";

const FILES: &[(&str, &str)] = &[
    (
        "/etc/os-release",
        "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n",
    ),
    (
        "/boot/config-6.8.0-test",
        "CONFIG_HZ_250=y\nCONFIG_HZ=250\n# CONFIG_RT_GROUP_SCHED is not set\n",
    ),
    ("/proc/cmdline", "quiet isolcpus=3 nohz_full=3\n"),
    ("/proc/cpuinfo", CPUINFO),
    ("/proc/interrupts", INTERRUPTS),
    ("/proc/loadavg", "0.00 0.00 0.00 1/86 5124\n"),
    (
        "/proc/meminfo",
        "MemTotal:       16384000 kB\nMemFree:         1000 kB\nMemAvailable:    8192000 kB\n",
    ),
    ("/proc/self/cgroup", "0::/\n"),
    ("/sys/fs/cgroup/cgroup.controllers", "cpu memory\n"),
    (
        "/proc/self/limits",
        "Limit                     Soft Limit           Hard Limit           Units     \n\
         Max locked memory         8388608              8388608              bytes     \n\
         Max realtime priority     0                    0                              \n",
    ),
    (
        "/proc/self/mountinfo",
        "30 20 0:25 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n",
    ),
    (
        "/proc/self/status",
        "Name:\tswitchcost\nUid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\nCpus_allowed:\tf\nCpus_allowed_list:\t0-3\n",
    ),
    ("/proc/self/uid_map", "         0          0 4294967295\n"),
    (
        "/proc/stat",
        "cpu  100 0 50 90000 10 0 0 0 0 0\ncpu0 25 0 12 22500 2 0 0 0 0 0\nctxt 1\n",
    ),
    ("/proc/sys/kernel/hostname", "bench\n"),
    ("/proc/sys/kernel/osrelease", "6.8.0-test\n"),
    ("/proc/sys/kernel/perf_event_paranoid", "0\n"),
    ("/proc/sys/kernel/sched_autogroup_enabled", "0\n"),
    ("/proc/sys/kernel/sched_rt_period_us", "1000000\n"),
    ("/proc/sys/kernel/sched_rt_runtime_us", "-1\n"),
    ("/proc/sys/kernel/unprivileged_bpf_disabled", "2\n"),
    (
        "/proc/sys/kernel/version",
        "#1 SMP PREEMPT_DYNAMIC Mon Jan 1\n",
    ),
    ("/proc/sys/vm/nr_hugepages", "0\n"),
    (
        "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        "tsc\n",
    ),
    ("/sys/devices/system/cpu/intel_pstate/no_turbo", "1\n"),
    ("/sys/devices/system/cpu/isolated", "3\n"),
    ("/sys/devices/system/cpu/nohz_full", "3\n"),
    ("/sys/devices/system/cpu/online", "0-3\n"),
    ("/sys/devices/system/cpu/smt/active", "0\n"),
    ("/sys/devices/system/cpu/smt/control", "off\n"),
    (
        "/sys/devices/system/cpu/vulnerabilities/meltdown",
        "Not affected\n",
    ),
    (
        "/sys/devices/system/cpu/vulnerabilities/spectre_v2",
        "Mitigation: Retpolines; STIBP: disabled\n",
    ),
    ("/sys/kernel/btf/vmlinux", "btf"),
    ("/sys/kernel/debug/sched/preempt", "none voluntary (full)\n"),
    (
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "always [madvise] never\n",
    ),
    (
        "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size",
        "2097152\n",
    ),
    ("/sys/kernel/tracing/events/sched/sched_switch/id", "315\n"),
];
