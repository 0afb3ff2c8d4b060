use plotly::common::{Line, Marker, MarkerSymbol, Mode};
use plotly::{Scatter, Trace};
use switchcost_analysis::compare::{Cost, Unit};

use super::with_interval;
use crate::figure::{colour, interval_bars, label};

/// Nanoseconds in a second.
const NANOS: f64 = 1e9;

/// The points of one side.
pub(super) struct Series {
    name: &'static str,
    unit: Unit,
    number: usize,
    x: Vec<f64>,
    y: Vec<Option<f64>>,
    ends: Vec<(f64, f64)>,
    hovers: Vec<String>,
}

impl Series {
    /// Both sides, in the order of the legend.
    pub(super) fn both(unit: Unit) -> [Series; 2] {
        ["base", "new"].map(|name| {
            let number = usize::from(name == "new");
            Series {
                name,
                unit,
                number,
                x: Vec::new(),
                y: Vec::new(),
                ends: Vec::new(),
                hovers: Vec::new(),
            }
        })
    }

    /// Adds a side of a pair at its place; a gap where it has no number. `about` is hostile text.
    pub(super) fn push(&mut self, x: f64, cost: Option<&Cost>, about: &str) {
        let drawn = if self.unit == Unit::Ns {
            1.0 / NANOS
        } else {
            1.0
        };
        let height = cost
            .map(|cost| cost.value * drawn)
            .filter(|height| *height > 0.0);
        let (low, high) = cost.and_then(|cost| cost.interval).unwrap_or_default();
        self.x.push(x);
        self.y.push(height);
        self.ends.push((low * drawn, high * drawn));
        let text = cost
            .map(|cost| with_interval(cost, self.unit))
            .unwrap_or_default();
        self.hovers
            .push(format!("{}<br>{}: {text}", label(about), self.name));
    }

    /// Nothing where no point is above 0. Sides differ in shape, too, so that they are distinguished without colour.
    pub(super) fn trace(self, is_joined: bool) -> Option<Box<dyn Trace>> {
        if self.y.iter().all(Option::is_none) {
            return None;
        }
        let values: Vec<f64> = self.y.iter().map(|y| y.unwrap_or_default()).collect();
        let colour = colour(self.number);
        let symbol = if self.number == 0 {
            MarkerSymbol::Circle
        } else {
            MarkerSymbol::DiamondOpen
        };
        let ends: Vec<(f64, f64)> = self
            .ends
            .iter()
            .zip(&values)
            .map(|(ends, value)| {
                if ends.1 > 0.0 {
                    *ends
                } else {
                    (*value, *value)
                }
            })
            .collect();
        Some(
            Scatter::new(self.x, self.y)
                .name(self.name)
                .mode(if is_joined {
                    Mode::LinesMarkers
                } else {
                    Mode::Markers
                })
                .error_y(interval_bars(&values, &ends, colour))
                .line(Line::new().color(colour).width(1.5))
                .marker(Marker::new().color(colour).size(8).symbol(symbol))
                .hover_text_array(self.hovers)
                .hover_template("%{hovertext}<extra></extra>"),
        )
    }
}
