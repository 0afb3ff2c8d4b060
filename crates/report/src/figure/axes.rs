use plotly::common::{ExponentFormat, TickMode, Title};
use plotly::layout::{Axis, AxisRange, AxisType};
use switchcost_units::Bytes;

use super::drawing::GREY;
use super::label::label;

/// So many names of sizes fit beside each other on an axis.
const SIZES_NAMED: f64 = 12.0;

fn axis(title: &str) -> Axis {
    Axis::new()
        .title(Title::with_text(label(title)))
        .color(GREY)
        .grid_color("rgba(128,128,128,0.25)")
        .zero_line(false)
        .auto_margin(true)
}

/// Time in seconds on a logarithmic scale; the ticks are in ns, us or ms.
pub(super) fn time_axis(title: &str) -> Axis {
    axis(title)
        .type_(AxisType::Log)
        .exponent_format(ExponentFormat::SI)
        .tick_suffix("s")
}

/// Sizes of arrays in bytes on a logarithmic scale, with names at those that occur.
pub(super) fn size_axis(title: &str, sizes_bytes: &[u64]) -> Axis {
    let mut sizes: Vec<u64> = sizes_bytes
        .iter()
        .copied()
        .filter(|size| *size > 0)
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    let named = far_apart(&sizes);
    axis(title)
        .type_(AxisType::Log)
        .tick_mode(TickMode::Array)
        .tick_values(named.iter().map(|size| *size as f64).collect())
        .tick_text(named.iter().map(|size| Bytes(*size).to_string()).collect())
}

/// Those of the sizes whose names do not run into each other; the first is among them.
fn far_apart(sizes: &[u64]) -> Vec<u64> {
    let (Some(first), Some(last)) = (sizes.first(), sizes.last()) else {
        return Vec::new();
    };
    let distance = (*last as f64 / *first as f64).log2() / SIZES_NAMED;
    let mut named = vec![*first];
    for size in sizes {
        if named
            .last()
            .is_none_or(|before| (*size as f64 / *before as f64).log2() > 0.999 * distance)
        {
            named.push(*size);
        }
    }
    named.dedup();
    named
}

/// Numbers from 0 on.
pub(super) fn linear_axis(title: &str) -> Axis {
    axis(title)
        .type_(AxisType::Linear)
        .exponent_format(ExponentFormat::SI)
}

/// Numbers above 0 on a logarithmic scale.
pub(super) fn log_axis(title: &str) -> Axis {
    axis(title)
        .type_(AxisType::Log)
        .exponent_format(ExponentFormat::SI)
}

/// Shares from 0 to 1 as percentages.
pub(super) fn share_axis(title: &str) -> Axis {
    axis(title).type_(AxisType::Linear).tick_format(".0%")
}

/// Names at 0, 1, 2 and so on, however alike they are.
pub(super) fn list_axis<T: AsRef<str>>(title: &str, names: &[T]) -> Axis {
    axis(title)
        .type_(AxisType::Linear)
        .tick_mode(TickMode::Array)
        .tick_values((0..names.len()).map(|place| place as f64).collect())
        .tick_text(names.iter().map(|name| label(name.as_ref())).collect())
        .range(AxisRange::new(-0.5, names.len() as f64 - 0.5))
        .show_grid(false)
}

/// So many names of edges fit beside each other on an axis.
const EDGES_NAMED: usize = 8;

/// Bins at 0, 1, 2 and so on, with names at their edges: one more than there are bins.
pub(super) fn edges_axis<T: AsRef<str>>(title: &str, names: &[T]) -> Axis {
    let step = names.len().div_ceil(EDGES_NAMED).max(1);
    let named = names.iter().enumerate().step_by(step);
    axis(title)
        .type_(AxisType::Linear)
        .tick_mode(TickMode::Array)
        .tick_values(named.clone().map(|(place, _)| place as f64 - 0.5).collect())
        .tick_text(named.map(|(_, name)| label(name.as_ref())).collect())
        .range(AxisRange::new(-0.9, names.len() as f64 - 1.1))
        .show_grid(false)
}

/// As [`list_axis`], from the top of a figure to its bottom.
pub(super) fn rows_axis<T: AsRef<str>>(names: &[T]) -> Axis {
    list_axis("", names).range(AxisRange::new(names.len() as f64 - 0.5, -0.5))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_sizes_keep_their_distance() {
        let doubled: Vec<u64> = (0..13).map(|power| 1024 << power).collect();
        assert_eq!(far_apart(&doubled), doubled, "all of a dozen steps");
        assert_eq!(
            far_apart(&[1024, 200 << 10, 256 << 10, 1 << 20]),
            [1024, 200 << 10, 1 << 20]
        );
        assert_eq!((far_apart(&[4096]), far_apart(&[])), (vec![4096], vec![]));
    }
}
