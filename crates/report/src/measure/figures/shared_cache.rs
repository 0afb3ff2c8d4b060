use switchcost_analysis::{Estimate, Findings, SharedCache};
use switchcost_units::Bytes;

use super::point::Series;
use crate::entry::Entry;
use crate::figure::{Drawing, Figure, colour, layout, size_axis, time_axis};
use crate::grid::Grid;
use crate::measure::row::loses_more;
use crate::quantity::{NO_NUMBER, with_interval};

type Part = fn(&SharedCache) -> Option<&Estimate>;

/// Beside what it takes alone.
const PARTS: [(&str, Part); 3] = [
    ("in turn: a walk behind a switch, longer by", |one| {
        one.in_turn_ns.as_ref()
    }),
    ("at once: a walk beside the other's, longer by", |one| {
        one.at_once_ns.as_ref()
    }),
    ("a walk alone", |one| one.alone_ns.as_ref()),
];

/// What a walk takes longer in turn and at once, over the size of each task's array; of the walks of the first case.
pub(in crate::measure) fn draw(findings: &Findings) -> Option<Figure> {
    let like = findings.shared_cache.first()?.working_set;
    let is_like = |one: &&SharedCache| {
        let set = one.working_set;
        (set.stride_bytes, set.access, set.pattern)
            == (like.stride_bytes, like.access, like.pattern)
    };
    let mut all: Vec<&SharedCache> = findings.shared_cache.iter().filter(is_like).collect();
    all.sort_by_key(|one| one.working_set.size_bytes);
    let sizes: Vec<u64> = all.iter().map(|one| one.working_set.size_bytes.0).collect();
    let mut traces = Vec::new();
    let mut drawn = Vec::new();
    for (place, (name, part)) in PARTS.into_iter().enumerate() {
        let mut series = Series::default();
        for one in &all {
            let size = one.working_set.size_bytes;
            let result = one.in_turn.filter(|_| place == 0).unwrap_or(one.at_once);
            let finding = findings.results.get(result)?;
            series.push(
                size.0 as f64,
                finding,
                part(one),
                &format!("{name}, {size}"),
            );
        }
        traces.extend(series.traces(name, colour(place), true));
        drawn.push(series);
    }
    let axis = size_axis("size of each task's array", &sizes);
    Some(Figure {
        name: "shared-cache".to_owned(),
        title: "A cache shared in turn and at once".to_owned(),
        caption: format!(
            "By how much a walk takes longer than alone: behind a switch on one CPU, and beside the other task's on a second CPU.{}",
            Series::remark(&drawn)
        ),
        drawing: Drawing::new(
            traces,
            layout().x_axis(axis).y_axis(time_axis("time of a walk")),
        ),
        table: Some(table(&all)),
    })
}

fn table(all: &[&SharedCache]) -> Grid {
    let mut grid = Grid::new(1)
        .right(["size"])
        .right(PARTS.iter().map(|(name, _)| *name))
        .left(["loses more"]);
    for one in all {
        let mut row = vec![Entry::from(Bytes::to_string(&one.working_set.size_bytes))];
        row.extend(PARTS.iter().map(|(_, part)| {
            Entry::from(part(one).map_or_else(|| NO_NUMBER.to_owned(), with_interval))
        }));
        row.push(loses_more(one).into());
        grid.row(row);
    }
    grid
}
