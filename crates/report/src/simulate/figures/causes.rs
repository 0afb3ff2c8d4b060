use std::collections::HashMap;

use switchcost_analysis::simulation::{DesignFinding, Findings, Group, GroupFinding};

use crate::entry::Entry;
use crate::figure::{Figure, Tile, tiles};
use crate::grid::Grid;
use crate::page::Page;
use crate::quantity::{count, rounded, share};
use crate::simulate::detailed;

/// Why tasks had left the CPU: by will, by entry into the kernel, by system call.
pub(super) fn add(page: &mut Page, findings: &Findings) {
    // Causes are those of the trace: the same for every design.
    let has_causes = |design: &&DesignFinding| causes(design).next().is_some();
    let Some(design) = detailed(findings).iter().find(has_causes) else {
        return;
    };
    page.heading(
        "Causes of switches",
        "segments by why the task had left the CPU before",
    );
    page.figure(|| Some(draw(design)));
    page.method(&["simulated-cost"]);
}

fn causes(design: &DesignFinding) -> impl Iterator<Item = (&str, &GroupFinding)> {
    design.groups.iter().filter_map(|group| match &group.group {
        Group::Cause(name) => Some((name.as_str(), group)),
        _ => None,
    })
}

/// `voluntary syscall read` lies in `voluntary syscall`, and that in `voluntary`.
fn nested(design: &DesignFinding) -> Vec<Tile> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut tiles: Vec<Tile> = Vec::new();
    for (cause, group) in causes(design) {
        let (mut within, mut path) = (None, String::new());
        for word in cause.splitn(3, ' ') {
            path = format!("{path} {word}");
            let place = *places.entry(path.clone()).or_insert_with(|| {
                tiles.push(Tile {
                    within,
                    name: word.to_owned(),
                    value: 0.0,
                    hover: String::new(),
                });
                tiles.len() - 1
            });
            tiles[place].value += group.segments as f64;
            within = Some(place);
        }
    }
    for tile in &mut tiles {
        tile.hover = format!("{} segments", count(tile.value as u64));
    }
    tiles
}

fn draw(design: &DesignFinding) -> Figure {
    let columns =
        Grid::new(1)
            .left(["cause"])
            .right(["segments", "excess cycles", "share of excess"]);
    let rows = causes(design).map(|(cause, group)| -> Vec<Entry> {
        let cycles = rounded(group.excess_cycles).into();
        let part = share(design.share_of_excess(group)).into();
        vec![cause.into(), count(group.segments).into(), cycles, part]
    });
    Figure {
        name: "causes".to_owned(),
        title: "Causes of switches".to_owned(),
        caption: format!(
            "An area is a number of segments. Choose a tile to look into it. The excess cycles in the table are those on {}.",
            design.name
        ),
        drawing: tiles(&nested(design)),
        table: Some(columns.with_rows(rows)),
    }
}
