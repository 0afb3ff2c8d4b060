//! Claims of Li, Ding and Shen 2007: the direct cost, Figures 1 and 2, and Tables 1 and 2. The
//! figures are also simulated in the caches of the paper's machine.

mod in_silico;
mod interference;
mod measured;
mod steps;

use crate::claims::Quantities;
use crate::{Exhibit, Records};

pub(crate) use steps::steps;

/// Size of the second-level cache of the machine of Li et al., in bytes.
const L2_BYTES: u64 = 512 << 10;

pub(crate) fn exhibits(records: &Records) -> Vec<Exhibit> {
    let mut exhibits = vec![
        measured::direct(records),
        measured::figure_1(records),
        measured::figure_2(records),
    ];
    exhibits.push(interference::tables(records));
    exhibits.extend(in_silico::exhibits(records));
    exhibits
}

pub(crate) fn quantities() -> Quantities {
    [
        measured::quantities(),
        interference::quantities(),
        in_silico::quantities(),
    ]
    .concat()
}

#[cfg(test)]
pub(crate) mod tests;
