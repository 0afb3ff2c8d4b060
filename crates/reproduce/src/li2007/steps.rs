//! What is run for this paper.

use record::{CacheKind, HostManifest};
use units::Bytes;
use workload::Access;

use super::L2_BYTES;
use crate::{Effort, Site, Step};

pub(super) const GRID: &str = "li2007-grid";

/// A setting of Tables 1 and 2: on a CPU of its own with real-time priority or not, with noise or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) is_isolated: bool,
    pub(super) is_noisy: bool,
}

pub(super) const SETTINGS: [Setting; 4] = [
    Setting { is_isolated: true, is_noisy: false },
    Setting { is_isolated: false, is_noisy: false },
    Setting { is_isolated: true, is_noisy: true },
    Setting { is_isolated: false, is_noisy: true },
];

impl Setting {
    pub(super) fn step(self) -> String {
        let where_ = if self.is_isolated { "isolated" } else { "unisolated" };
        format!("li2007-{where_}-{}", if self.is_noisy { "noisy" } else { "quiet" })
    }
}

/// The three accesses of Figure 1.
pub(super) const ACCESSES: [Access; 3] = [Access::Read, Access::Write, Access::Rmw];

/// Sizes of the simulated Figure 1, in KiB.
pub(super) const SIZES_KIB: [u64; 15] = [1, 8, 32, 64, 96, 128, 160, 192, 256, 320, 384, 448, 512, 768, 1024];
/// Sizes and strides of the simulated Figure 2.
pub(super) const STRIDE_SIZES_KIB: [u64; 7] = [32, 128, 256, 384, 512, 1024, 2048];
pub(super) const STRIDES: [u64; 4] = [8, 32, 64, 128];

/// Instructions of the loop for each element: 13 (read, write) or 15 (read and write) are what gcc 12 -O0 makes of it for
/// 32-bit x86, and the paper used no optimization. Its tables 1 and 2, less its figure 1, leave 12.6 to 12.8 cycles an
/// element in the cache, and the design counts one cycle an instruction.
const INSTRUCTIONS: u32 = 13;
/// Cycles that a line takes the bus, from its peak of 3.2 GB/s to the most that the paper's own times allow (see the design).
pub(super) const BUS_CYCLES: [u32; 8] = [80, 104, 112, 116, 120, 124, 128, 152];

/// A simulated point: its trace and its simulation.
pub(super) fn walk_step(access: Access, stride: u64, kib: u64) -> String {
    format!("li2007-loop-{access}-{stride}-{kib}KiB")
}

pub(super) fn simulated_step(access: Access, stride: u64, kib: u64) -> String {
    format!("li2007-by-bus-{access}-{stride}-{kib}KiB")
}

pub(crate) fn steps(site: &Site<'_>) -> Vec<Step> {
    let is_quick = site.effort == Effort::Quick;
    let grid = if is_quick { "measure --quick" } else { "measure --full" };
    let mut steps = vec![Step::new(GRID, &format!("{grid} --cpu {}", site.quiet_cpu))];
    steps.extend(SETTINGS.into_iter().filter_map(|setting| interference(site, setting)));
    for (access, stride, kib) in points(is_quick) {
        let walks = walk_step(access, stride, kib);
        let line = format!("trace walks --size {kib}KiB --stride {stride}B --access {access} --turns 12");
        let line = format!("{line} --instructions {INSTRUCTIONS}");
        let buses = BUS_CYCLES.map(|cycles| cycles.to_string()).join(",");
        let design = format!("simulate TRACE --design li2007-xeon --vary L2.bus_cycles={buses}");
        let mut simulate = Step::new(simulated_step(access, stride, kib), &design);
        simulate.trace_of = Some(walks.clone());
        steps.extend([Step::new(walks, &line), simulate]);
    }
    steps
}

/// All points of both simulated figures, each once.
pub(super) fn points(is_quick: bool) -> Vec<(Access, u64, u64)> {
    let thin = |kibs: &[u64]| kibs.iter().copied().step_by(if is_quick { 4 } else { 1 }).collect::<Vec<_>>();
    let mut points: Vec<(Access, u64, u64)> = Vec::new();
    for access in ACCESSES {
        points.extend(thin(&SIZES_KIB).into_iter().map(|kib| (access, 8, kib)));
    }
    for stride in STRIDES {
        points.extend(thin(&STRIDE_SIZES_KIB).into_iter().map(|kib| (Access::Rmw, stride, kib)));
    }
    points.sort_unstable();
    points.dedup();
    points
}

/// Half, three quarters and all of the second level, as 256, 384 and 512 KB were of theirs.
pub(super) fn sizes(host: &HostManifest) -> [Bytes; 3] {
    let second = host.caches.iter().find(|cache| cache.level == 2 && cache.kind != CacheKind::Instruction);
    let l2 = second.map_or(L2_BYTES, |cache| cache.size_bytes.0);
    [Bytes(l2 / 2 / 4096 * 4096), Bytes(l2 / 4 * 3 / 4096 * 4096), Bytes(l2)]
}

/// Six runs of three sizes. Isolated: the quiet CPU, real-time priority, the noise on another. Not isolated: all on one
/// CPU, without priority, as on a machine of one processor. None where one CPU is all there is to isolate from.
fn interference(site: &Site<'_>, setting: Setting) -> Option<Step> {
    let noisy = site.noisy_cpu?;
    let cpu = if setting.is_isolated { site.quiet_cpu } else { noisy };
    let sizes = sizes(site.host).map(|size| size.0.to_string()).join(",");
    let mut line = format!("measure --size {sizes} --max-repetitions 6 --no-counters --cpu {cpu}");
    if !setting.is_isolated {
        line += " --no-rt";
    }
    if setting.is_noisy {
        line += &format!(" --noise {noisy}");
    }
    Some(Step::new(setting.step(), &line))
}
