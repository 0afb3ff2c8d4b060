//! Matches the cases of base and new measurement records.

use switchcost_record::{Case, CostName, Mechanism};

use super::candidate::{Candidate, SIDES, require_both, suspects};
use super::spread::{self, Run};
use super::switches::{self, ChangedSwitches};
use super::{Analysed, Outcome, Quantity, RunSpread, Subject};
use crate::lists::find_or_add;
use crate::measurement::findings::{CaseFinding, Findings, FlagName, Verdict};
use crate::measurement::run_spread::assumed_spread;
use crate::statistics::Estimate;

/// A case, with its finding in each base, new and earlier record.
#[derive(Debug)]
pub(super) struct Matched<'a> {
    case: &'a Case,
    /// Findings in the base records, and in the new records.
    sides: [Vec<Found<'a>>; 2],
    /// Findings in earlier records of the same machine, which show the spread between its runs.
    earlier: Vec<Found<'a>>,
    /// The case of the new records, if it differs from that of the base records.
    new_case: Option<&'a Case>,
    /// Number of cases on the other side that this case could be compared with, if there are
    /// several.
    alike: usize,
}

/// Finding for a case in one record, with the factor that scales its costs.
#[derive(Clone, Copy, Debug)]
struct Found<'a> {
    finding: &'a CaseFinding,
    /// Factor that scales a cost from the record's core clock to the common core clock.
    factor: f64,
}

/// Returns the cases of both sides, matched, with costs scaled to the core clock `hertz`.
pub(super) fn matched<'a>(
    sides: [&[Analysed<'a>]; 2],
    earlier: &[Analysed<'a>],
    hertz: Option<f64>,
) -> Vec<Matched<'a>> {
    let mut all: Vec<Matched<'a>> = Vec::new();
    for (side, records) in sides.into_iter().enumerate() {
        for (_, findings) in records {
            let factor = factor(findings, hertz);
            for finding in &findings.results {
                let matched = place(&mut all, finding, &findings.results);
                matched.sides[side].push(Found { finding, factor });
            }
        }
    }
    for (_, findings) in earlier {
        let factor = factor(findings, hertz);
        for finding in &findings.results {
            let is_it = |matched: &&mut Matched<'_>| is_same(matched.case, &finding.case);
            if let Some(matched) = all.iter_mut().find(is_it) {
                matched.earlier.push(Found { finding, factor });
            }
        }
    }
    all
}

fn factor(findings: &Findings, hertz: Option<f64>) -> f64 {
    let own = findings.core.and_then(|core| core.hertz);
    own.zip(hertz).map_or(1.0, |(own, common)| own / common)
}

/// Returns the entry for the finding's case. Adds an empty entry if there is none yet.
fn place<'a, 'b>(
    all: &'b mut Vec<Matched<'a>>,
    finding: &'a CaseFinding,
    of_its_record: &[CaseFinding],
) -> &'b mut Matched<'a> {
    let alike = |other: &CaseFinding| is_same(&finding.case, &other.case);
    // If a record has the same case on several CPUs, these are distinguished by CPU number.
    let names_its_cpus = of_its_record.iter().filter(|other| alike(other)).count() > 1;
    let fits = |matched: &Matched<'_>| {
        is_same(matched.case, &finding.case)
            && (!names_its_cpus || matched.case.placement == finding.case.placement)
    };
    find_or_add(all, fits, || Matched {
        case: &finding.case,
        sides: Default::default(),
        earlier: Vec::new(),
        new_case: None,
        alike: 0,
    })
}

/// Whether two cases have the same conditions. CPU numbers are ignored, because they differ between
/// machines.
pub(crate) fn is_same(a: &Case, b: &Case) -> bool {
    // The expected number of switches follows from the conditions.
    let rest = Case {
        switches: b.switches,
        placement: b.placement.clone(),
        ..a.clone()
    };
    rest == *b
        && a.placement.relation == b.placement.relation
        && a.placement.cpus.len() == b.placement.cpus.len()
}

impl<'a> Found<'a> {
    /// Returns the factor that scales this finding's cost to the common core clock. The factor is 1
    /// for a synthetic switch, whose length is defined as time.
    fn factor(&self) -> f64 {
        if self.finding.case.mechanism == Mechanism::Synthetic {
            1.0
        } else {
            self.factor
        }
    }

    /// Returns the compared cost in nanoseconds. All of the cost except the wait for memory is
    /// scaled to the common core clock.
    fn value(&self) -> Option<f64> {
        let (switch, handoff) = (
            self.finding.deciding()?.estimate,
            self.finding.handoff_cost()?.estimate,
        );
        let reload = match (
            quantity(&self.finding.case),
            &self.finding.indirect_reload_ns,
        ) {
            (Quantity::Total, Some(reload)) => reload.estimate * handoff / switch,
            _ => 0.0,
        };
        Some((handoff - reload) * self.factor() + reload)
    }

    /// Whether the finding is suspect, or was measured while other tasks ran.
    fn is_suspect(&self) -> bool {
        let is_beside_others = self
            .finding
            .flags
            .iter()
            .any(|flag| flag.name == FlagName::BesideOthers);
        self.finding.verdict == Verdict::Suspect || is_beside_others
    }

    /// Returns the value of the quantity `of`, and the estimate from which the value comes.
    fn number(&self, of: Quantity) -> Option<(f64, &'a Estimate)> {
        let scaled = |estimate: &'a Estimate, parts: f64| {
            Some((estimate.estimate / parts * self.factor(), estimate))
        };
        match of {
            Quantity::Calls => scaled(self.finding.baseline_ns.as_ref()?, 1.0),
            Quantity::HandOffWithCalls => scaled(
                self.finding.round_trip_ns.as_ref()?,
                f64::from(self.finding.case.tasks),
            ),
            _ => Some((self.value()?, self.finding.deciding()?)),
        }
    }

    fn run(&self, of: Quantity) -> Option<Run> {
        let (value, estimate) = self.number(of)?;
        Run::new(value, estimate)
    }
}

impl<'a> Matched<'a> {
    pub(super) fn case(&self) -> &'a Case {
        self.case
    }

    /// Whether the case is in records of this side (0 is base, 1 is new) and not of the other.
    pub(super) fn is_only_on(&self, side: usize) -> bool {
        !self.sides[side].is_empty() && self.sides[1 - side].is_empty()
    }

    pub(super) fn note_alike(&mut self, cases: usize) {
        self.alike = cases;
    }
}

impl Matched<'_> {
    /// Returns the case in the base records, and the case in the new records.
    pub(super) fn sides_cases(&self) -> [&Case; 2] {
        [self.case, self.new_case.unwrap_or(self.case)]
    }

    /// Returns the spread between runs to assume for a quantity. The larger constant is used if a
    /// case on either side has hand-offs across CPUs.
    pub(super) fn assumed_spread(&self, of: Quantity) -> f64 {
        let cost = if of == Quantity::Calls {
            CostName::Baseline
        } else {
            CostName::Handoff
        };
        self.sides_cases()
            .into_iter()
            .map(|case| assumed_spread(case, cost))
            .fold(0.0, f64::max)
    }

    /// Returns the quantity that is compared for this case.
    pub(super) fn quantity(&self) -> Quantity {
        quantity(self.new_case.unwrap_or(self.case))
    }

    /// Returns the values above 0 of the quantity `of` in the records of each side.
    pub(super) fn sides(&self, of: Quantity) -> [Vec<Run>; 2] {
        [0, 1].map(|side| self.runs(&self.sides[side], of))
    }

    /// Returns the values above 0 of the quantity `of` in earlier records.
    pub(super) fn earlier(&self, of: Quantity) -> Vec<Run> {
        self.runs(&self.earlier, of)
    }

    /// Returns the numbers of switches per hand-off if they differ between the sides.
    pub(super) fn changed_switches(&self) -> Option<ChangedSwitches> {
        let counts = |side: &[Found<'_>]| -> Vec<f64> {
            side.iter()
                .filter_map(|found| found.finding.switches_per_handoff)
                .collect()
        };
        switches::changed(self.case, [0, 1].map(|side| counts(&self.sides[side])))
    }

    fn runs(&self, side: &[Found<'_>], of: Quantity) -> Vec<Run> {
        self.chosen(side)
            .iter()
            .filter_map(|found| found.run(of))
            .collect()
    }

    /// Returns the findings of one side that have a number. Findings from a shared core are left
    /// out if any record of either side had an unshared core.
    fn chosen<'b>(&self, side: &'b [Found<'_>]) -> Vec<&'b Found<'b>> {
        let has_number = |found: &&Found<'_>| found.finding.deciding().is_some();
        let is_any_unshared = self
            .sides
            .iter()
            .flatten()
            .filter(has_number)
            .any(|found| !found.finding.is_of_shared_core());
        side.iter()
            .filter(has_number)
            .filter(|found| !is_any_unshared || !found.finding.is_of_shared_core())
            .collect()
    }

    /// Returns the values of one side, or the reason why there are none. A single value from
    /// several records is not enough, because a single value shows no spread. The assumed spread
    /// may be wrong in this case, because the other records failed.
    fn side(&self, side: usize, of: Quantity) -> Result<Vec<Run>, String> {
        let (name, side) = (SIDES[side], &self.sides[side]);
        let chosen = self.chosen(side);
        let runs = self.runs(side, of);
        Err(if side.is_empty() && self.alike > 1 {
            format!(
                "{} cases of the {name} record fit it, so it is not clear which to compare",
                self.alike
            )
        } else if side.is_empty() {
            format!("the {name} record has no such case")
        } else if side.iter().all(|found| found.finding.deciding().is_none()) {
            format!("not measured in the {name} record{}", reason(side))
        } else if chosen.is_empty() {
            format!(
                "the cost of the {name} record is from a shared core, and that of the other side is not"
            )
        } else if side.len() > 1 && chosen.len() == 1 {
            only_one_of(side.len(), name)
        } else if runs.len() < chosen.len() {
            format!("the {name} cost is not above 0, so it has no ratio")
        } else {
            return Ok(runs);
        })
    }

    pub(super) fn candidate(&self, of: Quantity, confidence: f64, spread: RunSpread) -> Candidate {
        let earlier = self.earlier(of);
        let (costs, ratio) = match require_both([0, 1].map(|side| self.side(side, of))) {
            Ok(sides) => {
                let (costs, ratio) = spread::compared(&sides, &earlier, spread);
                (costs.map(Some), Ok(ratio))
            }
            Err(why) => (
                self.sides(of)
                    .map(|side| spread::alone(&side, &earlier, spread)),
                Err(Outcome::incomparable(why)),
            ),
        };
        Candidate {
            subject: Subject::Case(self.case.clone()),
            new_case: self.new_case.cloned(),
            quantity: of,
            costs: costs.map(|cost| Some(cost?.cost(confidence))),
            ratio,
            suspects: suspects(self.sides.each_ref().map(Vec::as_slice), Found::is_suspect),
        }
    }
}

/// Moves the new side's findings from the case with the index `from` to the case with the index
/// `to`.
pub(super) fn join(all: &mut [Matched<'_>], to: usize, from: usize) {
    all[to].sides[1] = std::mem::take(&mut all[from].sides[1]);
    all[to].new_case = Some(all[from].case);
}

/// Returns the reason why a single value from several records is not enough.
pub(super) fn only_one_of(records: usize, name: &str) -> String {
    format!("only 1 of {records} {name} records has a number, so their spread is unknown")
}

fn reason(side: &[Found<'_>]) -> String {
    let why = side.iter().find_map(|found| match &found.finding.verdict {
        Verdict::NotMeasured { why } => Some(format!(": {why}")),
        Verdict::Measured | Verdict::Suspect => None,
    });
    why.unwrap_or_default()
}

/// Returns the quantity that is compared for a case: the cost of one hand-off, with the working set
/// if there is one.
fn quantity(case: &Case) -> Quantity {
    if case.working_set.is_empty() {
        Quantity::HandOff
    } else {
        Quantity::Total
    }
}
