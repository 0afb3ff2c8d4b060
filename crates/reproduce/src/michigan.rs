//! Claims of the Michigan poster: cost of switches in the kernel and at user level by array size,
//! their misses, and how much of a wait they hide.

mod counted;
mod hiding;
mod measured;
mod pages;
mod with_kernel;

use switchcost_record::{CacheKind, HostManifest};
use switchcost_units::Bytes;

use crate::claims::Quantities;
use crate::{Effort, Exhibit, Outcome, Records, Site, Step};

const KERNEL: &str = "michigan-kernel";
const USER: &str = "michigan-user";

/// Array sizes of Figures 2 and 3 of the poster, in KiB; 0 stands for the direct cost.
const SIZES_KIB: [u64; 10] = [0, 8, 16, 32, 48, 64, 96, 128, 192, 256];
/// Returns the size of the smallest cache of the machine that holds data.
fn first_level(host: &HostManifest) -> Outcome<Bytes> {
    let caches = host
        .caches
        .iter()
        .filter(|cache| cache.kind != CacheKind::Instruction);
    caches
        .map(|cache| cache.size_bytes)
        .min()
        .ok_or_else(|| "the machine does not report its caches".to_owned())
}

/// Returns true if an array's size is between half and twice that of a cache level.
fn is_about(size: Bytes, level: Bytes) -> bool {
    (level.0 / 2..=level.0 * 2).contains(&size.0)
}

pub(crate) fn steps(site: &Site<'_>) -> Vec<Step> {
    let every = site.effort.choose(1, 3);
    let sizes: Vec<String> = SIZES_KIB
        .iter()
        .step_by(every)
        .map(|kib| format!("{kib}KiB"))
        .collect();
    let speed = site
        .effort
        .choose(" --precision 0.5% --budget 2min", " --quick");
    let rest = format!("--size {} --cpu {}{speed}", sizes.join(","), site.quiet_cpu);
    let mut steps = vec![
        Step::new(
            KERNEL,
            &format!("measure --mechanism pipe --between process {rest}"),
        ),
        Step::new(USER, &format!("measure --mechanism ucontext {rest}")),
        hiding::step(site),
    ];
    if site.effort == Effort::Usual {
        steps.extend(pages::steps(site));
    }
    if site.has_guest {
        steps.extend(with_kernel::steps(site.effort));
    }
    steps
}

pub(crate) fn exhibits(records: &Records) -> Vec<Exhibit> {
    vec![
        measured::figures_2_and_3(records),
        counted::figure_4(records),
        with_kernel::figure_4(records),
        with_kernel::figure_2(records),
        pages::exhibit(records),
        hiding::exhibit(records),
    ]
}

pub(crate) fn quantities() -> Quantities {
    [
        measured::quantities(),
        counted::quantities(),
        with_kernel::quantities(),
        pages::quantities(),
        hiding::quantities(),
    ]
    .concat()
}

#[cfg(test)]
pub(crate) mod tests;
