//! Table 3 of Mogul and Borg: the memory systems.

use switchcost_design::result::Simulation;
use switchcost_design::{Design, Level, WritePolicy};

use super::{SETS, trials};
use crate::exhibit::Cell;
use crate::{Exhibit, Records};

/// A level of Table 3: name, line size in bytes, number of lines, cycles of a miss, number of write
/// buffers (0 for write-back).
type Published = (&'static str, u64, u64, u32, u32);

/// Table 3, by design. All caches are direct-mapped. There are two first-level caches of the same
/// size, for instructions and for data.
const TABLE: [(&str, &[Published]); 4] = [
    ("1a", &[("L1", 16, 4096, 15, 6)]),
    ("1b", &[("L1", 16, 16384, 15, 6)]),
    ("2a", &[("L1", 16, 128, 13, 4), ("L2", 128, 4096, 200, 0)]),
    ("2b", &[("L1", 16, 512, 13, 4), ("L2", 128, 16384, 200, 0)]),
];

pub(super) fn table_3(records: &Records) -> Exhibit {
    let columns = [
        "design",
        "level",
        "line B",
        "lines",
        "KB",
        "miss cycles",
        "write buffers",
        "simulated the same",
    ];
    let mut exhibit = Exhibit::new("Table 3", "The memory systems", columns);
    let head = simulated(records);
    for (name, levels) in TABLE {
        let full = format!("mogul-{name}");
        let design = head.and_then(|head| head.designs.iter().find(|one| one.design.name == full));
        for published in levels {
            let (level, line, lines, miss, buffers) = *published;
            let is_same = design.map(|found| agrees(&found.design, published));
            exhibit.row(vec![
                name.into(),
                level.into(),
                Cell::number(line as f64, 0),
                Cell::number(lines as f64, 0),
                Cell::number((line * lines / 1024) as f64, 0),
                Cell::number(f64::from(miss), 0),
                Cell::number(f64::from(buffers), 0),
                is_same
                    .map_or("not simulated", |is| if is { "yes" } else { "no" })
                    .into(),
            ]);
        }
    }
    exhibit
}

/// Returns one of the simulations; `None` if there is none. All have the same designs.
fn simulated(records: &Records) -> Option<&Simulation> {
    SETS.iter()
        .find_map(|set| trials(records, set).ok()?.into_iter().next())
        .map(|trial| trial.head)
}

fn agrees(design: &Design, published: &Published) -> bool {
    let (name, ..) = *published;
    let levels: Vec<&Level> = design
        .levels
        .iter()
        .filter(|level| level.name.starts_with(name))
        .collect();
    let wanted = if name == "L1" { 2 } else { 1 };
    levels.len() == wanted && levels.iter().all(|level| is_level(level, published))
}

fn is_level(level: &Level, published: &Published) -> bool {
    let (_, line, lines, miss, buffers) = *published;
    let holds_data = level.name != "L1I";
    let writes = match (level.write, buffers) {
        _ if !holds_data => true,
        (WritePolicy::Back, buffers) => buffers == 0,
        (WritePolicy::Through, buffers) => {
            level.write_buffers.map(|found| found.count) == Some(buffers)
        }
    };
    level.line.0 == line
        && level.size.0 == line * lines
        && level.ways == switchcost_design::Ways::Count(1)
        && level.miss_cycles == miss
        && writes
}
