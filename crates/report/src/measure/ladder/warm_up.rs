//! Shows what runtimes report about themselves: version, start-up time, warm-up, and garbage
//! collections.

use switchcost_record::{MeasureRecord, RuntimeRun, WarmUp};

use crate::measure::figures;
use crate::quantity::time;
use crate::{Grid, Page};

/// Largest relative excess of a window's time per hand-off at which the runtime counts as warmed
/// up. The reference is the median of the last tenth of the windows.
const SETTLED_WITHIN: f64 = 0.25;

/// Adds a table with the version, start-up, warm-up and garbage collections of each runtime.
pub(in crate::measure) fn add(page: &mut Page, record: &MeasureRecord) {
    let mut grid = Grid::new(1).left(["", "version"]).right([
        "starts in",
        "first window, per hand-off",
        "when warm",
        "settled after",
        "collections",
    ]);
    let mut drawn = Vec::new();
    for (place, case) in record.header.plan.cases.iter().enumerate() {
        let runs: Vec<&RuntimeRun> = record
            .runtime_runs
            .iter()
            .filter(|run| run.case as usize == place)
            .collect();
        let Some(first) = runs.first() else { continue };
        let size = case.working_set.size_bytes;
        let data = if case.working_set.is_empty() {
            String::new()
        } else {
            format!(", {size}")
        };
        let warm = |of: fn(&[WarmUp]) -> Option<f64>| {
            median(runs.iter().filter_map(|run| of(&run.warm_up)).collect())
        };
        let cell = |ns: Option<f64>| ns.map(time).unwrap_or_default();
        if case.working_set.is_empty() {
            drawn.push((case.name(), *first));
        }
        let collections: Option<u64> = runs.iter().map(|run| run.collections).sum();
        grid.row(entries![
            format!("{}{data}", case.name()),
            first.version.clone(),
            cell(median(
                runs.iter().map(|run| run.start_ns.0 as f64).collect(),
            )),
            cell(warm(|windows| windows.first().and_then(ns_per_handoff))),
            cell(warm(settled)),
            cell(warm(settled_after)),
            collections.map_or_else(|| "not counted".to_owned(), |count| count.to_string())
        ]);
    }
    if !grid.is_empty() {
        page.heading(
            "Runtimes",
            "medians of all runs; no cost includes hand-offs before warm-up",
        );
        page.figure(|| figures::warm_up(&drawn));
        page.grid(grid);
    }
}

fn ns_per_handoff(window: &WarmUp) -> Option<f64> {
    (window.handoffs > 0).then(|| window.wall_ns.0 as f64 / window.handoffs as f64)
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

fn settled(windows: &[WarmUp]) -> Option<f64> {
    median(
        windows[windows.len() - windows.len().div_ceil(10)..]
            .iter()
            .filter_map(ns_per_handoff)
            .collect(),
    )
}

/// Returns the start in ns of the last window before the runtime was warmed up; 0 if the runtime
/// was warm from the start, and `None` if the last tenth of the windows has no hand-offs. The last
/// slow windows are ignored, up to a tenth of all windows, because other tasks may have
/// contaminated them.
fn settled_after(windows: &[WarmUp]) -> Option<f64> {
    let settled = settled(windows)?;
    let is_unsettled = |window: &&WarmUp| {
        ns_per_handoff(window).is_some_and(|each| each > settled * (1.0 + SETTLED_WITHIN))
    };
    let unsettled: Vec<&WarmUp> = windows.iter().filter(is_unsettled).collect();
    let kept = unsettled.len().saturating_sub(windows.len() / 10);
    Some(
        kept.checked_sub(1)
            .and_then(|last| unsettled.get(last))
            .map_or(0.0, |window| window.at_ns.0 as f64),
    )
}
