use std::collections::BTreeMap;

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
