//! Identifies the programs that were observed.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::Path;

use switchcost_record::observation::{Observation, Subject};

use super::seen::{PROCESSES, Seen};
use crate::program_id::{self, ProgramId, Started, is_interpreter};

/// Length of the name of a task in the kernel, in bytes.
const NAME: usize = 15;

/// Observed programs for which no result of `inject` has been found yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Programs {
    /// PIDs of the live processes of each program.
    living: BTreeMap<ProgramId, Vec<u32>>,
    /// Names of tasks that have ended.
    ended: BTreeSet<String>,
    /// Program of the ended processes of each name; `None` if they ran several programs, or if some
    /// processes of an interpreter were not seen.
    told: BTreeMap<String, Option<ProgramId>>,
    /// Program that the observed command started, and possible names of its task; `None` if no
    /// command was observed.
    command: Option<(ProgramId, [String; 2])>,
}

impl Programs {
    pub(super) fn new(observation: &Observation, mut seen: Seen) -> Programs {
        let mut programs = Programs::default();
        let tasks = observation.tasks.iter().filter(|tasks| !tasks.is_kernel);
        let living: BTreeSet<u32> = tasks.clone().filter_map(|tasks| tasks.process).collect();
        for process in living.iter().take(PROCESSES) {
            seen.look_at(*process);
        }
        let mut ended: BTreeMap<&str, Vec<&Option<ProgramId>>> = BTreeMap::new();
        for (number, process) in seen.processes() {
            match &process.id {
                Some(id) if living.contains(&number) => {
                    programs.living.entry(id.clone()).or_default().push(number);
                }
                id => ended.entry(&process.name).or_default().push(id),
            }
        }
        for tasks in tasks.filter(|tasks| tasks.process.is_none()) {
            if let Some(ids) = ended.get(tasks.name.as_str()) {
                let told = told(&tasks.name, tasks.count, ids);
                programs.told.insert(tasks.name.clone(), told);
            }
            programs.ended.insert(tasks.name.clone());
        }
        if let Subject::Command(words) = &observation.subject {
            programs.command = command(&words_of_command(words));
        }
        programs
    }

    /// Returns the observed tasks of a program; `None` if there are none. An ended task that was
    /// not identified is known only by its name. The task counts if it belongs to the observed
    /// command, or if the record's command still starts the program `id` and this program is no
    /// interpreter.
    pub(super) fn find(
        &self,
        id: &ProgramId,
        command: &[String],
        id_now: impl Fn(&[OsString]) -> Option<ProgramId>,
    ) -> Option<Program> {
        let processes = self.living.get(id).cloned().unwrap_or_default();
        let was_seen = |name: &&String| {
            self.told
                .get(*name)
                .is_some_and(|told| told.as_ref() == Some(id))
                && self.ended.contains(*name)
        };
        let is_unseen = |name: &String| self.ended.contains(name) && !self.told.contains_key(name);
        let by_name = || {
            let name = task_name(OsStr::new(command.first()?));
            let is_told = is_unseen(&name) && !is_interpreter(OsStr::new(&name));
            (is_told && id_now(&words_of_command(command)).as_ref() == Some(id)).then_some(name)
        };
        let by_command = || match &self.command {
            Some((observed, names)) if observed == id => {
                names.iter().find(|name| is_unseen(name)).cloned()
            }
            _ => by_name(),
        };
        let name = self.told.keys().find(was_seen).cloned().or_else(by_command);
        (name.is_some() || !processes.is_empty()).then(|| Program {
            name: name.unwrap_or_default(),
            processes,
        })
    }

    /// Removes a program for which a result was found.
    pub(super) fn remove(&mut self, program: &Program) {
        self.living
            .retain(|_, processes| *processes != program.processes);
        self.ended.remove(&program.name);
    }
}

/// An observed program: the name of its ended tasks, and the PIDs of its live processes.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) name: String,
    pub(super) processes: Vec<u32>,
}

/// Returns the program that all `count` ended tasks of a name ran, as far as these tasks were seen.
/// Returns `None` if the tasks ran several programs, if no program was identified, or if some tasks
/// of an interpreter were not seen.
fn told(name: &str, count: u64, seen: &[&Option<ProgramId>]) -> Option<ProgramId> {
    let are_all = seen.len() as u64 >= count || !is_interpreter(OsStr::new(name));
    let is_one = are_all && seen.iter().all(|id| *id == seen[0]);
    seen.first().copied().cloned().flatten().filter(|_| is_one)
}

fn command(words: &[OsString]) -> Option<(ProgramId, [String; 2])> {
    let Started { id, name, file, .. } = program_id::started(words)?;
    Some((id, [task_name(&name), task_name(&file)]))
}

fn words_of_command(words: &[String]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

fn task_name(program: &OsStr) -> String {
    let name = Path::new(program)
        .file_name()
        .unwrap_or_default()
        .as_encoded_bytes();
    String::from_utf8_lossy(&name[..name.len().min(NAME)]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(build_id: &str, script: Option<&str>) -> ProgramId {
        ProgramId {
            build_id: build_id.to_owned(),
            script: script.map(str::to_owned),
        }
    }

    #[test]
    fn a_program_is_found_by_its_id_and_one_that_ended_by_its_name_too() {
        let now = |words: &[OsString]| (words[0] == "/bin/xz").then(|| id("abcd", None));
        let mut programs = Programs::default();
        let find = |programs: &Programs, build_id| {
            programs.find(
                &id(build_id, None),
                &["/bin/xz".to_owned(), "-c".to_owned()],
                now,
            )
        };
        assert!(find(&programs, "abcd").is_none(), "no process runs it");
        programs.living.insert(id("abcd", None), vec![7, 8]);
        programs
            .ended
            .extend(["xz", "a_name_of_more"].map(str::to_owned));
        assert!(
            find(&programs, "0123").is_none(),
            "it is another program now"
        );
        let found = find(&programs, "abcd").expect("it was observed");
        assert_eq!((&found.processes, found.name.as_str()), (&vec![7, 8], "xz"));
        programs.remove(&found);
        assert!(
            find(&programs, "abcd").is_none(),
            "the newest record is enough"
        );
        let name = task_name(OsStr::new("/usr/bin/a-name-that-is-long"));
        assert_eq!(name, "a-name-that-is-");
    }

    #[test]
    fn ended_processes_are_of_the_one_program_that_they_were_seen_to_run() {
        let [of, other] = ["a", "b"].map(|script| Some(id("abcd", Some(script))));
        for (name, count, seen, expected) in [
            ("python3", 1, &[&of][..], of.clone()),
            ("python3", 2, &[&of, &of], of.clone()),
            ("python3", 2, &[&of, &other], None),
            // One was not seen.
            ("python3", 2, &[&of], None),
            ("xz", 2, &[&of], of.clone()),
        ] {
            assert_eq!(told(name, count, seen), expected, "{name} {count} {seen:?}");
        }
    }

    #[test]
    fn what_was_seen_counts_and_not_who_started_it() {
        let of = id("abcd", None);
        let found = |told: Option<ProgramId>| {
            let programs = Programs {
                ended: ["cpu".to_owned(), "timeout".to_owned()].into(),
                told: [("cpu".to_owned(), told)].into(),
                command: Some((of.clone(), ["cpu".to_owned(), "cpu".to_owned()])),
                ..Programs::default()
            };
            programs.find(&of, &["./cpu".to_owned()], |_| None)
        };
        assert_eq!(found(Some(of.clone())).expect("it was seen").name, "cpu");
        assert!(found(Some(id("0123", None))).is_none());
        assert!(found(None).is_none());
    }

    #[test]
    fn the_name_of_an_interpreter_tells_no_script() {
        let find = |programs: &Programs, script| {
            let now = |_: &[OsString]| Some(id("abcd", Some("a")));
            let command = ["python3".to_owned(), "a.py".to_owned()];
            programs.find(&id("abcd", Some(script)), &command, now)
        };
        let mut programs = Programs {
            ended: ["python3".to_owned()].into(),
            ..Programs::default()
        };
        assert!(find(&programs, "a").is_none());
        let of = id("abcd", Some("b"));
        programs.living.insert(of.clone(), vec![7]);
        programs.command = Some((of, ["w.py".to_owned(), "python3".to_owned()]));
        assert!(find(&programs, "a").is_none());
        let found = find(&programs, "b").expect("the command");
        assert_eq!((found.processes, found.name.as_str()), (vec![7], "python3"));
    }
}
