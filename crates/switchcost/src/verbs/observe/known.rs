//! What is known from elsewhere of what cold caches cost the observed programs: from records of `inject` in the usual folder, by build ID.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;

use injection::Injection;
use observation::{Cost, KnownBy, KnownPoint, KnownReload, Observation, Source};

use super::calibrated::is_same;
use crate::build_ids;
use crate::runs;

/// Processes whose programs are looked at.
const PROCESSES: usize = 64;

/// Records looked at, the newest.
const RECORDS: usize = 32;

/// The kernel keeps so much of a task's name.
const NAME: usize = 15;

pub(super) fn find(observation: &Observation) -> Vec<KnownReload> {
    if observation.calibration.is_none() || observation.source != Source::Bpf {
        return Vec::new();
    }
    let mut programs = Programs::of(observation);
    let mut found = Vec::new();
    for path in runs::injections().iter().rev().take(RECORDS) {
        let Ok(record) = Injection::read(path) else { continue };
        let is_here = is_same(&record.header.host, &observation.host);
        let program = record.header.build_id.as_deref().filter(|_| is_here);
        found.extend(
            program.and_then(|id| {
                injected(&record, path, programs.take(id, &record.header.command, build_ids::of_command)?)
            }),
        );
    }
    found
}

/// Programs that were observed, and of which nothing was found yet.
#[derive(Debug, Default)]
struct Programs {
    /// Processes that live, by the build IDs of their programs.
    living: BTreeMap<String, Vec<u32>>,
    /// Names of tasks that have ended.
    ended: BTreeSet<String>,
}

impl Programs {
    fn of(observation: &Observation) -> Programs {
        let mut programs = Programs::default();
        let tasks = observation.tasks.iter().filter(|tasks| !tasks.is_kernel);
        let processes: BTreeSet<u32> = tasks.clone().filter_map(|tasks| tasks.process).collect();
        for process in processes.into_iter().take(PROCESSES) {
            if let Some(id) = build_ids::of_process(process) {
                programs.living.entry(id).or_default().push(process);
            }
        }
        programs.ended = tasks.filter(|tasks| tasks.process.is_none()).map(|tasks| tasks.name.clone()).collect();
        programs
    }

    /// Whose program has this build ID. Of one that has ended only its name is left: it is that of the command, if that is still the same
    /// program by now.
    fn take(
        &mut self,
        build_id: &str,
        command: &[String],
        id_now: impl Fn(&[OsString]) -> Option<String>,
    ) -> Option<Program> {
        let processes = self.living.remove(build_id).unwrap_or_default();
        let words: Vec<OsString> = command.iter().map(OsString::from).collect();
        let name = command.first().map(|program| task_name(Path::new(program))).unwrap_or_default();
        let has_ended = self.ended.contains(&name) && id_now(&words).as_deref() == Some(build_id);
        let name = if has_ended { self.ended.take(&name) } else { None };
        (name.is_some() || !processes.is_empty()).then(|| Program { name: name.unwrap_or_default(), processes })
    }
}

/// A program that was observed: the name of tasks that have ended, and processes that live.
#[derive(Debug)]
struct Program {
    name: String,
    processes: Vec<u32>,
}

fn task_name(program: &Path) -> String {
    let name = program.file_name().unwrap_or_default().as_encoded_bytes();
    String::from_utf8_lossy(&name[..name.len().min(NAME)]).into_owned()
}

/// None where it was not found what cold caches cost.
fn injected(record: &Injection, path: &Path, program: Program) -> Option<KnownReload> {
    let ran_ns = record.header.plan.period_ns;
    let point = |found: &analysis::injection::FootprintFinding| {
        let reload = found.reload_ns.as_ref()?.as_ref().ok()?;
        let cost = Cost { ns: reload.estimate.max(0.0), low_ns: reload.low, high_ns: reload.high };
        Some(KnownPoint { away_bytes: found.footprint_bytes, ran_ns, cost })
    };
    let points: Vec<KnownPoint> = analysis::injection::analyse(record).footprints.iter().filter_map(point).collect();
    let file = path.file_name()?.to_string_lossy().into_owned();
    let Program { name, processes } = program;
    (!points.is_empty()).then_some(KnownReload { by: KnownBy::Inject, file, processes, name, points })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_by_its_build_id_and_one_that_ended_by_its_name_too() {
        let command = ["/bin/sh".to_owned(), "-c".to_owned()];
        let now = |words: &[OsString]| (words[0] == "/bin/sh").then(|| "abcd".to_owned());
        let mut programs = Programs::default();
        assert!(programs.take("abcd", &command, now).is_none(), "no process runs it");
        programs.living.insert("abcd".to_owned(), vec![7, 8]);
        programs.ended.extend(["sh".to_owned(), "a_name_of_more".to_owned()]);
        assert!(programs.take("0123", &command, now).is_none(), "it is another program now");
        let found = programs.take("abcd", &command, now).expect("it was observed");
        assert_eq!((found.processes, found.name.as_str()), (vec![7, 8], "sh"));
        assert!(programs.take("abcd", &command, now).is_none(), "the newest record is enough");
        assert_eq!(task_name(Path::new("/usr/bin/a-name-that-is-long")), "a-name-that-is-");
    }
}
