use std::collections::{BTreeMap, BTreeSet};

use switchcost_analysis::{CaseFinding, Findings, Verdict};
use switchcost_record::Case;
use switchcost_units::CpuId;

use super::figures;
use super::row::{add_star_legend, starred, tone};
use crate::quantity::{NO_NUMBER, centre};
use crate::{Entry, Grid, Page};

/// Least number of CPU pairs for a matrix. Fewer pairs are clearer in the table of mechanisms.
const LEAST_PAIRS: usize = 2;

/// Results that differ only in their CPUs, by first and second CPU. On the diagonal both tasks run
/// on one CPU.
struct Matrix<'a> {
    title: String,
    cells: BTreeMap<(CpuId, CpuId), &'a CaseFinding>,
    pairs: BTreeSet<usize>,
}

/// Adds a matrix of the cost of a hand-off from CPU to CPU, for each set of results that differ
/// only in their CPUs.
pub(super) fn add(page: &mut Page, findings: &Findings) {
    for matrix in matrices(findings) {
        page.heading("Cost of a hand-off by CPUs", &matrix.title);
        let cpus: Vec<CpuId> = matrix
            .cells
            .keys()
            .flat_map(|(a, b)| [*a, *b])
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        page.figure(|| figures::pairs(&matrix.title, &matrix.cells, &cpus));
        page.grid(matrix.grid(&cpus));
        page.method(["hand-off"]);
        add_star_legend(page, matrix.cells.values().copied());
    }
}

/// Returns the indices of the results that a matrix shows off its diagonal.
pub(super) fn members(findings: &Findings) -> BTreeSet<usize> {
    matrices(findings)
        .into_iter()
        .flat_map(|matrix| matrix.pairs)
        .collect()
}

fn matrices(findings: &Findings) -> Vec<Matrix<'_>> {
    let mut matrices: Vec<Matrix<'_>> = Vec::new();
    for (i, finding) in findings.results.iter().enumerate() {
        let (case, cpus) = (&finding.case, &finding.case.placement.cpus);
        let (Some(first), Some(last)) = (cpus.first(), cpus.last()) else {
            continue;
        };
        if cpus.len() > 2 || !case.working_set.is_empty() {
            continue;
        }
        let title = title(case);
        let found = matrices.iter().position(|matrix| matrix.title == title);
        let at = found.unwrap_or_else(|| {
            matrices.push(Matrix {
                title,
                cells: BTreeMap::new(),
                pairs: BTreeSet::new(),
            });
            matrices.len() - 1
        });
        if first != last {
            matrices[at].pairs.insert(i);
        }
        matrices[at].cells.entry((*first, *last)).or_insert(finding);
    }
    matrices.retain(|matrix| matrix.pairs.len() >= LEAST_PAIRS);
    matrices
}

fn title(case: &Case) -> String {
    format!(
        "{} {}, {} tasks, policy {}",
        case.mechanism, case.between, case.tasks, case.policy
    )
}

impl Matrix<'_> {
    fn grid(&self, cpus: &[CpuId]) -> Grid {
        let mut grid = Grid::new(1)
            .left([""])
            .right(cpus.iter().map(|cpu| format!("CPU {cpu}")));
        for row in cpus
            .iter()
            .filter(|row| self.cells.keys().any(|(first, _)| first == *row))
        {
            let cells = cpus.iter().map(|column| {
                self.cells
                    .get(&(*row, *column))
                    .map(|finding| entry(finding))
            });
            let name = Entry::from(format!("CPU {row}"));
            grid.row(
                [name]
                    .into_iter()
                    .chain(cells.map(Option::unwrap_or_default)),
            );
        }
        grid
    }
}

fn entry(finding: &CaseFinding) -> Entry {
    Entry::stacked(&hand_off(finding), &relation(finding), tone(finding))
}

fn relation(finding: &CaseFinding) -> String {
    finding.case.placement.relation.to_string()
}

fn hand_off(finding: &CaseFinding) -> String {
    match (&finding.verdict, &finding.handoff_ns) {
        (Verdict::NotMeasured { .. }, _) => "not measured".to_owned(),
        (_, None) => NO_NUMBER.to_owned(),
        (_, Some(estimate)) => starred(finding, &centre(estimate)),
    }
}
