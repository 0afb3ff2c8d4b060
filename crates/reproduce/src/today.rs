//! What the papers conclude, on the machines since then: what caches and kernel take of a switch, from 1990 to today.
//!
//! The programs are today's counterparts of those of Mogul and Borg 1990, simulated on the caches of a machine of each time; what
//! the kernel takes there was published, or is measured here.

mod generations;
mod kernel;
mod order;
mod penalty;
mod servers;
mod shared_cache;
#[cfg(test)]
pub(crate) mod tests;
mod validated;
mod vectors;

use switchcost_analysis::{CaseFinding, Estimate};
use switchcost_record::{Between, CacheKind, HostManifest, Mechanism};

use crate::claims::Quantities;
use crate::{Effort, Exhibit, Records, Site, Step};

const DIRECT: &str = "today-direct";
const KERNEL: &str = "today-kernel";
const SHARED_CACHE: &str = "today-shared-cache";
const VECTORS: &str = "today-vectors";
const WALKS: &str = "today-walks";
const ROUND_ROBIN: &str = "today-round-robin";
const AFFINITY: &str = "today-affinity";

/// A machine of its time: the design, its name, and what the kernel takes for a switch there.
struct Machine {
    design: &'static str,
    name: &'static str,
    year: u16,
    kernel: Kernel,
}

/// What the kernel takes for a switch, in microseconds.
#[derive(Clone, Copy)]
enum Kernel {
    /// As published, and where.
    Published(f64, &'static str),
    /// As it is measured on this machine.
    Here,
}

const MACHINES: [Machine; 6] = [
    Machine {
        design: "mogul-1a",
        name: "DECstation 5000/200",
        year: 1990,
        kernel: Kernel::Published(
            70.0,
            "Ultrix, by Ousterhout; Mogul and Borg 1990, section 6",
        ),
    },
    Machine {
        design: "li2007-xeon",
        name: "Xeon 2.0 GHz",
        year: 2003,
        kernel: Kernel::Published(3.8, "Li 2007, section 3"),
    },
    Machine {
        design: "michigan-xeon-d1541",
        name: "Xeon D-1541",
        year: 2015,
        kernel: Kernel::Published(0.62, "the Michigan poster, figure 2"),
    },
    Machine {
        design: "blog-i7-9850h",
        name: "Core i7-9850H",
        year: 2019,
        kernel: Kernel::Published(1.35, "the blog post; its system calls included"),
    },
    Machine {
        design: "zen4-epyc-9004",
        name: "EPYC 9004",
        year: 2022,
        kernel: Kernel::Here,
    },
    Machine {
        design: "xeon-sapphire-rapids",
        name: "Xeon Sapphire Rapids",
        year: 2023,
        kernel: Kernel::Here,
    },
];

/// The benchmark sets, those with the dearest switches first.
const SETS: [(&str, &str); 3] = [
    ("timesharing", "Timesharing"),
    ("compute-bound", "Compute-bound"),
    ("client-server", "Client-Server"),
];
const TIMESHARING: usize = 0;
const COMPUTE_BOUND: usize = 1;
const CLIENT_SERVER: usize = 2;

fn set_step(set: usize) -> String {
    format!("today-{}", SETS[set].0)
}

/// Sizes of the first and the second level of data.
fn sizes_of_levels(host: &HostManifest) -> (u64, u64) {
    let of = |level: u32| {
        let mut caches = host.caches.iter();
        caches
            .find(|cache| cache.level == level && cache.kind != CacheKind::Instruction)
            .map(|cache| cache.size_bytes.0)
    };
    (of(1).unwrap_or(32 << 10), of(2).unwrap_or(1 << 20))
}

/// Half of the first level, half of the second, and twice the second: what the tasks touch drives the kernel's own lines out to
/// the level behind.
fn sizes_bytes(host: &HostManifest) -> [u64; 3] {
    let (first, second) = sizes_of_levels(host);
    [first / 2, second / 2, second * 2].map(|size| size / 4096 * 4096)
}

pub(crate) fn steps(site: &Site<'_>) -> Vec<Step> {
    let is_quick = site.effort == Effort::Quick;
    let (budget, speed, switches) = if is_quick {
        ("3s", " --quick", 40)
    } else {
        ("15s", " --precision 0.5% --budget 2min", 2000)
    };
    let cpu = site.quiet_cpu;
    let sizes = sizes_bytes(site.host)
        .map(|size| size.to_string())
        .join(",");
    let mut steps = vec![
        Step::new(
            DIRECT,
            &format!("measure --mechanism pipe,fiber --no-counters --budget {budget} --cpu {cpu}"),
        ),
        Step::new(
            KERNEL,
            &format!(
                "measure --mechanism pipe --between process --size {sizes} --no-counters --cpu {cpu}{speed}"
            ),
        ),
    ];
    let line = format!(
        "measure --mechanism pipe --between process --vector-state all --no-counters --cpu {cpu}{speed}"
    );
    steps.push(Step::new(VECTORS, &line));
    if let Some(other) = site.noisy_cpu {
        steps.push(Step::new(
            SHARED_CACHE,
            &format!(
                "measure --placement pair --concurrent --pattern chase --access read --size {sizes} --no-counters \
                 --cpu {cpu},{other}{speed}"
            ),
        ));
    }
    let designs = MACHINES.map(|machine| machine.design).join(",");
    // Another seed than any trial's of mogul1990.
    let seed = site.seed * 100 + 51;
    let of_set = |(number, (set, _)): (usize, &(&str, &str))| {
        Step::new(
            set_step(number),
            &format!("workload {set} --seed {seed} --switches {switches} --design {designs}"),
        )
    };
    // One claim alone is about the set between the two ends, and it takes longest.
    let is_wanted = |(number, _): &(usize, &(&str, &str))| !is_quick || *number != COMPUTE_BOUND;
    steps.extend(SETS.iter().enumerate().filter(is_wanted).map(of_set));
    steps.extend(validated::steps(site));
    steps.push(Step::new(
        WALKS,
        "trace walks --tasks 8 --size 16KiB --access read --turns 40",
    ));
    for (name, schedule) in [(ROUND_ROBIN, "round-robin"), (AFFINITY, "affinity:8")] {
        let designs = order::DESIGNS.join(",");
        let line =
            format!("simulate TRACE --design {designs} --quantum 4096 --schedule {schedule}");
        steps.push(Step {
            trace_of: Some(WALKS.to_owned()),
            ..Step::new(name, &line)
        });
    }
    if site.has_guest {
        steps.extend(servers::steps(site));
        steps.extend(penalty::steps(site));
    }
    steps
}

pub(crate) fn exhibits(records: &Records) -> Vec<Exhibit> {
    vec![
        generations::exhibit(records),
        validated::exhibit(records),
        vectors::exhibit(records),
        kernel::exhibit(records),
        penalty::exhibit(records),
        shared_cache::exhibit(records),
        order::exhibit(records),
        servers::exhibit(records),
    ]
}

pub(crate) fn quantities() -> Quantities {
    [
        generations::quantities(),
        vectors::quantities(),
        kernel::quantities(),
        penalty::quantities(),
        shared_cache::quantities(),
        order::quantities(),
        servers::quantities(),
    ]
    .concat()
}

/// The results of a measurement with a mechanism, between processes where the kernel switches.
fn results<'a>(
    records: &'a Records,
    step: &str,
    mechanism: Mechanism,
) -> Result<Vec<&'a CaseFinding>, String> {
    let (_, findings) = records.measured(step)?;
    let is_wanted = |finding: &&CaseFinding| {
        finding.case.mechanism == mechanism && finding.case.between != Between::Thread
    };
    let found: Vec<_> = findings.results.iter().filter(is_wanted).collect();
    if found.is_empty() {
        Err("the record lacks the mechanism".to_owned())
    } else {
        Ok(found)
    }
}

/// The direct cost of a switch on this machine, in nanoseconds.
fn direct_here(records: &Records, mechanism: Mechanism) -> Result<Estimate, String> {
    let found = results(records, DIRECT, mechanism)?;
    let cost = found.iter().find_map(|finding| finding.direct_ns.clone());
    cost.ok_or_else(|| "the direct cost could not be measured: see the record".to_owned())
}
