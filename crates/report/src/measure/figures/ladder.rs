use switchcost_analysis::CaseFinding;

use super::point::Series;
use crate::figure::{Drawing, Figure, colour, layout, rows_axis, time_axis};

/// Height of the figure without its rows, and of a row, in pixels.
const FRAME: usize = 150;
const ROW: usize = 24;

/// Hand-offs of one class beside each other; the kernel's in a colour of their own.
pub(in crate::measure) fn draw(class: &str, rows: &[(&CaseFinding, String)]) -> Option<Figure> {
    let (mut runtimes, mut kernel) = (Series::default(), Series::default());
    for (place, (found, name)) in rows.iter().enumerate() {
        let series = if found.case.runtime.is_some() {
            &mut runtimes
        } else {
            &mut kernel
        };
        series.push(place as f64, found, found.handoff_ns.as_ref(), name);
    }
    if runtimes.is_empty() && kernel.is_empty() {
        return None;
    }
    let names: Vec<&str> = rows.iter().map(|(_, name)| name.as_str()).collect();
    let mut traces = runtimes.traces_across("runtimes", colour(0));
    traces.extend(kernel.traces_across("without a runtime", colour(1)));
    Some(Figure {
        name: format!("ladder-{}", class.to_lowercase()),
        title: format!("{class}s beside each other"),
        caption: format!(
            "Each with its interval, cheapest first.{}",
            Series::remark(&[runtimes, kernel])
        ),
        drawing: Drawing::new(
            traces,
            layout()
                .x_axis(time_axis("cost"))
                .y_axis(rows_axis(&names))
                .height(FRAME + ROW * names.len()),
        ),
        table: None,
    })
}
