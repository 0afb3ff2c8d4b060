//! Makes system calls fail by strace: a single call of a task, or all calls from one on.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use rand::seq::IteratorRandom;
use rand_chacha::ChaCha8Rng;

use crate::campaign::{Kind, Sample};
use crate::judge;
use crate::outcome::Outcome;
use crate::place::Place;
use crate::run::{Ran, Run};
use crate::table::{self, Injection};
use crate::verb::{self, Verb};

/// Largest call number that strace can count.
const MOST: usize = 65_535;

pub(crate) struct Injections {
    verbs: Vec<Verb>,
    injections: Vec<Injection>,
}

/// For each system call, two positions in the sequence of a task's calls: the first call by the
/// program's own code, and the last call in the task with the most calls.
type Calls = BTreeMap<String, (usize, usize)>;

impl Injections {
    pub(crate) fn new() -> Injections {
        let table: table::Injections = table::read(include_str!("../tables/injections.toml"));
        Injections {
            verbs: table::verbs(),
            injections: table.injection,
        }
    }

    /// Counts the system calls in an undisturbed run of a subcommand; empty if strace is not
    /// permitted.
    fn calls(&self, place: &Place, verb: &Verb) -> Calls {
        place.clear();
        let names: Vec<&str> = self
            .injections
            .iter()
            .map(|injection| injection.call.as_str())
            .collect();
        traced(
            place,
            verb,
            &["-e", &format!("trace={},sigaltstack", names.join(","))],
        )
        .whole();
        let log = fs::read_to_string(log(place)).unwrap_or_default();
        names
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), counted(&log, name)?)))
            .collect()
    }
}

/// Returns true if a trial of this subcommand can have a name that contains `matching`. Calls are
/// not counted for other subcommands, because counting takes a whole run.
fn may_match(verb: &str, matching: &str) -> bool {
    matching.strip_prefix("injections/").is_none_or(|rest| {
        format!("{verb}/").starts_with(rest) || rest.starts_with(&format!("{verb}/"))
    })
}

fn log(place: &Place) -> PathBuf {
    place.path("calls")
}

fn traced<'a>(place: &'a Place, verb: &'a Verb, expression: &[&str]) -> Run<'a> {
    let mut run = verb.run(place);
    run.wrap = [
        "strace",
        "-f",
        "-qq",
        "--seccomp-bpf",
        "-o",
        "{folder}/calls",
    ]
    .map(str::to_owned)
    .to_vec();
    run.wrap
        .extend(expression.iter().map(|&word| word.to_owned()));
    run
}

/// Returns the numbers of the first call that neither the loader nor the runtime makes, and of the
/// last call in the task with the most calls; `None` if only the loader and the runtime make this
/// system call.
fn counted(log: &str, name: &str) -> Option<(usize, usize)> {
    let first = log.split_whitespace().next()?;
    let mut of_task: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut before, mut has_begun) = (0, false);
    for line in log.lines() {
        let (task, call) = line.split_once(' ')?;
        let call = call.trim_start();
        has_begun |= task == first && call.starts_with("sigaltstack({");
        if call.split('(').next() == Some(name) {
            *of_task.entry(task).or_default() += 1;
            before += usize::from(task == first && !has_begun);
        }
    }
    let most = of_task.values().copied().max()?;
    (most > before).then_some((before + 1, most.min(MOST)))
}

impl Kind for Injections {
    fn name(&self) -> &'static str {
        "injections"
    }

    fn sample(&self) -> Sample {
        Sample::OfEachPair(1)
    }

    fn draw(&self, place: &Place, matching: &str, random: &mut ChaCha8Rng) -> Vec<String> {
        let mut names = Vec::new();
        for verb in self
            .verbs
            .iter()
            .filter(|verb| may_match(&verb.name, matching))
        {
            let calls = self.calls(place, verb);
            for injection in self
                .injections
                .iter()
                .filter(|injection| !(verb.captures && injection.not_in_captures))
            {
                let Some((first, last)) = calls.get(&injection.call) else {
                    continue;
                };
                let numbers = (*first..=*last).choose_multiple(random, injection.runs);
                for (number, error) in numbers.into_iter().zip(injection.errors.iter().cycle()) {
                    names.push(format!(
                        "injections/{}/{}/{error}/{number}",
                        verb.name, injection.call
                    ));
                }
            }
        }
        names
    }

    fn attempt(&self, place: &Place, parts: &[&str]) -> Result<Outcome, String> {
        let [verb, call, error, number] = parts else {
            return Err("need injections/VERB/CALL/ERROR/NUMBER".to_owned());
        };
        let verb = verb::named(&self.verbs, verb)?;
        let whole = match verb.whole(place) {
            Ok(whole) => whole,
            Err(why) => return Ok(Outcome::Untried(why)),
        };
        let bystander = place.bystander()?;
        let (error, on) = error
            .strip_suffix('+')
            .map_or((*error, ""), |error| (error, "+"));
        let refusal = format!("inject={call}:error={error}:when={number}{on}");
        let ran = traced(
            place,
            verb,
            &["-e", &format!("trace={call}"), "-e", &refusal],
        )
        .whole();
        if !fs::read_to_string(log(place))
            .unwrap_or_default()
            .contains("(INJECTED)")
        {
            return Ok(judge::is_orderly(&ran).map_or_else(Outcome::Failed, |()| {
                Outcome::Untried("the call was not made as often".to_owned())
            }));
        }
        let judged = judge::judge_run(verb, place, &whole, &ran, &bystander)
            .and_then(|()| is_explained(call, on, &ran));
        Ok(judged.into())
    }
}

/// Checks that the program reports the failure. A report is not expected if the failing system call
/// is the one that prints messages.
fn is_explained(call: &str, on: &str, ran: &Ran) -> Result<(), String> {
    let is_refused = call == "write" && (on == "+" || ran.stderr.is_empty());
    if is_refused {
        Ok(())
    } else {
        judge::is_explained(ran)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_the_loader_are_not_counted_among_those_that_may_fail() {
        let log = "7  openat(AT_FDCWD, \"libc\") = 3\n7  sigaltstack({ss_sp=0x1}) = 0\n7  openat(AT_FDCWD, \"a\") = 3\n\
                   7  read(3) = 0\n8  openat(AT_FDCWD, \"b\") = 3\n8  openat(AT_FDCWD, \"c\") = 3\n8  openat(AT_FDCWD, \"d\") = 3\n";
        assert_eq!(counted(log, "openat"), Some((2, 3)));
        assert_eq!(counted(log, "read"), Some((1, 1)));
        assert_eq!(counted(log, "write"), None);
    }
}
