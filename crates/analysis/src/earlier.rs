//! Selects the earlier records of a machine that count for a run, and computes the spread of each
//! case's costs between these records. The rule is in `docs/method/statistics.md`.

use std::collections::BTreeMap;

use strum::IntoEnumIterator;
use switchcost_record::{
    Case, Control, ControlOutcome, CostName, EarlierCase, EarlierRuns, Header, MeasureRecord,
    Mechanism, Spread,
};
use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime};

use crate::compare::first_difference;
use crate::compare::pairs::is_same;
use crate::measurement::findings::{CaseFinding, Findings};
use crate::statistics::estimate::mean_and_sd;

/// Least time between the starts of two records that both count.
const APART: Duration = Duration::HOUR;

/// Largest number of earlier records that count for a case. Older records are less representative
/// of the present machine, and with 20 records Student's quantile is near its limit.
const MOST: usize = 20;

/// Collection of earlier records of a machine, which must be offered from newest to oldest.
#[derive(Clone, Debug)]
pub struct EarlierRecords<'a> {
    this: &'a Header,
    /// For each case of the plan, the runs that count, newest first.
    cases: Vec<Vec<Counted>>,
    found: u32,
    left_out: BTreeMap<String, u32>,
}

/// One run that counts for a case.
#[derive(Clone, Debug)]
struct Counted {
    began: OffsetDateTime,
    started_at: String,
    repetitions: usize,
    /// Core clock in hertz to which the run's costs are scaled; `None` if unknown, and for
    /// synthetic switches, whose cost does not depend on the core clock.
    hertz: Option<f64>,
    costs: Vec<(CostName, Cost)>,
}

/// One cost of a run in nanoseconds, in two parts.
#[derive(Clone, Copy, Debug)]
struct Cost {
    of_core: f64,
    /// Part of the cost that waits for memory, in nanoseconds. This part does not scale with the
    /// core clock.
    of_memory: f64,
    /// Variance of the cost's logarithm between the repetitions of the run.
    within: f64,
}

impl<'a> EarlierRecords<'a> {
    /// Returns an empty collection for the run with this header. The header's host name must not be
    /// redacted.
    pub fn new(this: &'a Header) -> EarlierRecords<'a> {
        let cases = vec![Vec::new(); this.plan.cases.len()];
        EarlierRecords {
            this,
            cases,
            found: 0,
            left_out: BTreeMap::new(),
        }
    }

    /// Returns whether the record with this header can belong to the history of this run: an
    /// earlier run of the same cases on the same machine, under the same conditions. If it cannot,
    /// the record is counted as left out, unless it is the record of this run itself.
    pub fn takes(&mut self, header: &Header) -> bool {
        if (&header.started_at, header.seed) == (&self.this.started_at, self.this.seed) {
            return false;
        }
        match self.objection(header) {
            None => true,
            Some(why) => {
                self.leave_out(why);
                false
            }
        }
    }

    /// Counts a record as left out, with the reason `why`.
    pub fn leave_out(&mut self, why: impl Into<String>) {
        self.found += 1;
        *self.left_out.entry(why.into()).or_default() += 1;
    }

    /// Returns the reason why a record counts for no case; `None` if it may count.
    fn objection(&self, header: &Header) -> Option<String> {
        let (Some(began), Some(this_began)) = (began(header), began(self.this)) else {
            return Some("without a time".to_owned());
        };
        if began >= this_began {
            return Some("begun later".to_owned());
        }
        if !self.this.host.is_same_machine(&header.host) {
            return Some("of another machine or kernel, or without its name".to_owned());
        }
        if let Some(what) = first_difference(self.this, header) {
            return Some(format!("of another setting: {what}"));
        }
        if outcomes(&self.this.controls) != outcomes(&header.controls) {
            return Some("under other controls".to_owned());
        }
        let theirs = &header.plan.cases;
        let shared: Vec<usize> = (0..self.cases.len())
            .filter(|place| theirs.iter().any(|case| self.is_of(*place, case, theirs)))
            .collect();
        let is_open = |place: &&usize| self.cases[**place].len() < MOST;
        match shared.as_slice() {
            [] => Some("of other cases".to_owned()),
            all if all
                .iter()
                .any(|place| is_open(&place) && self.is_apart(*place, began)) =>
            {
                None
            }
            all if all.iter().any(|place| is_open(&place)) => {
                Some("less than an hour before another".to_owned())
            }
            _ => Some(format!("older than the {MOST} newest")),
        }
    }

    /// Whether a case of another run matches the plan's case with index `place`. The CPU numbers
    /// must match if one of the runs has the case on several CPUs.
    fn is_of(&self, place: usize, case: &Case, theirs: &[Case]) -> bool {
        let own = &self.this.plan.cases[place];
        let alike = |cases: &[Case]| cases.iter().filter(|other| is_same(own, other)).count();
        let names_its_cpus = alike(&self.this.plan.cases) > 1 || alike(theirs) > 1;
        is_same(own, case) && (!names_its_cpus || own.placement == case.placement)
    }

    /// Whether a run started at least an hour before the runs that already count for the case, or
    /// before this run if none counts.
    fn is_apart(&self, place: usize, began: OffsetDateTime) -> bool {
        let next = self.cases[place]
            .last()
            .map(|counted| counted.began)
            .or_else(|| self::began(self.this));
        next.is_some_and(|next| next - began >= APART)
    }

    /// Adds the costs of a record for which [`EarlierRecords::takes`] returned true.
    pub fn add(&mut self, record: &MeasureRecord, findings: &Findings) {
        let Some(began) = began(&record.header) else {
            return;
        };
        let (theirs, hertz) = (
            &record.header.plan.cases,
            findings.core.and_then(|core| core.hertz),
        );
        let mut counts = false;
        for place in 0..self.cases.len() {
            let is_it = |finding: &&CaseFinding| self.is_of(place, &finding.case, theirs);
            let Some(finding) = findings
                .results
                .iter()
                .find(is_it)
                .filter(|finding| says_something(finding))
            else {
                continue;
            };
            if self.cases[place].len() >= MOST || !self.is_apart(place, began) {
                continue;
            }
            counts = true;
            self.cases[place].push(Counted {
                began,
                started_at: record.header.started_at.clone(),
                repetitions: finding.deciding().map_or(0, |cost| cost.n),
                hertz: hertz.filter(|_| finding.case.mechanism != Mechanism::Synthetic),
                costs: costs(finding),
            });
        }
        if counts {
            self.found += 1;
        } else {
            self.leave_out("without a number on an unshared core");
        }
    }

    /// Returns the spreads in the form that the run's record stores.
    pub fn finish(self) -> EarlierRuns {
        let cases = self
            .cases
            .iter()
            .enumerate()
            .filter_map(|(place, counted)| earlier_case(place, counted))
            .collect();
        EarlierRuns {
            found: self.found,
            left_out: self.left_out,
            cases,
        }
    }
}

fn began(header: &Header) -> Option<OffsetDateTime> {
    OffsetDateTime::parse(&header.started_at, &Rfc3339).ok()
}

/// Returns the outcomes of the controls by the controls' names.
fn outcomes(controls: &[Control]) -> BTreeMap<&str, &'static str> {
    let outcome = |control: &Control| match control.outcome {
        ControlOutcome::Applied => "applied",
        ControlOutcome::TurnedOff => "turned off",
        ControlOutcome::Refused { .. } => "refused",
    };
    controls
        .iter()
        .map(|control| (control.name.as_str(), outcome(control)))
        .collect()
}

/// Whether a finding can show the spread between runs. On a core that was shared throughout, a
/// finding shows interference instead.
fn says_something(finding: &CaseFinding) -> bool {
    finding.deciding().is_some() && !finding.is_of_shared_core()
}

/// Returns those costs of a case that are above 0, with their names.
fn costs(finding: &CaseFinding) -> Vec<(CostName, Cost)> {
    let reload = finding
        .indirect_reload_ns
        .as_ref()
        .map_or(0.0, |reload| reload.estimate);
    let of = |name| {
        let found = finding.cost(name).filter(|found| found.estimate > 0.0)?;
        let of_memory = match name {
            CostName::Total | CostName::Indirect => reload,
            CostName::IndirectReload | CostName::Walk => found.estimate,
            _ => 0.0,
        };
        Some((
            name,
            Cost {
                of_core: found.estimate - of_memory,
                of_memory,
                within: found.log_variance_within_run()?,
            },
        ))
    };
    CostName::iter().filter_map(of).collect()
}

fn earlier_case(place: usize, counted: &[Counted]) -> Option<EarlierCase> {
    let (newest, oldest) = (counted.first()?, counted.last()?);
    let runs = counted.len();
    let repetitions = counted.iter().map(|run| run.repetitions).sum::<usize>() / runs;
    Some(EarlierCase {
        case: place as u32,
        runs: runs as u32,
        since: oldest.started_at.clone(),
        until: newest.started_at.clone(),
        repetitions: repetitions as u32,
        spreads: CostName::iter()
            .filter_map(|name| spread(name, counted))
            .collect(),
    })
}

/// Returns the spread of one cost between runs; `None` with a single run, or if the cost is missing
/// or not above 0 in some run.
fn spread(cost: CostName, runs: &[Counted]) -> Option<Spread> {
    let reference = runs.first()?.hertz;
    let of_run = |run: &Counted| {
        let (_, found) = run.costs.iter().find(|(name, _)| *name == cost)?;
        let clock = run
            .hertz
            .zip(reference)
            .map_or(1.0, |(own, reference)| own / reference);
        let value = found.of_core * clock + found.of_memory;
        (value > 0.0).then(|| (value.ln(), found.within))
    };
    let found: Vec<(f64, f64)> = runs
        .iter()
        .map(of_run)
        .collect::<Option<_>>()
        .filter(|_| runs.len() > 1)?;
    let (logs, within): (Vec<f64>, Vec<f64>) = found.into_iter().unzip();
    let ppm = |deviation: f64| (deviation * 1e6).round() as u64;
    let (_, between) = mean_and_sd(&logs);
    let within = within.iter().sum::<f64>() / within.len() as f64;
    Some(Spread {
        cost,
        between_ppm: ppm(between),
        within_ppm: ppm(within.sqrt()),
    })
}

#[cfg(test)]
mod tests;
