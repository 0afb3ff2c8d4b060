use std::collections::BTreeMap;

use switchcost_analysis::simulation::DesignFinding;
use switchcost_analysis::{Findings, simulation};
use switchcost_design::result::Simulation;
use switchcost_record::{HostManifest, MeasureRecord};

/// Results of the steps, by the names of the steps.
#[derive(Debug, Default)]
pub struct Records {
    measured: BTreeMap<String, (MeasureRecord, Findings)>,
    simulated: BTreeMap<String, (Simulation, simulation::Findings)>,
    texts: BTreeMap<String, String>,
    missing: BTreeMap<String, String>,
}

impl Records {
    /// Adds the record of a step that runs `measure`.
    pub fn add_measured(&mut self, step: &str, record: MeasureRecord, findings: Findings) {
        self.measured.insert(step.to_owned(), (record, findings));
    }

    /// Adds the record of a step that runs `simulate` or `workload`, without its intervals of
    /// instructions.
    pub fn add_simulated(&mut self, step: &str, head: Simulation, findings: simulation::Findings) {
        self.simulated.insert(step.to_owned(), (head, findings));
    }

    /// Adds the output of another program that ran with a step.
    pub fn add_text(&mut self, step: &str, text: String) {
        self.texts.insert(step.to_owned(), text);
    }

    /// Adds the reason why a step left no record.
    pub fn add_missing(&mut self, step: &str, why: String) {
        self.missing.insert(step.to_owned(), why);
    }

    /// Returns the machine of one of the measurements; `None` if there are none. Records may come
    /// from a machine other than this one.
    pub fn host(&self) -> Option<&HostManifest> {
        let (record, _) = self.measured.values().next()?;
        Some(&record.header.host)
    }

    pub(crate) fn measured(&self, step: &str) -> Result<(&MeasureRecord, &Findings), String> {
        self.measured
            .get(step)
            .map(|(record, findings)| (record, findings))
            .ok_or_else(|| self.reason(step))
    }

    pub(crate) fn simulated(
        &self,
        step: &str,
    ) -> Result<(&Simulation, &simulation::Findings), String> {
        self.simulated
            .get(step)
            .map(|(head, findings)| (head, findings))
            .ok_or_else(|| self.reason(step))
    }

    /// Returns a design of a simulation by its place, or `why` if the record has none there.
    pub(crate) fn design(
        &self,
        step: &str,
        place: usize,
        why: &str,
    ) -> Result<&DesignFinding, String> {
        let (_, findings) = self.simulated(step)?;
        findings.designs.get(place).ok_or_else(|| why.to_owned())
    }

    pub(crate) fn text(&self, step: &str) -> Result<&str, String> {
        self.texts
            .get(step)
            .map(String::as_str)
            .ok_or_else(|| self.reason(step))
    }

    fn reason(&self, step: &str) -> String {
        self.missing
            .get(step)
            .cloned()
            .unwrap_or_else(|| format!("the step {step} was not run"))
    }
}

/// Returns the values if there are at least `fewest`, and otherwise `why`.
pub(crate) fn require<T>(
    values: Vec<T>,
    fewest: usize,
    why: impl Into<String>,
) -> Result<Vec<T>, String> {
    if values.len() < fewest {
        Err(why.into())
    } else {
        Ok(values)
    }
}

/// Returns the values by array size in KiB, without sizes whose value is missing. If there are less
/// than `fewest` values, returns the reason why the first is missing.
pub(crate) fn collect_known<T>(
    sizes_kib: &[u64],
    fewest: usize,
    value: impl Fn(u64) -> Result<T, String>,
) -> Result<Vec<(u64, T)>, String> {
    let (mut known, mut missing) = (Vec::new(), Vec::new());
    for kib in sizes_kib {
        match value(*kib) {
            Ok(value) => known.push((*kib, value)),
            Err(why) => missing.push(why),
        }
    }
    require(
        known,
        fewest,
        missing.into_iter().next().unwrap_or_default(),
    )
}
