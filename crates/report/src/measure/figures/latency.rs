use plotly::Scatter;
use plotly::common::{Line, Marker, Mode};
use switchcost_record::{CacheKind, HostManifest};
use switchcost_units::Bytes;

use super::NANOS;
use crate::figure::{
    Drawing, Figure, colour, layout, names_of_marks, size_axis, time_axis, upright,
};
use crate::grid::Grid;
use crate::quantity::time;

/// Load latency by size, with the caches of the machine.
pub(in crate::measure) fn draw(host: &HostManifest, points: &[(u64, f64)]) -> Option<Figure> {
    let points: Vec<(u64, f64)> = points.iter().copied().filter(|(_, ns)| *ns > 0.0).collect();
    let sizes: Vec<u64> = points.iter().map(|(size, _)| *size).collect();
    let (first, last) = (*sizes.first()?, *sizes.last()?);
    let trace = Scatter::new(
        sizes.iter().map(|size| *size as f64).collect(),
        points.iter().map(|(_, ns)| ns / NANOS).collect(),
    )
    .name("load latency")
    .mode(Mode::LinesMarkers)
    .line(Line::new().color(colour(0)))
    .marker(Marker::new().color(colour(0)).size(6))
    .hover_text_array(
        points
            .iter()
            .map(|(size, ns)| format!("{}: {}", Bytes(*size), time(*ns)))
            .collect(),
    )
    .hover_template("%{hovertext}<extra></extra>");
    let data = |cache: &&switchcost_record::Cache| {
        cache.kind != CacheKind::Instruction && (first..=last).contains(&cache.size_bytes.0)
    };
    let caches: Vec<&switchcost_record::Cache> = host.caches.iter().filter(data).collect();
    let shapes = caches
        .iter()
        .map(|cache| upright(cache.size_bytes.0 as f64))
        .collect();
    let names = caches.iter().map(|cache| {
        let kind = if cache.kind == CacheKind::Data {
            "d"
        } else {
            ""
        };
        let name = format!("L{}{kind}", cache.level);
        (
            cache.size_bytes.0 as f64,
            name.clone(),
            format!("{name}: {}", cache.size_bytes),
        )
    });
    let notes = names_of_marks(names.collect(), (first as f64, last as f64));
    let layout = layout()
        .x_axis(size_axis("size of the memory walked over", &sizes))
        .y_axis(time_axis("one load"))
        .shapes(shapes)
        .annotations(notes);
    Some(Figure {
        name: "latency".to_owned(),
        title: "Load latency by size".to_owned(),
        caption: "A pointer chase, timed in this run. Dotted lines: data caches of this machine."
            .to_owned(),
        drawing: Drawing::new(vec![trace], layout),
        table: Some(table(&points)),
    })
}

fn table(points: &[(u64, f64)]) -> Grid {
    Grid::new(1).right(["size", "load latency"]).with_rows(
        points
            .iter()
            .map(|(size, ns)| vec![Bytes(*size).to_string().into(), time(*ns).into()]),
    )
}
