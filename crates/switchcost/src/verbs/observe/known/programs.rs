//! Programs that were observed.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::Path;

use switchcost_record::observation::{Observation, Subject};

use crate::program_id::{self, ProgramId, Started, is_interpreter};

/// Maximum number of processes whose programs are identified.
const PROCESSES: usize = 64;

/// Bytes of a task's name that the kernel stores.
const NAME: usize = 15;

/// Observed programs without a result so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Programs {
    /// Live processes, by program.
    living: BTreeMap<ProgramId, Vec<u32>>,
    /// Names of ended tasks.
    ended: BTreeSet<String>,
    /// Program that the observed command started, and possible names of its task.
    command: Option<(ProgramId, [String; 2])>,
}

impl Programs {
    pub(super) fn new(observation: &Observation) -> Programs {
        let mut programs = Programs::default();
        let tasks = observation.tasks.iter().filter(|tasks| !tasks.is_kernel);
        let processes: BTreeSet<u32> = tasks.clone().filter_map(|tasks| tasks.process).collect();
        for process in processes.into_iter().take(PROCESSES) {
            if let Some(id) = ProgramId::identify_process(process) {
                programs.living.entry(id).or_default().push(process);
            }
        }
        programs.ended = tasks
            .filter(|tasks| tasks.process.is_none())
            .map(|tasks| tasks.name.clone())
            .collect();
        if let Subject::Command(words) = &observation.subject {
            programs.command = command(&words_of_command(words));
        }
        programs
    }

    /// Returns the observed tasks of this program. An ended task has only its name: it must be the task of the observed command; or of this
    /// command, if the command still starts the same program and that is no interpreter, whose name means nothing.
    pub(super) fn find(
        &self,
        id: &ProgramId,
        command: &[String],
        id_now: impl Fn(&[OsString]) -> Option<ProgramId>,
    ) -> Option<Program> {
        let processes = self.living.get(id).cloned().unwrap_or_default();
        let by_name = || {
            let name = task_name(OsStr::new(command.first()?));
            let is_told = self.ended.contains(&name) && !is_interpreter(OsStr::new(&name));
            (is_told && id_now(&words_of_command(command)).as_ref() == Some(id)).then_some(name)
        };
        let name = match &self.command {
            Some((observed, names)) if observed == id => names
                .iter()
                .find(|name| self.ended.contains(*name))
                .cloned(),
            _ => by_name(),
        };
        (name.is_some() || !processes.is_empty()).then(|| Program {
            name: name.unwrap_or_default(),
            processes,
        })
    }

    /// Removes the programs for which a result was found.
    pub(super) fn remove(&mut self, program: &Program) {
        self.living
            .retain(|_, processes| *processes != program.processes);
        self.ended.remove(&program.name);
    }
}

/// An observed program: names of ended tasks, and live processes.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) name: String,
    pub(super) processes: Vec<u32>,
}

fn command(words: &[OsString]) -> Option<(ProgramId, [String; 2])> {
    let Started { id, file, .. } = program_id::started(words)?;
    Some((id, [task_name(words.first()?), task_name(&file)]))
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
        let command = ["/bin/xz".to_owned(), "-c".to_owned()];
        let now = |words: &[OsString]| (words[0] == "/bin/xz").then(|| id("abcd", None));
        let mut programs = Programs::default();
        assert!(
            programs.find(&id("abcd", None), &command, now).is_none(),
            "no process runs it"
        );
        programs.living.insert(id("abcd", None), vec![7, 8]);
        programs
            .ended
            .extend(["xz".to_owned(), "a_name_of_more".to_owned()]);
        assert!(
            programs.find(&id("0123", None), &command, now).is_none(),
            "it is another program now"
        );
        let found = programs
            .find(&id("abcd", None), &command, now)
            .expect("it was observed");
        assert_eq!((&found.processes, found.name.as_str()), (&vec![7, 8], "xz"));
        programs.remove(&found);
        assert!(
            programs.find(&id("abcd", None), &command, now).is_none(),
            "the newest record is enough"
        );
        assert_eq!(
            task_name(OsStr::new("/usr/bin/a-name-that-is-long")),
            "a-name-that-is-"
        );
    }

    #[test]
    fn the_name_of_an_interpreter_tells_no_script() {
        let of = |script| id("abcd", Some(script));
        let command = ["python3".to_owned(), "a.py".to_owned()];
        let now = |_: &[OsString]| Some(id("abcd", Some("a")));
        let mut programs = Programs {
            ended: ["python3".to_owned()].into(),
            ..Programs::default()
        };
        assert!(programs.find(&of("a"), &command, now).is_none());
        programs.living.insert(of("b"), vec![7]);
        programs.command = Some((of("b"), ["w.py".to_owned(), "python3".to_owned()]));
        assert!(programs.find(&of("a"), &command, now).is_none());
        let found = programs.find(&of("b"), &command, now).expect("the command");
        assert_eq!((found.processes, found.name.as_str()), (vec![7], "python3"));
    }
}
