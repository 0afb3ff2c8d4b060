use std::collections::BTreeMap;

use itertools::Itertools;
use strum::IntoEnumIterator;
use switchcost_analysis::Point as Sample;
use switchcost_record::{Arm, MeasureRecord};

use crate::figure::{Axis, Chart, Look, Point, Scale, Series};
use crate::measure::conditions;
use crate::{Grid, Page};

/// Maximum number of points in the figure. Further samples are omitted, which the caption says.
const MOST_POINTS: usize = 100_000;

/// Adds a figure of all samples over the time of the run, with contaminated samples marked.
pub(in crate::measure) fn add(page: &mut Page, record: &MeasureRecord, points: &[Sample]) {
    if !page.has_figures() || points.is_empty() {
        return;
    }
    let (drawn, thinning) = thinned(points.iter().collect());
    page.heading(
        "Samples over time",
        "time per hand-off in each arm, over the run",
    );
    page.figure(|| draw(record, &drawn, &thinning));
    page.method(["contamination", "statistics"]);
}

/// Returns up to [`MOST_POINTS`] samples, and a sentence on omitted samples; the sentence is empty
/// if none are omitted. Clean samples are omitted before contaminated ones.
fn thinned(all: Vec<&Sample>) -> (Vec<&Sample>, String) {
    if all.len() <= MOST_POINTS {
        return (all, String::new());
    }
    let total = all.len();
    let dirty = all
        .iter()
        .filter(|drawn| !drawn.left_out.is_empty())
        .count();
    let (keep_dirty, keep_clean) = match dirty {
        dirty if dirty < MOST_POINTS => (1, (total - dirty).div_ceil(MOST_POINTS - dirty)),
        dirty => (dirty.div_ceil(MOST_POINTS), total),
    };
    let (mut clean_seen, mut dirty_seen) = (0, 0);
    let keep = |drawn: &&Sample| {
        let (seen, every) = if drawn.left_out.is_empty() {
            (&mut clean_seen, keep_clean)
        } else {
            (&mut dirty_seen, keep_dirty)
        };
        *seen += 1;
        (*seen - 1) % every == 0
    };
    let mut keep = keep;
    let kept: Vec<&Sample> = all.into_iter().filter(|drawn| keep(drawn)).collect();
    let says = format!(
        " Only {} of {total} samples are drawn: one in {keep_clean} clean and one in {keep_dirty} disturbed ones.",
        kept.len()
    );
    (kept, says)
}

fn draw(record: &MeasureRecord, drawn: &[&Sample], thinning: &str) -> Chart {
    let cases: Vec<String> = record
        .header
        .plan
        .cases
        .iter()
        .map(conditions::label)
        .collect();
    let name = |sample: &Sample| cases.get(sample.case as usize).map_or("", String::as_str);
    let point = |sample: &Sample, note: String| {
        Point::new(sample.at_seconds, sample.handoff_seconds * 1e9, "").with_note(note)
    };
    let (dirty, clean): (Vec<&Sample>, Vec<&Sample>) =
        drawn.iter().partition(|sample| !sample.left_out.is_empty());
    let arms = Arm::iter().map(|arm| {
        let points = clean.iter().filter(|sample| sample.arm == arm);
        let points = points.map(|sample| point(sample, name(sample).to_owned()));
        Series::new(Look::Cloud, arm.to_string(), points)
    });
    let crosses = dirty.iter().map(|sample| {
        let reasons = sample.left_out.join(", ");
        point(
            sample,
            format!("{}, {}\nleft out: {reasons}", name(sample), sample.arm),
        )
    });
    let x = Axis::new(Scale::Linear, "time since the start of the run (s)");
    Chart::new(
        "samples",
        "Samples over time",
        x,
        Axis::new(Scale::Time, "time a hand-off"),
    )
    .with(arms)
    .with([Series::new(Look::Crosses, "left out", crosses)])
    .caption(format!(
        "Crosses are samples that were left out of the estimates, with the reason.{thinning}"
    ))
    .numbers(table(record, drawn))
}

/// Number of samples, and number of excluded samples by reason.
type Count<'a> = (usize, BTreeMap<&'a str, usize>);

/// Returns a table of the drawn samples by case and arm: their number, and the number excluded for
/// each reason.
fn table(record: &MeasureRecord, drawn: &[&Sample]) -> Grid {
    let mut counts: BTreeMap<(u32, Arm), Count<'_>> = BTreeMap::new();
    for drawn in drawn {
        let (all, by_reason) = counts.entry((drawn.case, drawn.arm)).or_default();
        *all += 1;
        drawn
            .left_out
            .iter()
            .for_each(|reason| *by_reason.entry(reason).or_default() += 1);
    }
    let mut grid = Grid::new(2)
        .left(["result", "arm"])
        .right(["samples drawn"])
        .left(["left out, by reason"]);
    for ((case, arm), (all, by_reason)) in counts {
        let name = record
            .header
            .plan
            .cases
            .get(case as usize)
            .map(conditions::label)
            .unwrap_or_default();
        let reasons = by_reason
            .iter()
            .map(|(reason, count)| format!("{reason} {count}"))
            .join(", ");
        grid.row(entries![name, arm.to_string(), all.to_string(), reasons]);
    }
    grid
}

#[cfg(test)]
mod tests {
    use super::*;

    fn many(count: usize, dirty: usize) -> Vec<Sample> {
        let one = |i| Sample {
            case: 0,
            arm: Arm::SwitchDirect,
            at_seconds: 0.0,
            handoff_seconds: 1.0,
            left_out: if i < dirty { vec!["steal"] } else { Vec::new() },
        };
        (0..count).map(one).collect()
    }

    #[test]
    fn too_many_samples_are_thinned_and_that_is_reported() {
        let few = many(MOST_POINTS, 7);
        let (kept, says) = thinned(few.iter().collect());
        assert_eq!((kept.len(), says.as_str()), (MOST_POINTS, ""));
        let some = many(250_000, 1_000);
        let (kept, says) = thinned(some.iter().collect());
        assert_eq!(
            kept.iter()
                .filter(|drawn| !drawn.left_out.is_empty())
                .count(),
            1_000,
            "disturbed ones stay"
        );
        assert_eq!(kept.len(), 84_000);
        assert_eq!(
            says,
            " Only 84000 of 250000 samples are drawn: one in 3 clean and one in 1 disturbed ones."
        );
        let all = many(250_000, 250_000);
        let (kept, _) = thinned(all.iter().collect());
        assert!(
            kept.len() <= MOST_POINTS && !kept.is_empty(),
            "{}",
            kept.len()
        );
    }
}
