use switchcost_analysis::simulation::{DesignFinding, Findings, Group, GroupFinding};

use super::amount::{ends, known, with_bound};
use super::detailed;
use crate::quantity::{NO_NUMBER, count, share};
use crate::{Entry, Grid, Page};

/// Maximum number of causes shown for each design.
const CAUSES: usize = 8;

/// Adds a table of excess cycles by class and by cause. The cause is the reason why the task had
/// left the CPU before its segment.
pub(super) fn add(page: &mut Page, findings: &Findings) {
    let mut grid = Grid::new(2).left(["design", "after"]).right([
        "segments",
        "median length",
        "net",
        "interval",
        "lost",
        "interval",
        "gained",
        "state",
        "cut-off",
        "of all",
    ]);
    for design in detailed(findings) {
        for group in shown(design) {
            grid.row(row(design, group));
        }
    }
    page.table(
        "By cause",
        "cycles per switch, by why the task had left the CPU; each cause up to its own cut-off",
        grid,
    );
}

/// Returns the groups with a row: classes, the kinds of tasks of a guest, and the most frequent
/// causes.
fn shown(design: &DesignFinding) -> impl Iterator<Item = &GroupFinding> {
    let is_class = |group: &Group| matches!(group, Group::All | Group::Class(_) | Group::Tasks(_));
    let classes = design
        .groups
        .iter()
        .filter(move |group| is_class(&group.group));
    let causes = design
        .groups
        .iter()
        .filter(|group| matches!(group.group, Group::Cause(_)));
    classes.chain(causes.take(CAUSES))
}

fn row(design: &DesignFinding, group: &GroupFinding) -> Vec<Entry> {
    let name = match &group.group {
        Group::All => "all".to_owned(),
        Group::Class(class) => (*class).to_owned(),
        Group::Tasks(tasks) => format!("of {tasks}"),
        Group::Cause(cause) => format!("  {cause}"),
        Group::EndClass(class) => format!("before {class}"),
    };
    entries![
        &design.name,
        name,
        count(group.segments),
        group
            .median_instructions
            .map_or(NO_NUMBER.to_owned(), count),
        with_bound(&group.cost_cycles),
        ends(&group.cost_cycles),
        known(&group.lost_cycles),
        ends(&group.lost_cycles),
        known(&group.gained_cycles),
        known(&group.state_cycles),
        count(group.cut.instructions),
        share(design.share_of_excess(group))
    ]
}
