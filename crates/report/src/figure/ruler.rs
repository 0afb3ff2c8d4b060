//! An axis as drawn: its range, its ticks, and the position of a value.

use switchcost_units::Bytes;

use super::chart::{Axis, Scale};
use super::label::label;
use crate::quantity;

/// Maximum number of steps between the size labels on an axis.
const SIZES_NAMED: f64 = 12.0;
const COUNTS_NAMED: usize = 16;
const EDGES_NAMED: usize = 8;

/// Approximate number of ticks on an axis of numbers.
const TICKS: f64 = 6.0;

/// Number of decades below which a logarithmic axis also has ticks at 2 and 5.
const FEW_DECADES: f64 = 2.5;

/// Margin at each end of a linear or logarithmic axis, as a share of the range of values.
const ROOM: f64 = 0.04;

/// An axis with its range and ticks, in the units of the chart.
#[derive(Clone, Debug)]
pub(super) struct Ruler {
    pub(super) title: String,
    pub(super) ticks: Vec<(f64, String)>,
    pub(super) has_grid: bool,
    is_log: bool,
    from: f64,
    to: f64,
}

impl Ruler {
    /// Creates an axis that shows `values`. If `is_from_zero` (bars and areas), a linear axis
    /// includes 0.
    pub(super) fn new(axis: &Axis, values: &[f64], is_from_zero: bool) -> Self {
        let is_log = axis.scale.is_log();
        let is_shown = |value: &&f64| value.is_finite() && (!is_log || **value > 0.0);
        let values: Vec<f64> = values.iter().filter(is_shown).copied().collect();
        let mut ruler = Ruler {
            title: label(&axis.title),
            ticks: Vec::new(),
            has_grid: true,
            is_log,
            from: 0.0,
            to: 1.0,
        };
        match &axis.scale {
            Scale::Names(names) => ruler.name_places(names),
            Scale::Edges(edges) => ruler.name_edges(edges),
            _ => ruler.fit(axis, &values, is_from_zero),
        }
        match &axis.scale {
            Scale::Size => ruler.ticks = sizes(&values),
            Scale::Time => ruler.ticks = ruler.decades(time_name),
            Scale::Log => ruler.ticks = ruler.decades(short),
            Scale::Count => ruler.ticks = counts(&values),
            Scale::Share => {
                ruler.ticks = ruler.steps(1.0, |part| format!("{} %", short(part * 100.0)));
            }
            Scale::Linear | Scale::Zero => ruler.ticks = ruler.steps(1.0, short),
            Scale::Span => {
                let unit = quantity::Scale::choose(ruler.to);
                ruler.title = format!("{}, {}", ruler.title, unit.unit);
                ruler.ticks = ruler.steps(1.0 / unit.value(1.0), |ns| short(unit.value(ns)));
            }
            Scale::Names(_) | Scale::Edges(_) => (),
        }
        ruler
    }

    /// Extends the axis after the last value, by a share of its length, to make room for text.
    pub(super) fn with_room(mut self, room: f64) -> Self {
        let (from, to) = (self.measure(self.from), self.measure(self.to));
        let to = to + room * (to - from);
        self.to = if self.is_log { 10_f64.powf(to) } else { to };
        self
    }

    /// Returns the relative position of a value: 0 at the beginning of the axis, 1 at the end.
    pub(super) fn share(&self, value: f64) -> f64 {
        let (from, to) = (self.measure(self.from), self.measure(self.to));
        // Values far outside the range are not drawn, so their position is limited.
        ((self.measure(value) - from) / (to - from)).clamp(-2.0, 3.0)
    }

    fn measure(&self, value: f64) -> f64 {
        if self.is_log {
            value.max(f64::MIN_POSITIVE).log10()
        } else {
            value
        }
    }

    fn name_places(&mut self, names: &[String]) {
        (self.from, self.to) = (-0.5, names.len() as f64 - 0.5);
        let named = names.iter().enumerate();
        self.ticks = named.map(|(i, name)| (i as f64, label(name))).collect();
        self.has_grid = false;
    }

    /// Sets the names of bin edges. There is one more edge than bins.
    fn name_edges(&mut self, edges: &[String]) {
        (self.from, self.to) = (-0.9, edges.len() as f64 - 1.1);
        let step = edges.len().div_ceil(EDGES_NAMED).max(1);
        let named = edges.iter().enumerate().step_by(step);
        self.ticks = named
            .map(|(i, name)| (i as f64 - 0.5, label(name)))
            .collect();
        self.has_grid = false;
    }

    fn fit(&mut self, axis: &Axis, values: &[f64], is_from_zero: bool) {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let begins_at_zero =
            is_from_zero || matches!(axis.scale, Scale::Zero | Scale::Span | Scale::Share);
        (self.from, self.to) = match (self.is_log, begins_at_zero) {
            _ if low > high => (1.0, 10.0),
            (true, _) if low < high => {
                let room = (high / low).powf(ROOM);
                (low / room, high * room)
            }
            (true, _) => (low / 2.0, high * 2.0),
            (false, true) => (low.min(0.0), high.max(0.0)),
            (false, false) => (low, high),
        };
        if !self.is_log {
            if self.to <= self.from {
                (self.from, self.to) = (self.from - 0.5, self.to + 0.5);
            }
            let room = ROOM * (self.to - self.from);
            let is_bound = |end: f64| begins_at_zero && end == 0.0;
            self.from -= if is_bound(self.from) { 0.0 } else { room };
            self.to += if is_bound(self.to) { 0.0 } else { room };
        }
        if let Some(end) = axis.end.filter(|end| *end > 0.0) {
            self.to = end;
            self.from = if self.is_log {
                self.from.min(end / 2.0)
            } else {
                0.0
            };
        }
    }

    /// Returns ticks at multiples of a step, which is 1, 2 or 5 times a power of ten of `unit`.
    fn steps(&self, unit: f64, name: impl Fn(f64) -> String) -> Vec<(f64, String)> {
        let (from, to) = (self.from / unit, self.to / unit);
        let rough = (to - from) / TICKS;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|digit| digit * power)
            .find(|step| *step >= rough)
            .unwrap_or(rough);
        let first = (from / step).ceil() as i64;
        let last = (to / step).floor() as i64;
        (first..=last)
            .map(|i| i as f64 * step * unit)
            .map(|value| (value, name(value)))
            .collect()
    }

    /// Returns ticks at powers of ten. A short axis also gets ticks at 2 and 5 times the powers, or
    /// the ticks of a linear axis.
    fn decades(&self, name: fn(f64) -> String) -> Vec<(f64, String)> {
        let (first, last) = (self.from.log10(), self.to.log10());
        let digits: &[f64] = if last - first > FEW_DECADES {
            &[1.0]
        } else {
            &[1.0, 2.0, 5.0]
        };
        let every = (((last - first) / 10.0).ceil() as usize).max(1);
        let powers = (first.floor() as i32..=last.ceil() as i32).step_by(every);
        let ticks: Vec<f64> = powers
            .flat_map(|power| digits.iter().map(move |digit| digit * 10_f64.powi(power)))
            .filter(|value| (self.from..=self.to).contains(value))
            .collect();
        if ticks.len() < 2 {
            return self.steps(1.0, name);
        }
        ticks
            .into_iter()
            .map(|value| (value, name(value)))
            .collect()
    }
}

/// Formats a number for an axis with three digits, and k, M or G for thousands, millions and
/// billions.
fn short(value: f64) -> String {
    let (divided, unit) = match value.abs() {
        size if size >= 1e9 => (value / 1e9, "G"),
        size if size >= 1e6 => (value / 1e6, "M"),
        size if size >= 1e3 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    format!("{}{unit}", trimmed(divided))
}

/// Formats a number with three digits and without trailing zeros.
fn trimmed(value: f64) -> String {
    let rounded: f64 = format!("{value:.2e}").parse().unwrap_or(value);
    // Adding 0 turns -0 into 0.
    format!("{}", rounded + 0.0)
}

fn time_name(ns: f64) -> String {
    let scale = quantity::Scale::choose(ns);
    format!("{} {}", trimmed(scale.value(ns)), scale.unit)
}

fn counts(values: &[f64]) -> Vec<(f64, String)> {
    let mut counts = values.to_vec();
    counts.sort_by(f64::total_cmp);
    counts.dedup();
    let step = counts.len().div_ceil(COUNTS_NAMED).max(1);
    let named = counts.into_iter().step_by(step);
    named.map(|value| (value, short(value))).collect()
}

fn sizes(values: &[f64]) -> Vec<(f64, String)> {
    let mut sizes: Vec<u64> = values.iter().map(|size| *size as u64).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let named = far_apart(&sizes).into_iter();
    named
        .map(|size| (size as f64, Bytes(size).to_string()))
        .collect()
}

/// Returns the first size, and further sizes whose labels do not overlap.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_have_the_units_of_the_texts() {
        for (scale, values, expected) in [
            (Scale::Time, &[150.0, 2e6][..], "1 us, 10 us, 100 us, 1 ms"),
            (Scale::Time, &[900.0, 6_000.0], "1 us, 2 us, 5 us"),
            (
                Scale::Time,
                &[1_000.0, 1_100.0],
                "1 us, 1.02 us, 1.04 us, 1.06 us, 1.08 us, 1.1 us",
            ),
            (Scale::Zero, &[3.0, 48_000.0], "0, 10k, 20k, 30k, 40k"),
            (Scale::Share, &[0.21], "0 %, 5 %, 10 %, 15 %, 20 %"),
            (Scale::Span, &[4_100.0], "0, 1, 2, 3, 4"),
            (Scale::Count, &[4.0, 2.0, 4.0], "2, 4"),
        ] {
            let ruler = Ruler::new(&Axis::new(scale, "x"), values, false);
            let names: Vec<String> = ruler.ticks.into_iter().map(|(_, name)| name).collect();
            assert_eq!(names.join(", "), expected);
        }
    }

    #[test]
    fn a_value_lies_between_its_neighbours() {
        let log = Ruler::new(&Axis::new(Scale::Time, "x"), &[1.0, 100.0], false);
        assert!((log.share(10.0) - 0.5).abs() < 1e-9);
        let end = Ruler::new(&Axis::new(Scale::Linear, "x").end_at(10.0), &[90.0], false);
        assert_eq!((end.share(0.0), end.share(5.0)), (0.0, 0.5));
        let bars = Ruler::new(&Axis::new(Scale::Linear, "x"), &[4.0], true);
        assert_eq!(bars.share(0.0), 0.0);
        for values in [&[][..], &[7.0], &[f64::NAN, f64::INFINITY, -1.0, 0.0]] {
            for scale in [Scale::Time, Scale::Linear, Scale::Share, Scale::Count] {
                let ruler = Ruler::new(&Axis::new(scale, "x"), values, false);
                assert!(ruler.share(7.0).is_finite(), "{ruler:?}");
            }
        }
    }

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
