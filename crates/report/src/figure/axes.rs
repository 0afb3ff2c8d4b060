use plotly::common::{ExponentFormat, TickMode, Title};
use plotly::layout::{Axis, AxisRange, AxisType};
use units::Bytes;

use super::drawing::GREY;
use super::label::label;

/// More sizes than this are not all named on an axis.
const SIZES_NAMED: usize = 16;

fn axis(title: &str) -> Axis {
    Axis::new()
        .title(Title::with_text(label(title)))
        .color(GREY)
        .grid_color("rgba(128,128,128,0.25)")
        .zero_line(false)
        .auto_margin(true)
}

/// Time in seconds on a logarithmic scale; the ticks are in ns, us or ms.
pub(crate) fn time_axis(title: &str) -> Axis {
    axis(title).type_(AxisType::Log).exponent_format(ExponentFormat::SI).tick_suffix("s")
}

/// Sizes of arrays in bytes on a logarithmic scale, with names at those that occur.
pub(crate) fn size_axis(title: &str, sizes_bytes: &[u64]) -> Axis {
    let mut sizes: Vec<u64> = sizes_bytes.iter().copied().filter(|size| *size > 0).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let step = sizes.len().div_ceil(SIZES_NAMED).max(1);
    let named: Vec<u64> = sizes.iter().copied().step_by(step).collect();
    axis(title)
        .type_(AxisType::Log)
        .tick_mode(TickMode::Array)
        .tick_values(named.iter().map(|size| *size as f64).collect())
        .tick_text(named.iter().map(|size| Bytes(*size).to_string()).collect())
}

/// Numbers from 0 on.
pub(crate) fn linear_axis(title: &str) -> Axis {
    axis(title).type_(AxisType::Linear).exponent_format(ExponentFormat::SI)
}

/// Numbers above 0 on a logarithmic scale.
pub(crate) fn log_axis(title: &str) -> Axis {
    axis(title).type_(AxisType::Log).exponent_format(ExponentFormat::SI)
}

/// Shares from 0 to 1 as percentages.
pub(crate) fn share_axis(title: &str) -> Axis {
    axis(title).type_(AxisType::Linear).tick_format(".0%")
}

/// Names at 0, 1, 2 and so on, however alike they are.
pub(crate) fn list_axis<T: AsRef<str>>(title: &str, names: &[T]) -> Axis {
    axis(title)
        .type_(AxisType::Linear)
        .tick_mode(TickMode::Array)
        .tick_values((0..names.len()).map(|place| place as f64).collect())
        .tick_text(names.iter().map(|name| label(name.as_ref())).collect())
        .range(AxisRange::new(-0.5, names.len() as f64 - 0.5))
        .show_grid(false)
}
