//! Identifies the programs of observed processes while the processes live.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use switchcost_observe::Looks;

use crate::program_id::ProgramId;

/// Maximum number of processes that are identified during the observation, and again at its end.
pub(super) const PROCESSES: usize = 64;

/// Programs that the observed processes ran when they were last seen.
#[derive(Debug, Default)]
pub(in super::super) struct Seen {
    processes: BTreeMap<u32, Process>,
    looks: Looks,
}

#[derive(Debug, PartialEq)]
pub(super) struct Process {
    /// Command line of the process, which changes if the process executes another program.
    line: Vec<u8>,
    /// Name of the process, as stored by the kernel.
    pub(super) name: String,
    pub(super) id: Option<ProgramId>,
}

impl Seen {
    /// Identifies the programs of processes, if a scan is due. Once many processes have been seen,
    /// new ones are ignored, because most of those seen may have ended.
    pub(in super::super) fn look(&mut self, processes: impl FnOnce() -> BTreeSet<u32>) {
        if !self.looks.is_due() {
            return;
        }
        for process in processes() {
            if self.processes.len() < PROCESSES || self.processes.contains_key(&process) {
                self.look_at(process);
            }
        }
    }

    pub(super) fn look_at(&mut self, process: u32) {
        let of = |file| fs::read(format!("/proc/{process}/{file}"));
        let (Ok(line), Ok(name)) = (of("cmdline"), of("comm")) else {
            return;
        };
        let name = String::from_utf8_lossy(name.trim_ascii_end()).into_owned();
        let is_known = |known: &Process| known.line == line && known.name == name;
        if !self.processes.get(&process).is_some_and(is_known) {
            let id = ProgramId::identify_process(process);
            self.processes.insert(process, Process { line, name, id });
        }
    }

    pub(super) fn processes(&self) -> impl Iterator<Item = (u32, &Process)> {
        self.processes
            .iter()
            .map(|(number, process)| (*number, process))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_lives_at_the_end_is_identified_however_many_were_seen() {
        let mut seen = Seen::default();
        let own = std::process::id();
        for process in (1..).filter(|process| *process != own).take(PROCESSES) {
            let (line, name, id) = (Vec::new(), String::new(), None);
            seen.processes.insert(process, Process { line, name, id });
        }
        seen.look(|| [own].into());
        assert!(!seen.processes.contains_key(&own), "no room");
        seen.look_at(own);
        assert!(seen.processes[&own].id.is_some());
    }
}
