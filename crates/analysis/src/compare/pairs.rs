//! Which case of one side is which of the other.

use record::Case;

use super::candidate::Candidate;
use super::ratio::{LogCost, LogRatio};
use super::{Analysed, Options, Outcome, Pair, Quantity, Subject};
use crate::findings::{CaseFinding, Estimate, Verdict};
use crate::judged::prices_switches;

/// A case with what each record of both sides found.
#[derive(Debug)]
pub(super) struct Matched<'a> {
    case: &'a Case,
    base: Vec<&'a CaseFinding>,
    new: Vec<&'a CaseFinding>,
}

/// All cases of either side.
pub(super) fn matched<'a>(base: &[Analysed<'a>], new: &[Analysed<'a>]) -> Vec<Matched<'a>> {
    let mut all: Vec<Matched<'a>> = Vec::new();
    for (records, is_new) in [(base, false), (new, true)] {
        for (_, findings) in records {
            for finding in &findings.results {
                let matched = place(&mut all, finding, findings.results.as_slice());
                if is_new { matched.new.push(finding) } else { matched.base.push(finding) }
            }
        }
    }
    all
}

/// The entry that a finding belongs to; a new one where there is none yet.
fn place<'a, 'b>(
    all: &'b mut Vec<Matched<'a>>,
    finding: &'a CaseFinding,
    of_its_record: &[CaseFinding],
) -> &'b mut Matched<'a> {
    let alike = |other: &CaseFinding| is_same(&finding.case, &other.case);
    // A record with the same case on several CPUs means them, and not any.
    let names_its_cpus = of_its_record.iter().filter(|other| alike(other)).count() > 1;
    let fits = |matched: &Matched<'_>| {
        is_same(matched.case, &finding.case) && (!names_its_cpus || matched.case.placement == finding.case.placement)
    };
    let at = all.iter().position(fits).unwrap_or_else(|| {
        all.push(Matched { case: &finding.case, base: Vec::new(), new: Vec::new() });
        all.len() - 1
    });
    &mut all[at]
}

/// The same conditions, wherever they were met: one machine's quiet CPU has another number than the other's.
fn is_same(a: &Case, b: &Case) -> bool {
    a.mechanism == b.mechanism
        && a.between == b.between
        && a.tasks == b.tasks
        && a.working_set == b.working_set
        && a.policy == b.policy
        && a.placement.relation == b.placement.relation
        && a.placement.cpus.len() == b.placement.cpus.len()
}

impl Matched<'_> {
    /// Whether one record of several has a number. Their spread was to be seen, and is not: where the others failed, the
    /// usual spread is no good guess.
    fn is_alone(&self, side: &[&CaseFinding]) -> bool {
        side.len() > 1 && self.estimates(side).len() == 1
    }

    /// Whether both sides have a cost above 0.
    fn is_comparable(&self) -> bool {
        let has = |side: &[&CaseFinding]| {
            let estimates = self.estimates(side);
            !estimates.is_empty() && estimates.iter().all(|estimate| estimate.estimate > 0.0)
        };
        has(&self.base) && has(&self.new)
    }

    /// Whether a side that is compared has but one number.
    pub(super) fn has_single_record(&self) -> bool {
        let is_single = |side: &[&CaseFinding]| side.len() == 1;
        let is_alone = self.is_alone(&self.base) || self.is_alone(&self.new);
        self.is_comparable() && !is_alone && (is_single(&self.base) || is_single(&self.new))
    }

    pub(super) fn candidate(self, options: Options) -> Candidate {
        let cost = |side: &[&CaseFinding]| LogCost::of(&self.estimates(side), options.run_spread);
        let (base, new) = (cost(&self.base), cost(&self.new));
        let shown = |side: &Option<LogCost>| side.as_ref().map(|cost| cost.cost(options.confidence));
        let is_known = !self.is_alone(&self.base) && !self.is_alone(&self.new);
        let pair = Pair {
            subject: Subject::Case(self.case.clone()),
            quantity: quantity(self.case),
            base: shown(&base),
            new: shown(&new),
            is_suspect: self.base.iter().chain(&self.new).any(|finding| finding.verdict == Verdict::Suspect),
            outcome: Outcome::NotComparable { why: self.why_not() },
        };
        let ratio = base.zip(new).filter(|_| is_known).map(|(base, new)| LogRatio::between(&base, &new));
        Candidate { pair, ratio }
    }

    /// The numbers of the records that have one.
    fn estimates<'a>(&self, side: &[&'a CaseFinding]) -> Vec<&'a Estimate> {
        let number = |finding: &&'a CaseFinding| match quantity(self.case) {
            Quantity::Total => finding.total_ns.as_ref(),
            Quantity::Direct => finding.direct_ns.as_ref(),
            _ => finding.handoff_ns.as_ref(),
        };
        side.iter().filter_map(number).collect()
    }

    fn why_not(&self) -> String {
        let sides = [("base", &self.base), ("new", &self.new)];
        let reasons = sides.iter().filter_map(|(name, side)| {
            let estimates = self.estimates(side);
            if side.is_empty() {
                Some(format!("the {name} record has no such case"))
            } else if estimates.is_empty() {
                Some(format!("not measured in the {name} record{}", reason(side)))
            } else if self.is_alone(side) {
                Some(only_one_of(side.len(), name))
            } else if estimates.iter().any(|estimate| estimate.estimate <= 0.0) {
                Some(format!("the {name} cost is not above 0, so that a ratio means nothing"))
            } else {
                None
            }
        });
        reasons.collect::<Vec<_>>().join("; ")
    }
}

/// Why one number of several records is not enough.
pub(super) fn only_one_of(records: usize, name: &str) -> String {
    format!("only 1 of {records} {name} records has a number, need 2 to see how much they differ")
}

fn reason(side: &[&CaseFinding]) -> String {
    let why = side.iter().find_map(|finding| match &finding.verdict {
        Verdict::NotMeasured { why } => Some(format!(": {why}")),
        Verdict::Measured | Verdict::Suspect => None,
    });
    why.unwrap_or_default()
}

/// The cost that a case is about.
fn quantity(case: &Case) -> Quantity {
    match (case.working_set.is_empty(), prices_switches(case)) {
        (false, _) => Quantity::Total,
        (true, true) => Quantity::Direct,
        (true, false) => Quantity::HandOff,
    }
}
