//! Steps for the simulated hand-off in a guest, and for its parts measured on this machine.

use crate::arm::{ARMS, Arm};
use crate::li2007::steps::{BUS_CYCLES, LATENCIES, list};
use crate::{Site, Step};

/// Array sizes in KiB: 0 for the direct cost, and two that fit in the second-level cache of the
/// paper's machine.
pub(in crate::li2007) const SIZES_KIB: [u64; 3] = [0, 32, 128];
const QUICK_SIZES_KIB: [u64; 2] = [0, 32];
/// Number of hand-offs by each of the two tasks: enough that one-time misses are fewer than one per
/// hand-off.
const TURNS: u64 = 500;
pub(in crate::li2007) const HAND_OFFS: u64 = 2 * TURNS;

pub(in crate::li2007) const MEASURED: &str = "li2007-hand-off-measured";

/// Number of simulated designs of the Xeon, one for each latency and bus.
pub(in crate::li2007) const SETTINGS: usize = LATENCIES.len() * BUS_CYCLES.len();
pub(in crate::li2007) const USUAL: usize = BUS_CYCLES.len() + 1;

/// The machine whose caches are simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::li2007) enum Machine {
    Xeon,
    Host,
}

pub(in crate::li2007) const MACHINES: [Machine; 2] = [Machine::Xeon, Machine::Host];

pub(in crate::li2007) fn step(machine: Machine, arm: Arm, kib: u64) -> String {
    named(
        if machine == Machine::Xeon {
            "xeon"
        } else {
            "host"
        },
        arm,
        kib,
    )
}

fn named(what: &str, arm: Arm, kib: u64) -> String {
    format!("li2007-hand-off-{what}-{}-{kib}KiB", arm.name())
}

pub(super) fn steps(site: &Site<'_>) -> Vec<Step> {
    let sizes: &[u64] = site.effort.choose(&SIZES_KIB, &QUICK_SIZES_KIB);
    let list: Vec<String> = sizes.iter().map(|kib| format!("{kib}KiB")).collect();
    let speed = site
        .effort
        .choose(" --precision 0.5% --budget 30s", " --quick");
    let line = format!(
        "measure --mechanism pipe,fiber --size {} --no-counters",
        list.join(",")
    );
    let mut steps = vec![Step::new(
        MEASURED,
        &format!("{line} --cpu {}{speed}", site.quiet_cpu),
    )];
    steps.extend(
        sizes
            .iter()
            .flat_map(|kib| ARMS.map(|arm| simulated(arm, *kib)))
            .flatten(),
    );
    steps
}

/// Returns the steps that trace the hand-off of one arm, and simulate the trace on both machines.
fn simulated(arm: Arm, kib: u64) -> [Step; 3] {
    let trace = named("trace", arm, kib);
    let option = arm.option();
    let line =
        format!("trace walks --system --mechanism pipe --size {kib}KiB --turns {TURNS}{option}");
    let xeon = format!(
        "--design li2007-xeon --vary L2.miss_cycles={} --vary L2.bus_cycles={}",
        list(&LATENCIES),
        list(&BUS_CYCLES)
    );
    let of = |machine, options: &str| {
        let line = format!("simulate records/{trace}.sct {options}");
        Step::new(step(machine, arm, kib), &line)
    };
    let (xeon, host) = (of(Machine::Xeon, &xeon), of(Machine::Host, "--design host"));
    [Step::new(trace, &line), xeon, host]
}
