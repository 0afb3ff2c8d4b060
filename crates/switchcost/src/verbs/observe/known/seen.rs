//! Programs of observed processes, identified while they live.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use switchcost_observe::Looks;

use crate::program_id::ProgramId;

/// Maximum number of processes whose programs are identified.
const PROCESSES: usize = 64;

/// Programs that the observed processes were last seen to run.
#[derive(Debug, Default)]
pub(in super::super) struct Seen {
    processes: BTreeMap<u32, Process>,
    looks: Looks,
}

#[derive(Debug, PartialEq)]
pub(super) struct Process {
    /// Its command line, which changes if it executes another program.
    line: Vec<u8>,
    /// Its name, as the kernel keeps it.
    pub(super) name: String,
    pub(super) id: Option<ProgramId>,
}

impl Seen {
    /// Looks at the processes, when it is time.
    pub(in super::super) fn look(&mut self, processes: impl FnOnce() -> BTreeSet<u32>) {
        if self.looks.is_due() {
            for process in processes() {
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
        let is_full = self.processes.len() >= PROCESSES && !self.processes.contains_key(&process);
        if !is_full && !self.processes.get(&process).is_some_and(is_known) {
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
