//! Defines the steps that reproduce Li, Ding and Shen 2007.

pub(super) mod hand_off;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use switchcost_record::{CacheKind, HostManifest};
use switchcost_units::{Bytes, CpuId};
use switchcost_workload::Access;

use super::L2_BYTES;
use crate::{Effort, Site, Step};

pub(super) const GRID: &str = "li2007-grid";

/// A setting of Tables 1 and 2: with or without isolation (a CPU without noise and real-time
/// priority), with or without noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) is_isolated: bool,
    pub(super) is_noisy: bool,
}

pub(super) const SETTINGS: [Setting; 4] = [
    Setting {
        is_isolated: true,
        is_noisy: false,
    },
    Setting {
        is_isolated: false,
        is_noisy: false,
    },
    Setting {
        is_isolated: true,
        is_noisy: true,
    },
    Setting {
        is_isolated: false,
        is_noisy: true,
    },
];

impl Setting {
    /// Returns the name of the step for run `number` of this setting.
    pub(super) fn run(self, number: usize) -> String {
        let where_ = if self.is_isolated {
            "isolated"
        } else {
            "unisolated"
        };
        format!(
            "li2007-{where_}-{}-{:02}",
            if self.is_noisy { "noisy" } else { "quiet" },
            number + 1
        )
    }
}

/// Kinds of access to the array in Figure 1 of Li et al.
pub(super) const ACCESSES: [Access; 3] = [Access::Read, Access::Write, Access::Rmw];

/// Array sizes of the simulation of Figure 1 of Li et al., in KiB.
pub(super) const SIZES_KIB: [u64; 15] = [
    1, 8, 32, 64, 96, 128, 160, 192, 256, 320, 384, 448, 512, 768, 1024,
];
/// Array sizes of the simulation of Figure 2 of Li et al., in KiB.
pub(super) const STRIDE_SIZES_KIB: [u64; 7] = [32, 128, 256, 384, 512, 1024, 2048];
pub(super) const STRIDES: [u64; 4] = [8, 32, 64, 128];

/// Number of instructions of the loop per element. gcc 12 -O0 for 32-bit x86 compiles the loop to
/// 13 (read, write) or 15 (read-modify-write) instructions, and the paper used no optimization.
/// Tables 1 and 2 minus Figure 1 leave 12.6 to 12.8 cycles per element in the cache, and the design
/// counts one cycle per instruction.
const INSTRUCTIONS: u32 = 13;
/// Numbers of cycles for which a line may occupy the bus: at the bus' peak of 3.2 GB/s, in the
/// committed design, and the largest that the paper's results allow (see the design).
pub(super) const BUS_CYCLES: [u32; 3] = [80, 120, 152];

/// Memory latencies of the machine, which are not published, in cycles: the middle of the range in
/// Intel's manual, and a measured one at the machine's clock.
pub(super) const LATENCIES: [u32; 2] = [199, 300];
pub(super) const LOOPS: [u32; 2] = [INSTRUCTIONS, 15];

/// Points by which the claims on the simulated figures are judged: access, stride in bytes, array
/// size in KiB.
pub(super) const JUDGED: [(Access, u64, u64); 6] = [
    (Access::Read, 8, 512),
    (Access::Write, 8, 512),
    (Access::Rmw, 8, 32),
    (Access::Rmw, 8, 192),
    (Access::Rmw, 8, 512),
    (Access::Rmw, 128, 512),
];

pub(super) fn sensitivity_step(instructions: u32, access: Access, stride: u64, kib: u64) -> String {
    format!("li2007-sensitivity-{instructions}-{access}-{stride}-{kib}KiB")
}

/// Returns the name of the step that traces a simulated point.
fn walk_step(instructions: u32, access: Access, stride: u64, kib: u64) -> String {
    format!("li2007-loop-{instructions}-{access}-{stride}-{kib}KiB")
}

pub(super) fn simulated_step(access: Access, stride: u64, kib: u64) -> String {
    format!("li2007-simulated-{access}-{stride}-{kib}KiB")
}

pub(crate) fn steps(site: &Site<'_>) -> Vec<Step> {
    let is_quick = site.effort == Effort::Quick;
    let grid = site
        .effort
        .choose("measure --full --budget 8min", "measure --quick");
    let mut steps = vec![Step::new(GRID, &format!("{grid} --cpu {}", site.quiet_cpu))];
    steps.extend(interference(site));
    for (access, stride, kib) in points(is_quick) {
        let name = simulated_step(access, stride, kib);
        steps.extend(walks(
            site.effort,
            INSTRUCTIONS,
            (access, stride, kib),
            &name,
            "--design li2007-xeon",
        ));
    }
    let buses = list(&BUS_CYCLES);
    let latencies = list(&LATENCIES);
    let loops = if is_quick { &LOOPS[..1] } else { &LOOPS };
    for (instructions, point) in loops
        .iter()
        .flat_map(|loops| JUDGED.map(|point| (*loops, point)))
    {
        let line = format!(
            "--design li2007-xeon --vary L2.miss_cycles={latencies} --vary L2.bus_cycles={buses}"
        );
        let (access, stride, kib) = point;
        let name = sensitivity_step(instructions, access, stride, kib);
        steps.extend(walks(site.effort, instructions, point, &name, &line));
    }
    if site.has_guest {
        steps.extend(hand_off::steps(site));
    }
    let mut names = std::collections::BTreeSet::new();
    steps.retain(|step| names.insert(step.name.clone()));
    steps
}

fn list(numbers: &[u32]) -> String {
    numbers
        .iter()
        .map(u32::to_string)
        .collect::<Vec<_>>()
        .join(",")
}

/// Returns the two steps of a simulated point: its trace, and its simulation with `options`.
fn walks(
    effort: Effort,
    instructions: u32,
    (access, stride, kib): (Access, u64, u64),
    name: &str,
    options: &str,
) -> [Step; 2] {
    let walks = walk_step(instructions, access, stride, kib);
    let turns = effort.choose(12, 4);
    let line =
        format!("trace walks --size {kib}KiB --stride {stride}B --access {access} --turns {turns}");
    let simulate = format!("simulate records/{walks}.sct {options}");
    [
        Step::new(walks, &format!("{line} --instructions {instructions}")),
        Step::new(name, &simulate),
    ]
}

/// Returns the points of both simulated figures without duplicates: access, stride in bytes, array
/// size in KiB.
pub(super) fn points(is_quick: bool) -> Vec<(Access, u64, u64)> {
    let thin = |kibs: &[u64]| {
        kibs.iter()
            .copied()
            .step_by(if is_quick { 4 } else { 1 })
            .collect::<Vec<_>>()
    };
    let mut points: Vec<(Access, u64, u64)> = Vec::new();
    for access in ACCESSES {
        points.extend(thin(&SIZES_KIB).into_iter().map(|kib| (access, 8, kib)));
    }
    // Other strides are drawn, but no claim is about them.
    let strides = STRIDES
        .iter()
        .copied()
        .step_by(if is_quick { 3 } else { 1 });
    for stride in strides {
        points.extend(
            thin(&STRIDE_SIZES_KIB)
                .into_iter()
                .map(|kib| (Access::Rmw, stride, kib)),
        );
    }
    points.sort_unstable();
    points.dedup();
    points
}

/// Returns half, three quarters and all of the second-level cache's size. On the paper's machine
/// these were 256, 384 and 512 KB.
pub(super) fn sizes(host: &HostManifest) -> [Bytes; 3] {
    let second = host
        .caches
        .iter()
        .find(|cache| cache.level == 2 && cache.kind != CacheKind::Instruction);
    let l2 = second.map_or(L2_BYTES, |cache| cache.size_bytes.0);
    [
        Bytes(l2 / 2 / 4096 * 4096),
        Bytes(l2 / 4 * 3 / 4096 * 4096),
        Bytes(l2),
    ]
}

/// Number of runs of each setting. The paper has six, but a spread is better known from more runs.
pub(super) const RUNS: usize = 20;
const QUICK_RUNS: usize = 2;

/// Returns the steps of the settings in blocks, each block in random order, so that changes of the
/// machine affect all settings alike. Each run is a separate process, as in the paper. A machine
/// with a single CPU has only steps without isolation.
fn interference(site: &Site<'_>) -> Vec<Step> {
    let noisy = site.noisy_cpu.unwrap_or(site.quiet_cpu);
    let has_two = site.noisy_cpu.is_some();
    let runs = site.effort.choose(RUNS, QUICK_RUNS);
    let mut random = ChaCha8Rng::seed_from_u64(site.seed);
    let block = |number: usize| {
        let mut settings = SETTINGS;
        settings.shuffle(&mut random);
        let there = settings
            .into_iter()
            .filter(|setting| has_two || !setting.is_isolated);
        there
            .map(|setting| Step::new(setting.run(number), &command(site, noisy, setting)))
            .collect::<Vec<_>>()
    };
    (0..runs).flat_map(block).collect()
}

/// Returns the command line of a run with three array sizes. An isolated run has the quiet CPU and
/// real-time priority, and the noise runs on another CPU. Otherwise everything runs on one CPU
/// without real-time priority.
fn command(site: &Site<'_>, noisy: CpuId, setting: Setting) -> String {
    let cpu = if setting.is_isolated {
        site.quiet_cpu
    } else {
        noisy
    };
    let sizes = sizes(site.host).map(|size| size.0.to_string()).join(",");
    // All repetitions are used, whatever their intervals: together they cover several bursts of the
    // noise.
    let mut line = format!(
        "measure --size {sizes} --precision 0.1% --max-repetitions {REPETITIONS} --budget 30s --no-counters --cpu {cpu}"
    );
    if !setting.is_isolated {
        line += " --no-rt";
    }
    if setting.is_noisy {
        line += &format!(" --noise {noisy}");
    }
    line
}

const REPETITIONS: u32 = 5;
