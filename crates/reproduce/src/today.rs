//! Conclusions and open questions of the papers, tested on current machines.
//!
//! On a core that overlaps loads and prefetches, simulated cycles are not time. So claims about the
//! time that a switch costs in the caches use measured prices of lost lines.

mod kernel;
mod order;
mod penalty;
mod servers;
mod shared_cache;
#[cfg(test)]
pub(crate) mod tests;
mod time_lost;
mod validated;
mod vectors;

use switchcost_analysis::CaseFinding;
use switchcost_record::{Between, CacheKind, HostManifest, Mechanism};

use crate::claims::Quantities;
use crate::records::require;
use crate::{Exhibit, Outcome, Records, Site, Step};

const KERNEL: &str = "today-kernel";
const SHARED_CACHE: &str = "today-shared-cache";
const VECTORS: &str = "today-vectors";
const WALKS: &str = "today-walks";
const ROUND_ROBIN: &str = "today-round-robin";
const AFFINITY: &str = "today-affinity";

/// A simulated machine: the name of its design, and its usual name.
struct Machine {
    design: &'static str,
    name: &'static str,
}

const fn machine(design: &'static str, name: &'static str) -> Machine {
    Machine { design, name }
}

/// Simulated machines, from 1990 to current ones.
const MACHINES: [Machine; 6] = [
    machine("mogul-1a", "DECstation 5000/200"),
    machine("li2007-xeon", "Xeon 2.0 GHz"),
    machine("michigan-xeon-d1541", "Xeon D-1541"),
    machine("blog-i7-9850h", "Core i7-9850H"),
    machine("zen4-epyc-9004", "EPYC 9004"),
    machine("xeon-sapphire-rapids", "Xeon Sapphire Rapids"),
];

/// Returns the sizes of the first- and second-level caches that hold data, in bytes.
fn sizes_of_levels(host: &HostManifest) -> (u64, u64) {
    let of = |level: u32| {
        let mut caches = host.caches.iter();
        caches
            .find(|cache| cache.level == level && cache.kind != CacheKind::Instruction)
            .map(|cache| cache.size_bytes.0)
    };
    (of(1).unwrap_or(32 << 10), of(2).unwrap_or(1 << 20))
}

/// Returns array sizes in bytes: half of the first-level cache, half of the second-level cache, and
/// twice the second-level cache. At these sizes the tasks' data evict the kernel's lines to the
/// next level.
fn sizes_bytes(host: &HostManifest) -> [u64; 3] {
    let (first, second) = sizes_of_levels(host);
    [first / 2, second / 2, second * 2].map(|size| size / 4096 * 4096)
}

pub(crate) fn steps(site: &Site<'_>) -> Vec<Step> {
    let speed = site
        .effort
        .choose(" --precision 0.5% --budget 2min", " --quick");
    let cpu = site.quiet_cpu;
    let sizes = sizes_bytes(site.host)
        .map(|size| size.to_string())
        .join(",");
    let kernel = format!(
        "measure --mechanism pipe --between process --size {sizes} --no-counters --cpu {cpu}{speed}"
    );
    let mut steps = vec![Step::new(KERNEL, &kernel)];
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
    steps.extend(validated::steps(site));
    steps.extend(time_lost::steps(site));
    steps.push(Step::new(
        WALKS,
        "trace walks --tasks 8 --size 16KiB --access read --turns 40",
    ));
    for (name, schedule) in [(ROUND_ROBIN, "round-robin"), (AFFINITY, "affinity:8")] {
        let designs = order::DESIGNS.join(",");
        let line = format!(
            "simulate records/{WALKS}.sct --design {designs} --quantum 4096 --schedule {schedule}"
        );
        steps.push(Step::new(name, &line));
    }
    if site.has_guest {
        steps.extend(servers::steps(site));
        steps.extend(penalty::steps(site));
    }
    steps
}

pub(crate) fn exhibits(records: &Records) -> Vec<Exhibit> {
    vec![
        validated::exhibit(records),
        time_lost::exhibit(records),
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
        time_lost::quantities(),
        vectors::quantities(),
        kernel::quantities(),
        penalty::quantities(),
        shared_cache::quantities(),
        order::quantities(),
        servers::quantities(),
    ]
    .concat()
}

/// Returns the results of a step with the given mechanism, without switches between threads.
fn results<'a>(
    records: &'a Records,
    step: &str,
    mechanism: Mechanism,
) -> Outcome<Vec<&'a CaseFinding>> {
    let (_, findings) = records.measured(step)?;
    let is_wanted = |finding: &&CaseFinding| {
        finding.case.mechanism == mechanism && finding.case.between != Between::Thread
    };
    let found: Vec<_> = findings.results.iter().filter(is_wanted).collect();
    require(found, 1, "the record lacks the mechanism")
}
