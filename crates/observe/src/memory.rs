//! Examines live processes: their memory, whether their programs are written in Go, and whether
//! they restrict speculation.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::PathBuf;

use object::read::{Object, ReadCache};
use switchcost_facts::Root;
use switchcost_units::Bytes;

use crate::looks::Looks;

/// Maximum number of processes per examination. At about 10 us each, thousands of processes would
/// take half of the observer's time.
pub(crate) const PROCESSES: usize = 128;

/// Facts about each process: resident memory, and its program.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    resident: BTreeMap<u32, Bytes>,
    programs: BTreeMap<u32, Program>,
    looks: Looks,
}

impl Memory {
    /// Examines processes if an examination is due. `processes` returns the live ones.
    pub(crate) fn tick(&mut self, processes: impl FnOnce() -> BTreeSet<u32>) {
        if !self.looks.is_due() {
            return;
        }
        for process in processes().into_iter().take(PROCESSES) {
            if let Some(bytes) = resident(process) {
                keep_most(&mut self.resident, process, bytes);
            }
            look_at_program(&mut self.programs, process);
        }
    }

    pub(crate) fn resident_of(&self, process: u32) -> Option<Bytes> {
        self.resident.get(&process).copied()
    }

    pub(crate) fn is_of_go(&self, process: u32) -> bool {
        self.programs
            .get(&process)
            .is_some_and(|program| program.is_of_go)
    }

    pub(crate) fn restricts_speculation(&self, process: u32) -> bool {
        self.programs
            .get(&process)
            .is_some_and(|program| program.restricts_speculation)
    }
}

fn keep_most(of: &mut BTreeMap<u32, Bytes>, process: u32, bytes: Bytes) {
    // Facts about ended processes stay, up to a limit.
    if of.len() < PROCESSES * 128 || of.contains_key(&process) {
        let most = of.entry(process).or_insert(bytes);
        *most = (*most).max(bytes);
    }
}

fn resident(process: u32) -> Option<Bytes> {
    let text = fs::read_to_string(format!("/proc/{process}/statm")).ok()?;
    let pages: u64 = text.split(' ').nth(1)?.parse().ok()?;
    Some(Bytes(
        pages.saturating_mul(rustix::param::page_size() as u64),
    ))
}

/// Facts about the program of a process.
#[derive(Debug)]
struct Program {
    path: PathBuf,
    is_of_go: bool,
    looks: u32,
    restricts_speculation: bool,
}

/// Examines the program of a process. Must be called several times, because a process that has just
/// started may soon execute another program.
fn look_at_program(programs: &mut BTreeMap<u32, Program>, process: u32) {
    let Ok(path) = fs::read_link(format!("/proc/{process}/exe")) else {
        return;
    };
    let is_known = programs
        .get(&process)
        .is_some_and(|known| known.path == path);
    if !is_known && programs.len() < PROCESSES * 128 {
        programs.insert(
            process,
            Program {
                path,
                is_of_go: is_of_go(process),
                looks: 0,
                restricts_speculation: false,
            },
        );
    }
    if let Some(program) = programs.get_mut(&process) {
        program.looks += 1;
        // A program restricts itself mostly at its start, and reading the kernel's status takes
        // longer than the other reads.
        if program.looks.is_power_of_two() {
            // The name in this file may contain any bytes.
            let status = Root::system().read(&format!("/proc/{process}/status"));
            program.restricts_speculation |= status.is_ok_and(|text| restricts_speculation(&text));
        }
    }
}

/// Whether a process has restricted speculation for itself (by prctl or seccomp), from the text of
/// /proc/PID/status. At switches to and from such a process, the kernel changes the processor's
/// mode.
fn restricts_speculation(status: &str) -> bool {
    const RESTRICTED: [(&str, [&str; 2]); 2] = [
        (
            "Speculation_Store_Bypass:",
            ["thread mitigated", "thread force mitigated"],
        ),
        (
            "SpeculationIndirectBranch:",
            ["conditional disabled", "conditional force disabled"],
        ),
    ];
    let is_restricted = |line: &str| {
        RESTRICTED.iter().any(|(name, states)| {
            let state = line.strip_prefix(name).map(str::trim);
            state.is_some_and(|state| states.contains(&state))
        })
    };
    status.lines().any(is_restricted)
}

/// Whether a process runs a Go program, which has a section that Go's linker writes and `strip`
/// keeps.
fn is_of_go(process: u32) -> bool {
    let Ok(program) = File::open(format!("/proc/{process}/exe")) else {
        return false;
    };
    let cache = ReadCache::new(program);
    object::File::parse(&cache).is_ok_and(|file| file.section_by_name(".go.buildinfo").is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_and_program_of_a_process_are_seen() {
        let own = std::process::id();
        let mut memory = Memory::default();
        memory.tick(|| BTreeSet::from([own]));
        assert!(
            memory
                .resident_of(own)
                .is_some_and(|bytes| bytes >= Bytes::mib(1))
        );
        assert!(
            !memory.is_of_go(own) && memory.programs.contains_key(&own),
            "it was looked at"
        );
    }

    #[test]
    fn speculation_is_restricted_by_what_the_task_asked_for_and_not_for_all() {
        for (status, is_restricted) in [
            ("Speculation_Store_Bypass:\tthread force mitigated\n", true),
            (
                "Speculation_Store_Bypass:\tthread mitigated\nSpeculationIndirectBranch:\talways enabled\n",
                true,
            ),
            (
                "Speculation_Store_Bypass:\tthread vulnerable\nSpeculationIndirectBranch:\tconditional force disabled\n",
                true,
            ),
            (
                "Speculation_Store_Bypass:\tthread vulnerable\nSpeculationIndirectBranch:\tconditional enabled\n",
                false,
            ),
            (
                "Speculation_Store_Bypass:\tglobally mitigated\nSpeculationIndirectBranch:\talways disabled\n",
                false,
            ),
            ("Speculation_Store_Bypass:\tvulnerable\n", false),
            ("Name:\tthread mitigated\n", false),
        ] {
            assert_eq!(restricts_speculation(status), is_restricted, "{status}");
        }
    }

    #[test]
    fn a_process_that_is_gone_has_no_memory() {
        assert_eq!(resident(u32::MAX), None);
    }
}
