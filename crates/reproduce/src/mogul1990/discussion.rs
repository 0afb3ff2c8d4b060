//! Section 6 of Mogul and Borg: the cost of a switch in the caches, compared with the kernel's
//! work and with an exchange of packets.

use super::quantities::microseconds;
use super::{SETS, published};
use crate::exhibit::Cell;
use crate::{Exhibit, Records};

/// Times with which section 6 compares the cost in the caches, in microseconds: a switch on the
/// DECstation 5000 in Ultrix (Ousterhout), and the shortest possible (Anderson et al.); an exchange
/// of two packets.
const COMPARED_US: [(&str, f64); 4] = [
    ("kernel: Ultrix, measured", 70.0),
    ("kernel: the least possible, estimated", 7.4),
    ("two packets: Ethernet", 130.0),
    ("two packets: FDDI", 13.0),
];
/// Cycle time of the DECstation in microseconds (section 4.1).
const CYCLE_US: f64 = 0.04;

pub(super) fn exhibit(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new(
        "section 6",
        "Cost of a switch in the caches and in the kernel, DECstation 5000/200",
        ["what", "published us", "here us", "low", "high"],
    );
    for (number, set) in SETS.iter().enumerate() {
        let there = published(set.published, "1a", |row| row.average_cost_cycles) * CYCLE_US;
        let here = microseconds(records, number);
        exhibit.row(vec![
            format!("caches, {}", set.published).into(),
            Cell::number(there, 1),
            Cell::new(&here, 1, |term| term.value),
            Cell::new(&here, 1, |term| term.low),
            Cell::new(&here, 1, |term| term.high),
        ]);
    }
    for (what, us) in COMPARED_US {
        let empty = || Cell::Text(String::new());
        exhibit.row(vec![
            what.into(),
            Cell::number(us, 1),
            empty(),
            empty(),
            empty(),
        ]);
    }
    exhibit.add_note("The paper's text rounds Client-Server's 7.4 us to 10.");
    exhibit
}
