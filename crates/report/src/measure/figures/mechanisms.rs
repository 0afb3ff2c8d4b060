use plotly::common::{Line, Mode};
use plotly::{Scatter, Trace};
use switchcost_analysis::{Band, CaseFinding};
use switchcost_record::Policy;

use super::NANOS;
use super::point::Series;
use crate::figure::{Drawing, Figure, colour, label, layout, rows_axis, time_axis};
use crate::measure::conditions;
use crate::measure::conditions::scheduler;
use crate::quantity::time;

/// Height of the figure without its rows, and of a row, in pixels.
const FRAME: usize = 150;
const ROW: usize = 24;

/// Where a name alone would stand for two results, all that distinguishes them is named.
fn name(finding: &CaseFinding, usual: Policy) -> String {
    let case = &finding.case;
    let policy = if case.policy == usual {
        String::new()
    } else {
        format!(", {}", scheduler(case.policy))
    };
    let place = if case.placement.is_one_cpu() {
        String::new()
    } else {
        format!(", {}", conditions::placement(case))
    };
    let tasks = if case.tasks == 2 {
        String::new()
    } else {
        format!(", {} tasks", case.tasks)
    };
    format!("{} {}{tasks}{place}{policy}", case.name(), case.between)
}

/// What a switch costs by each mechanism, or a hand-off where no switch can be priced, over the published ranges.
pub(in crate::measure) fn draw(findings: &[&CaseFinding]) -> Option<Figure> {
    let mut findings = findings.to_vec();
    let cost = |finding: &CaseFinding| {
        finding
            .deciding()
            .map_or(f64::INFINITY, |cost| cost.estimate)
    };
    findings.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
    let policy = findings.first()?.case.policy;
    let names: Vec<String> = findings
        .iter()
        .map(|finding| name(finding, policy))
        .collect();
    let (mut switches, mut handoffs) = (Series::default(), Series::default());
    for (place, (finding, name)) in findings.iter().zip(&names).enumerate() {
        if finding.direct_ns.is_some() {
            switches.push(place as f64, finding, finding.direct_ns.as_ref(), name);
        } else {
            handoffs.push(
                place as f64,
                finding,
                finding.handoff_ns.as_ref(),
                &format!("{name} (hand-off)"),
            );
        }
    }
    if switches.is_empty() && handoffs.is_empty() {
        return None;
    }
    let mut traces = bands(&findings);
    traces.extend(switches.traces_across("switch", colour(0)));
    traces.extend(handoffs.traces_across("hand-off", colour(1)));
    let layout = layout()
        .x_axis(time_axis("cost"))
        .y_axis(rows_axis(&names))
        .height(FRAME + ROW * names.len());
    Some(Figure {
        name: "mechanisms".to_owned(),
        title: "Mechanisms side by side".to_owned(),
        caption: format!(
            "Direct cost with its interval, cheapest first. Grey: the range in which such numbers were published; a number outside needs \
             a reason, a number inside proves nothing.{}",
            Series::remark(&[switches, handoffs])
        ),
        drawing: Drawing::new(traces, layout),
        table: None,
    })
}

/// The published ranges, as thick bars behind the points.
fn bands(findings: &[&CaseFinding]) -> Vec<Box<dyn Trace>> {
    let bands = findings
        .iter()
        .enumerate()
        .filter_map(|(place, finding)| Some((place, finding.sanity_band_ns?)));
    let bar =
        |(number, (place, Band { low, high, source })): (usize, (usize, Band))| -> Box<dyn Trace> {
            let text = format!(
                "published: {} to {}<br>{}",
                time(low),
                time(high),
                label(source)
            );
            Scatter::new(vec![low / NANOS, high / NANOS], vec![place as f64; 2])
                .name("published range")
                .legend_group("published")
                .show_legend(number == 0)
                .mode(Mode::Lines)
                .line(Line::new().color("rgba(128,128,128,0.3)").width(14.0))
                .hover_text_array(vec![text.clone(), text])
                .hover_template("%{hovertext}<extra></extra>")
        };
    bands.enumerate().map(bar).collect()
}
