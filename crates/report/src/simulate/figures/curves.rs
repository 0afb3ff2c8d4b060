use switchcost_analysis::simulation::{
    DesignFinding, Findings, Group, GroupFinding, Point as Found, Spread,
};

use super::{cycles, is_class, name};
use crate::figure::{Axis, Chart, Look, Mark, Point, Scale, Series};
use crate::quantity::{count, number, rounded, share};
use crate::simulate::amount::{ends, with_bound};
use crate::{Grid, Page};

/// A kind of CPI that is drawn as curves, with the texts of its chart.
struct View {
    name: &'static str,
    title: &'static str,
    caption: &'static str,
    spread: fn(&Found) -> &Spread,
}

const VIEWS: [View; 3] = [
    View {
        name: "shared",
        title: "CPI since the switch, one hierarchy for all (figure 2)",
        caption: "Simulated cycles per instruction in a hierarchy that all processes share.",
        spread: |point| &point.shared_cpi,
    },
    View {
        name: "private",
        title: "CPI since the switch, one hierarchy for each process (figure 3)",
        caption: "The same with private caches for each process. A fall that remains here is not interference: it is due to new \
            data after a system call, or to short segments that end.",
        spread: |point| &point.private_cpi,
    },
    View {
        name: "excess",
        title: "Excess CPI since the switch (figure 4)",
        caption: "Shared minus private: the cost of the other processes.",
        spread: |point| &point.excess_cpi,
    },
];

/// Least number of segments of a class whose curve is drawn. A curve of fewer segments would be
/// mostly noise, and determine the scale.
const FEW: u64 = 30;

/// The curves of one design: its groups of switches, and the length of an interval in instructions.
struct Curves<'a> {
    design: &'a DesignFinding,
    groups: Vec<&'a GroupFinding>,
    interval: u64,
    number: usize,
}

/// Adds figures 2 to 7 of Mogul and Borg for one design: curves for all switches and for each
/// class.
pub(super) fn add(page: &mut Page, findings: &Findings, design: &DesignFinding, place: usize) {
    let is_shown = |group: &&GroupFinding| is_class(&group.group) && !group.curve.is_empty();
    let curves = Curves {
        design,
        groups: design.groups.iter().filter(is_shown).collect(),
        interval: findings.interval_instructions,
        number: place + 1,
    };
    if curves.groups.is_empty() {
        return;
    }
    page.heading(
        format!("Curves since the switch on {}", design.name),
        "simulated; the figures are those of Mogul and Borg 1990",
    );
    for view in &VIEWS {
        page.figure(|| curves.cpi(view));
    }
    page.figure(|| curves.cumulative());
    page.method(["simulated-cost", "simulation"]);
}

impl Curves<'_> {
    fn is_drawn(group: &GroupFinding) -> bool {
        group.group == Group::All || group.segments >= FEW
    }

    fn end(&self, point: &Found) -> u64 {
        point
            .since_switch_instructions
            .saturating_add(self.interval)
    }

    /// Draws the curves of all segments and of large groups. The curves end after the last interval
    /// that at least [`FEW`] segments reach.
    fn chart(
        &self,
        name: &str,
        title: &str,
        y: &str,
        points: impl Fn(&GroupFinding) -> Vec<Point>,
    ) -> Chart {
        let drawn = self
            .groups
            .iter()
            .enumerate()
            .filter(|(_, group)| Self::is_drawn(group));
        let reached = |least: u64| {
            let points = self.groups.iter().filter(|group| Self::is_drawn(group));
            let points = points.flat_map(|group| &group.curve);
            points
                .filter(|point| point.segments >= least)
                .map(|point| self.end(point))
                .max()
        };
        let end = reached(FEW).or_else(|| reached(1)).unwrap_or(self.interval);
        let x = Axis::new(Scale::Linear, "instructions since the switch").end_at(end as f64);
        let series = drawn.map(|(hue, group)| {
            Series::new(Look::Line, super::name(&group.group), points(group)).coloured(hue)
        });
        let cut = Mark {
            at: self.design.cut.instructions as f64,
            name: "cut-off".to_owned(),
            cause: "too few segments remain after it".to_owned(),
        };
        let (id, title) = (
            format!("{name}-{}", self.number),
            format!("{}: {title}", self.design.name),
        );
        Chart::new(id, title, x, Axis::new(Scale::Linear, y))
            .with(series)
            .marked([cut])
    }

    fn cpi(&self, view: &View) -> Chart {
        let points = |group: &GroupFinding| {
            let point = |found: &Found| {
                let spread = (view.spread)(found);
                let middle = found.since_switch_instructions as f64 + self.interval as f64 / 2.0;
                let sd = spread
                    .sd
                    .map(|sd| format!(", sd {}", number(sd)))
                    .unwrap_or_default();
                Point::new(middle, spread.mean, format!("{}{sd}", number(spread.mean)))
                    .with_note(format!("{} segments", count(found.segments)))
            };
            group.curve.iter().map(point).collect()
        };
        let perhaps = |value: Option<f64>| value.map(number).unwrap_or_default();
        let table = self.table(&["CPI", "sd", "largest"], |point| {
            let spread = (view.spread)(point);
            vec![number(spread.mean), perhaps(spread.sd), perhaps(spread.max)]
        });
        self.chart(view.name, view.title, "simulated CPI", points)
            .caption(format!(
                "{} Each point stands in the middle of its interval. Dotted: the cut-off of all switches, after which too few segments \
                 remain.{}",
                view.caption,
                self.left_out()
            ))
            .numbers(table)
    }

    /// Draws the cumulative cost of a switch as a function of the instructions since the switch.
    fn cumulative(&self) -> Chart {
        let points = |group: &GroupFinding| {
            let start = Point::new(0.0, 0.0, "0 cycles");
            let point =
                |found: &Found| cycles(self.end(found) as f64, found.cumulative_excess_cycles);
            std::iter::once(start)
                .chain(group.curve.iter().map(point))
                .collect()
        };
        let cost = &self.design.average_cost_cycles;
        let interval = match ends(cost) {
            ends if ends.is_empty() => ends,
            ends => format!(" ({ends})"),
        };
        let table = self.table(&["cumulative excess cycles"], |point| {
            vec![rounded(point.cumulative_excess_cycles)]
        });
        let title = "cumulative excess cycles (figures 5 to 7)";
        self.chart("cumulative", title, "simulated excess cycles", points)
            .caption(format!(
                "Cumulative simulated cycles of a switch. At the cut-off (dotted, after {} instructions) this is the cost of a \
                 switch: {}{interval}. A curve that still rises there has not levelled off.{}",
                count(self.design.cut.instructions),
                with_bound(cost),
                self.left_out()
            ))
            .numbers(table)
    }

    /// Returns a sentence for the caption on groups that are too small to be drawn; empty if there
    /// are none.
    fn left_out(&self) -> String {
        let few = self.groups.iter().filter(|group| !Self::is_drawn(group));
        let few: Vec<String> = few
            .map(|group| format!("{} ({})", name(&group.group), count(group.segments)))
            .collect();
        if few.is_empty() {
            String::new()
        } else {
            format!(
                " Not drawn (fewer than {FEW} segments): {}.",
                few.join(", ")
            )
        }
    }

    fn table(&self, names: &[&str], values: impl Fn(&Found) -> Vec<String>) -> Grid {
        let mut grid = Grid::new(2)
            .left(["after"])
            .right([
                "instructions since the switch",
                "segments",
                "share of segments",
            ])
            .right(names.iter().copied());
        for group in &self.groups {
            for point in &group.curve {
                let at = [
                    name(&group.group),
                    count(point.since_switch_instructions),
                    count(point.segments),
                    share(point.survivors),
                ];
                grid.row(at.into_iter().chain(values(point)));
            }
        }
        grid
    }
}
