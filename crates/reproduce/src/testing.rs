//! Records with known answers, made from the committed samples.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use switchcost_analysis::simulation::{Analyser, Options};
use switchcost_analysis::{CaseFinding, Estimate, Findings, simulation};
use switchcost_design::result::Simulation;
use switchcost_record::{Between, MeasureRecord, Mechanism};
use switchcost_simulation_record::SimulationRecord;
use switchcost_units::Bytes;
use switchcost_workload::Access;

use crate::{Claim, Exhibit, Kind, Paper, Records, Verdict};

/// Returns the path of a record among a crate's samples.
fn sample(of: &str, name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join(of)
        .join("tests/samples")
        .join(name)
}

pub(crate) fn simulated() -> (Simulation, simulation::Findings) {
    static SIMULATED: LazyLock<(Simulation, simulation::Findings)> = LazyLock::new(simulate);
    SIMULATED.clone()
}

fn simulate() -> (Simulation, simulation::Findings) {
    let record = SimulationRecord::read(&sample("simulation-record", "simulation-1.parquet"))
        .expect("a committed record");
    let mut analyser = Analyser::new(&record.head, Options::default());
    for batch in record.intervals().expect("its intervals") {
        analyser.add(&batch.expect("a batch"));
    }
    let findings = analyser.finish();
    (record.head, findings)
}

static MEASURED: LazyLock<(MeasureRecord, Findings)> = LazyLock::new(|| {
    let record =
        MeasureRecord::read(&sample("record", "measure-2.jsonl")).expect("a committed record");
    let findings = switchcost_analysis::analyse(&record);
    (record, findings)
});

/// Creates a record without results, to which findings are added.
pub(crate) fn measured() -> (MeasureRecord, Findings) {
    let (record, mut findings) = MEASURED.clone();
    findings.results.clear();
    (record, findings)
}

pub(crate) fn estimate(ns: f64) -> Estimate {
    Estimate {
        estimate: ns,
        low: ns * 0.99,
        high: ns * 1.01,
        within_run: (ns * 0.99, ns * 1.01),
        n: 9,
        confidence: 0.9,
        method: "made up",
        t90: None,
        sd: ns * 0.02,
    }
}

/// Asserts that a number differs from the truth by less than `bound`.
#[track_caller]
pub(crate) fn assert_within(found: f64, truth: f64, bound: f64) {
    assert!((found - truth).abs() < bound, "{found}, not {truth}");
}

/// Creates a cost whose interval reaches `half` nanoseconds to either side.
pub(crate) fn within(ns: f64, half: f64) -> Estimate {
    let ends = (ns - half, ns + half);
    Estimate {
        low: ends.0,
        high: ends.1,
        within_run: ends,
        ..estimate(ns)
    }
}

/// Creates a case in which two tasks walk arrays of `size_bytes` in strides of 8 B (no walk for 0),
/// at a cost of `ns` nanoseconds.
pub(crate) fn case(mechanism: Mechanism, size_bytes: u64, access: Access, ns: f64) -> CaseFinding {
    let mut finding = MEASURED.1.results[0].clone();
    let case = &mut finding.case;
    (case.mechanism, case.between, case.tasks) = (mechanism, Between::Process, 2);
    (
        case.working_set.size_bytes,
        case.working_set.stride_bytes,
        case.working_set.access,
    ) = (Bytes(size_bytes), Bytes(8), access);
    let cost = Some(estimate(ns));
    (finding.direct_ns, finding.total_ns) = if size_bytes == 0 {
        (cost, None)
    } else {
        (None, cost)
    };
    finding
}

/// Returns the exhibit of this name.
pub(crate) fn exhibit(paper: Paper, records: &Records, name: &str) -> Exhibit {
    let mut exhibits = paper.exhibits(records).into_iter();
    let found = exhibits.find(|exhibit| exhibit.name == name);
    found.expect("an exhibit of this name")
}

/// Returns the claim of this name.
pub(crate) fn claim(paper: Paper, records: &Records, id: &str) -> Claim {
    let exhibits = paper.exhibits(records).into_iter();
    let mut claims = exhibits.flat_map(|exhibit| exhibit.claims);
    let found = claims.find(|claim| claim.entry.id == id);
    found.expect("a claim of this name")
}

/// Returns the verdict on each claim that has a rule, by its name.
pub(crate) fn verdicts(paper: Paper, records: &Records) -> BTreeMap<String, Verdict> {
    let claims = paper
        .exhibits(records)
        .into_iter()
        .flat_map(|exhibit| exhibit.claims);
    claims
        .filter(|claim| claim.entry.kind != Kind::Shown)
        .map(|claim| (claim.entry.id, claim.verdict))
        .collect()
}

/// Verdicts on a claim by the paper's own numbers, and by each contradicting set of numbers.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) by_paper: Verdict,
    pub(crate) by_others: Vec<Verdict>,
}

/// Returns the verdicts on each claim by published and by contradicting numbers, by the claim's ID.
pub(crate) fn reported(
    paper: Paper,
    published: &Records,
    others: &[Records],
) -> BTreeMap<String, Shown> {
    let others: Vec<_> = others
        .iter()
        .map(|records| verdicts(paper, records))
        .collect();
    let one = |(id, by_paper): (String, Verdict)| {
        let by_others = others.iter().map(|verdicts| verdicts[&id]).collect();
        (
            id,
            Shown {
                by_paper,
                by_others,
            },
        )
    };
    verdicts(paper, published).into_iter().map(one).collect()
}
