//! Programs that were observed, by their build IDs.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;

use switchcost_observation::Observation;

use crate::build_ids;

/// Processes whose programs are looked at.
const PROCESSES: usize = 64;

/// The kernel keeps so much of a task's name.
const NAME: usize = 15;

/// Programs that were observed, and of which nothing was found yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Programs {
    /// Processes that live, by the build IDs of their programs.
    living: BTreeMap<String, Vec<u32>>,
    /// Names of tasks that have ended.
    ended: BTreeSet<String>,
}

impl Programs {
    pub(super) fn of(observation: &Observation) -> Programs {
        let mut programs = Programs::default();
        let tasks = observation.tasks.iter().filter(|tasks| !tasks.is_kernel);
        let processes: BTreeSet<u32> = tasks.clone().filter_map(|tasks| tasks.process).collect();
        for process in processes.into_iter().take(PROCESSES) {
            if let Some(id) = build_ids::of_process(process) {
                programs.living.entry(id).or_default().push(process);
            }
        }
        programs.ended = tasks
            .filter(|tasks| tasks.process.is_none())
            .map(|tasks| tasks.name.clone())
            .collect();
        programs
    }

    /// The build IDs of those that live.
    pub(super) fn living(&self) -> Vec<String> {
        self.living.keys().cloned().collect()
    }

    /// Whose program has this build ID. Of one that has ended only its name is left: it is that of the command, if that is still the same
    /// program by now.
    pub(super) fn take(
        &mut self,
        build_id: &str,
        command: &[String],
        id_now: impl Fn(&[OsString]) -> Option<String>,
    ) -> Option<Program> {
        let processes = self.living.remove(build_id).unwrap_or_default();
        let words: Vec<OsString> = command.iter().map(OsString::from).collect();
        let name = command
            .first()
            .map(|program| task_name(Path::new(program)))
            .unwrap_or_default();
        let has_ended = self.ended.contains(&name) && id_now(&words).as_deref() == Some(build_id);
        let name = if has_ended {
            self.ended.take(&name)
        } else {
            None
        };
        (name.is_some() || !processes.is_empty()).then(|| Program {
            name: name.unwrap_or_default(),
            processes,
        })
    }
}

/// A program that was observed: the name of tasks that have ended, and processes that live.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) name: String,
    pub(super) processes: Vec<u32>,
}

fn task_name(program: &Path) -> String {
    let name = program.file_name().unwrap_or_default().as_encoded_bytes();
    String::from_utf8_lossy(&name[..name.len().min(NAME)]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_by_its_build_id_and_one_that_ended_by_its_name_too() {
        let command = ["/bin/sh".to_owned(), "-c".to_owned()];
        let now = |words: &[OsString]| (words[0] == "/bin/sh").then(|| "abcd".to_owned());
        let mut programs = Programs::default();
        assert!(
            programs.take("abcd", &command, now).is_none(),
            "no process runs it"
        );
        programs.living.insert("abcd".to_owned(), vec![7, 8]);
        programs
            .ended
            .extend(["sh".to_owned(), "a_name_of_more".to_owned()]);
        assert!(
            programs.take("0123", &command, now).is_none(),
            "it is another program now"
        );
        let found = programs
            .take("abcd", &command, now)
            .expect("it was observed");
        assert_eq!((found.processes, found.name.as_str()), (vec![7, 8], "sh"));
        assert!(
            programs.take("abcd", &command, now).is_none(),
            "the newest record is enough"
        );
        assert_eq!(
            task_name(Path::new("/usr/bin/a-name-that-is-long")),
            "a-name-that-is-"
        );
    }
}
