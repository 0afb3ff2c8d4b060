//! How much memory live processes have, and how much of it they touch; at the same looks, whether their programs are of Go.
//!
//! What a process touches is found by clearing the marks of its pages and reading, a tenth of a second later, which are set
//! again. The kernel uses the marks to tell which pages to keep, and clearing takes some 30 us for each MiB: so it is done to
//! processes that this one started, and to others only where that is allowed, and not often.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use object::read::{Object, ReadCache};
use switchcost_units::Bytes;

/// From the first look at what is resident to the second, twice as long to the third, ...: a program has its memory soon, and may not
/// run for long ...
const EARLY: Duration = Duration::from_millis(20);
/// ... and no longer than this between two.
const EACH: Duration = Duration::from_secs(1);
/// For how long pages are marked.
const MARKED_FOR: Duration = Duration::from_millis(100);
/// From one look at what is touched to the next.
const BETWEEN_MARKS: Duration = Duration::from_secs(5);
/// Processes looked at, each time: some 10 us for each are half of what the observer takes where there are thousands.
pub(crate) const PROCESSES: usize = 128;
/// Processes whose pages are marked at a time.
const MARKED: usize = 16;
/// A page of the size that the kernel counts in.
const KIB: u64 = 1024;

/// The most seen of each process.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    resident: BTreeMap<u32, Bytes>,
    referenced: BTreeMap<u32, Bytes>,
    programs: BTreeMap<u32, Program>,
    looked_at: Option<Instant>,
    looks: u32,
    marked_at: Option<Instant>,
    marked: Vec<u32>,
}

impl Memory {
    /// Looks at processes as time goes by. `may_mark` says whether the marks of their pages may be cleared.
    pub(crate) fn tick(&mut self, processes: impl FnOnce() -> BTreeSet<u32>, may_mark: bool) {
        if self.marked_at.is_some_and(|at| at.elapsed() >= MARKED_FOR) && !self.marked.is_empty() {
            self.read_marks();
        }
        let pause = EARLY
            .saturating_mul(2u32.saturating_pow(self.looks.saturating_sub(1)))
            .min(EACH);
        let is_early = self.looked_at.is_some_and(|at| at.elapsed() < pause);
        if is_early || !self.marked.is_empty() {
            return;
        }
        self.looked_at = Some(Instant::now());
        self.looks = self.looks.saturating_add(1);
        let processes = processes();
        for &process in processes.iter().take(PROCESSES) {
            if let Some(bytes) = resident(process) {
                keep_most(&mut self.resident, process, bytes);
            }
            look_at_program(&mut self.programs, process);
        }
        if may_mark
            && self
                .marked_at
                .is_none_or(|at| at.elapsed() >= BETWEEN_MARKS)
        {
            self.marked = processes
                .into_iter()
                .filter(|&process| clear_marks(process).is_ok())
                .take(MARKED)
                .collect();
            self.marked_at = Some(Instant::now());
        }
    }

    /// Reads what was marked for long enough.
    fn read_marks(&mut self) {
        for process in std::mem::take(&mut self.marked) {
            if let Some(bytes) = referenced(process) {
                keep_most(&mut self.referenced, process, bytes);
            }
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

    pub(crate) fn referenced_of(&self, process: u32) -> Option<Bytes> {
        self.referenced.get(&process).copied()
    }
}

fn keep_most(of: &mut BTreeMap<u32, Bytes>, process: u32, bytes: Bytes) {
    // Numbers of processes that are gone stay; there are not many in an observation, and a bound keeps them from growing.
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

/// 1 clears the marks of all pages of a process.
fn clear_marks(process: u32) -> io::Result<()> {
    fs::write(format!("/proc/{process}/clear_refs"), "1")
}

fn referenced(process: u32) -> Option<Bytes> {
    let text = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("Referenced:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(Bytes(kib.saturating_mul(KIB)))
}

/// What a process runs.
#[derive(Debug)]
struct Program {
    path: PathBuf,
    is_of_go: bool,
}

/// A process that was started just now may run another program soon.
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
            },
        );
    }
}

/// Go's linker leaves this section in every program, stripped or not.
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
    fn memory_that_is_touched_is_seen() {
        let own = std::process::id();
        let mut memory = Memory::default();
        let mut touched = vec![0u8; 8 << 20];
        memory.tick(|| BTreeSet::from([own]), true);
        assert!(
            memory
                .resident_of(own)
                .is_some_and(|bytes| bytes >= Bytes::mib(1))
        );
        assert!(
            !memory.is_of_go(own) && memory.programs.contains_key(&own),
            "it was looked at"
        );
        for byte in touched.iter_mut().step_by(4096) {
            *byte += 1;
        }
        std::thread::sleep(MARKED_FOR);
        memory.tick(|| BTreeSet::from([own]), true);
        let seen = memory
            .referenced_of(own)
            .expect("marks of one's own pages may be cleared");
        assert!(
            seen >= Bytes::mib(8) && seen < Bytes::mib(64),
            "{seen}, and {}",
            touched[0]
        );
    }

    #[test]
    fn a_process_that_is_gone_has_no_memory() {
        assert_eq!((resident(u32::MAX), referenced(u32::MAX)), (None, None));
        assert!(clear_marks(u32::MAX).is_err());
    }
}
