use std::collections::HashMap;

use switchcost_analysis::simulation::{DesignFinding, Findings, Group, GroupFinding};

use crate::entry::Entry;
use crate::figure::{Drawing, Figure, Tile, Treemap, outline};
use crate::grid::Grid;
use crate::page::Page;
use crate::simulate::amount::{count, rounded, share};
use crate::simulate::detailed;

/// Why tasks had left the CPU: by will, by entry into the kernel, by system call.
pub(super) fn add(page: &mut Page, findings: &Findings) {
    // Causes are those of the trace: the same for every design.
    let Some(design) = detailed(findings)
        .iter()
        .find(|design| causes(design).next().is_some())
    else {
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
fn tiles(design: &DesignFinding) -> Vec<Tile> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut tiles: Vec<Tile> = Vec::new();
    for (cause, group) in causes(design) {
        let mut within = None;
        let mut path = String::new();
        let words: Vec<&str> = cause.splitn(3, ' ').collect();
        for word in &words {
            path = format!("{path} {word}");
            let place = *places.entry(path.clone()).or_insert_with(|| {
                tiles.push(Tile {
                    within,
                    name: (*word).to_owned(),
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
    let row = |(cause, group): (&str, &GroupFinding)| -> Vec<Entry> {
        vec![
            cause.into(),
            count(group.segments).into(),
            rounded(group.excess_cycles).into(),
            share(design.share_of_excess(group)).into(),
        ]
    };
    let columns =
        Grid::new(1)
            .left(["cause"])
            .right(["segments", "excess cycles", "share of excess"]);
    let grid = columns.with_rows(causes(design).map(row));
    Figure {
        name: "causes".to_owned(),
        title: "Causes of switches".to_owned(),
        caption: format!(
            "An area is a number of segments. Choose a tile to look into it. The excess cycles in the table are those on {}.",
            design.name
        ),
        drawing: Drawing::new(vec![Treemap::new(&tiles(design))], outline()),
        table: Some(grid),
    }
}
