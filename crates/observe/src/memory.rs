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
/// For so long a program starts, and touches pages that it does not touch later.
const START_UP: Duration = Duration::from_millis(100);
/// From the first look at what is touched to the second, twice as long to the third, ...
const EARLY_MARKS: Duration = Duration::from_millis(200);
/// ... and no longer than this between two.
const BETWEEN_MARKS: Duration = Duration::from_secs(5);
/// Looks at what a process touches that are remembered, the last.
const LOOKS: usize = 32;
/// Processes looked at, each time: some 10 us for each are half of what the observer takes where there are thousands.
pub(crate) const PROCESSES: usize = 128;
/// Processes whose pages are marked at a time.
const MARKED: usize = 16;
/// A page of the size that the kernel counts in.
const KIB: u64 = 1024;

/// What was seen of each process.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    resident: BTreeMap<u32, Bytes>,
    /// The most that was touched between two looks.
    referenced: BTreeMap<u32, Bytes>,
    programs: BTreeMap<u32, Program>,
    looked_at: Option<Instant>,
    looks: u32,
    marked_at: Option<Instant>,
    marks: u32,
    marked: Vec<u32>,
}

impl Memory {
    /// Looks at processes as time goes by. `may_mark` says whether the marks of their pages may be cleared.
    pub(crate) fn tick(&mut self, processes: impl FnOnce() -> BTreeSet<u32>, may_mark: bool) {
        if self.marked_at.is_some_and(|at| at.elapsed() >= MARKED_FOR) && !self.marked.is_empty() {
            self.read_marks();
        }
        let is_too_early = is_early(self.looked_at, EARLY, self.looks, EACH);
        if is_too_early || !self.marked.is_empty() {
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
        if may_mark && !is_early(self.marked_at, EARLY_MARKS, self.marks, BETWEEN_MARKS) {
            self.marked = processes
                .into_iter()
                .filter(|process| self.has_started(*process))
                .filter(|&process| clear_marks(process).is_ok())
                .take(MARKED)
                .collect();
            if !self.marked.is_empty() {
                self.marked_at = Some(Instant::now());
                self.marks = self.marks.saturating_add(1);
            }
        }
    }

    fn has_started(&self, process: u32) -> bool {
        let program = self.programs.get(&process);
        program.is_none_or(|program| program.since.elapsed() >= START_UP)
    }

    /// Reads what was marked for long enough.
    fn read_marks(&mut self) {
        for process in std::mem::take(&mut self.marked) {
            let Some(found) = referenced(process) else {
                continue;
            };
            keep_most(&mut self.referenced, process, found.all);
            if let Some(program) = self.programs.get_mut(&process) {
                program.keep(found.own);
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

    pub(crate) fn restricts_speculation(&self, process: u32) -> bool {
        self.programs
            .get(&process)
            .is_some_and(|program| program.restricts_speculation)
    }

    /// The most that it touched in a tenth of a second.
    pub(crate) fn referenced_of(&self, process: u32) -> Option<Bytes> {
        self.referenced.get(&process).copied()
    }

    /// What it usually touched of its own pages in a tenth of a second: the median of the looks.
    pub(crate) fn usually_referenced_of(&self, process: u32) -> Option<Bytes> {
        let mut looks = self.programs.get(&process)?.touched.clone();
        looks.sort_unstable();
        looks.get(looks.len() / 2).copied()
    }
}

/// Whether it is too soon for a further look: the first pause is the shortest, and each is twice the one before.
fn is_early(last: Option<Instant>, first: Duration, looks: u32, longest: Duration) -> bool {
    let pause = first.saturating_mul(2u32.saturating_pow(looks.saturating_sub(1)));
    last.is_some_and(|at| at.elapsed() < pause.min(longest))
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

/// What a process touched since its marks were cleared.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Referenced {
    /// Whole pages of all that it maps.
    all: Bytes,
    /// Of them, those that no other process touches: the kernel marks a page of a file, too, when another process that mapped it ends.
    own: Bytes,
}

fn referenced(process: u32) -> Option<Referenced> {
    let text = fs::read_to_string(format!("/proc/{process}/smaps")).ok()?;
    Some(Referenced::parse(&text)).filter(|found| found.all > Bytes(0))
}

impl Referenced {
    fn parse(maps: &str) -> Referenced {
        let (mut found, mut of_map) = (Referenced::default(), Bytes(0));
        for line in maps.lines() {
            if let Some(bytes) = amount(line, "Referenced:") {
                of_map = bytes;
                found.all.0 += bytes.0;
            } else if let Some(bytes) = amount(line, "Anonymous:") {
                found.own.0 += bytes.min(of_map).0;
            }
        }
        found
    }
}

fn amount(line: &str, name: &str) -> Option<Bytes> {
    let kib: u64 = line
        .strip_prefix(name)?
        .trim()
        .strip_suffix(" kB")?
        .parse()
        .ok()?;
    Some(Bytes(kib.saturating_mul(KIB)))
}

/// What a process runs.
#[derive(Debug)]
struct Program {
    path: PathBuf,
    is_of_go: bool,
    since: Instant,
    /// What it touched of its own pages, look by look.
    touched: Vec<Bytes>,
    looks: u32,
    restricts_speculation: bool,
}

impl Program {
    fn keep(&mut self, bytes: Bytes) {
        if self.touched.len() == LOOKS {
            self.touched.remove(0);
        }
        self.touched.push(bytes);
    }
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
                since: Instant::now(),
                touched: Vec::new(),
                looks: 0,
                restricts_speculation: false,
            },
        );
    }
    if let Some(program) = programs.get_mut(&process) {
        program.looks += 1;
        // A program mostly restricts itself when it begins; to read all that the kernel says of it takes longer than the other looks.
        if program.looks.is_power_of_two() {
            let status = fs::read_to_string(format!("/proc/{process}/status"));
            program.restricts_speculation |= status.is_ok_and(|text| restricts_speculation(&text));
        }
    }
}

/// Whether a process has speculation restricted for itself alone, by prctl or seccomp, so that the kernel changes the processor's mode at
/// its switches.
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
        memory.tick(|| BTreeSet::from([own]), false);
        assert!(
            memory
                .resident_of(own)
                .is_some_and(|bytes| bytes >= Bytes::mib(1))
        );
        assert!(
            !memory.is_of_go(own) && memory.programs.contains_key(&own),
            "it was looked at"
        );
        std::thread::sleep(START_UP);
        memory.tick(|| BTreeSet::from([own]), true);
        for byte in touched.iter_mut().step_by(4096) {
            *byte += 1;
        }
        std::thread::sleep(MARKED_FOR);
        memory.tick(|| BTreeSet::from([own]), true);
        let seen = [memory.referenced_of(own), memory.usually_referenced_of(own)]
            .map(|seen| seen.expect("marks of one's own pages may be cleared"));
        assert!(
            seen.iter()
                .all(|seen| (Bytes::mib(8)..Bytes::mib(64)).contains(seen)),
            "{seen:?}, and {}",
            touched[0]
        );
    }

    #[test]
    fn what_a_program_touches_as_it_starts_is_not_what_it_usually_touches() {
        let own = std::process::id();
        let mut memory = Memory::default();
        memory.tick(|| BTreeSet::from([own]), true);
        assert!(memory.marked.is_empty(), "it has just been seen first");
        let program = memory.programs.get_mut(&own).expect("it was looked at");
        for mib in [9, 1, 2, 1, 1] {
            program.keep(Bytes::mib(mib));
        }
        assert_eq!(memory.usually_referenced_of(own), Some(Bytes::mib(1)));
        for _ in 0..LOOKS {
            memory
                .programs
                .get_mut(&own)
                .expect("as before")
                .keep(Bytes::mib(3));
        }
        assert_eq!(memory.usually_referenced_of(own), Some(Bytes::mib(3)));
    }

    #[test]
    fn pages_of_files_may_be_touched_by_others() {
        let maps = "00400000-00452000 r-xp 00000000 08:02 173521 /usr/bin/x\n\
                    Referenced:          100 kB\nAnonymous:             0 kB\n\
                    00651000-00652000 rw-p 00051000 08:02 173521 /usr/bin/x\n\
                    Referenced:           12 kB\nAnonymous:             8 kB\n";
        let found = Referenced {
            all: Bytes::kib(112),
            own: Bytes::kib(8),
        };
        assert_eq!(Referenced::parse(maps), found);
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
        assert_eq!((resident(u32::MAX), referenced(u32::MAX)), (None, None));
        assert!(clear_marks(u32::MAX).is_err());
    }
}
