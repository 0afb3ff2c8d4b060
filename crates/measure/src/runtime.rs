//! Measures tasks of a language's runtime: a program of that language hands a token round among its
//! own tasks, on request for each batch over its standard streams. This module starts the program,
//! warms it up and sends requests. The program's answers are not trusted.
//!
//! ```text
//!  we say     {"protocol":"switchcost.runtime/1","handoff":"channel","tasks":2,"cpus":1,"size_bytes":0,...}
//!  it says    {"ready":"go1.24"}   or   {"refused":"why it cannot"}
//!  we say     {"arm":"switch","walk":false,"warm_up":31,"rounds":500}
//!  it says    {"ns":160123,"walk_ns":0,"handoffs":1000,"collections":0,"kernel_switches":2}
//! ```

use std::io;
use std::process::Command;

use serde::{Deserialize, Serialize};
use switchcost_facts::limits::ending;
use switchcost_host::clock::{CpuClock, monotonic};
use switchcost_host::control::{PinGuard, pin};
use switchcost_host::conversation::{Conversation, Silence};
use switchcost_host::evidence::TaskId;
use switchcost_host::own_environment::tool;
use switchcost_record::{Arm, CountedHandoffs, KernelSwitches, RuntimeRun, WarmUp, printable};
use switchcost_units::{Bytes, Nanos, TickRate};
use switchcost_workload::WorkingSet;

use crate::experiment::{Batch, Experiment, Split, Timed};
use crate::protocol::{Launch, Order};

/// Name and version of the protocol that runtimes speak.
const PROTOCOL: &str = "switchcost.runtime/1";

/// Longest time from the start of a runtime's program until it is ready. A runtime that compiles at
/// its start takes a few seconds.
const READY_WITHIN: Nanos = if cfg!(test) {
    Nanos::seconds(2)
} else {
    Nanos::seconds(30)
};

/// Longest time until an answer. A batch takes a fraction of a millisecond, or a few walks.
const ANSWER_WITHIN: Nanos = if cfg!(test) {
    Nanos::millis(500)
} else {
    Nanos::seconds(10)
};

/// Maximum number of windows of the warm-up that are recorded.
const MOST_WARM_UP: usize = 200;

/// Number of rounds in the first window of a warm-up.
const FIRST_ROUNDS: u64 = 1;

/// Number of untimed rounds before each window except the first, because tasks that are OS threads
/// must start first.
const ROUNDS_TO_START: u64 = 8;

/// Length of a timed window of the warm-up, in batches. In a shorter window the program would
/// mostly run the code that starts and ends a window, instead of hand-offs.
const WARM_UP_BATCHES: u64 = 10;

/// Factor by which a warm-up may exceed its planned length, if the program had less CPU time than
/// planned: other tasks had the CPU, or the program waited.
const LONGEST_WARM_UP: u64 = 2;

/// Number of rounds that may fit into one step of the program's clock, which may advance by
/// microseconds.
const WITHIN_A_STEP: u64 = 256;

/// First message to a program.
#[derive(Debug, Serialize)]
struct Start<'a> {
    protocol: &'a str,
    handoff: &'a str,
    tasks: u32,
    cpus: usize,
    size_bytes: Bytes,
    stride_bytes: Bytes,
}

#[derive(Debug, Deserialize)]
struct Ready {
    ready: Option<String>,
    refused: Option<String>,
}

/// Request to a runtime's program for one timed window.
#[derive(Debug, Serialize)]
struct Question {
    arm: &'static str,
    walk: bool,
    warm_up: u64,
    rounds: u64,
}

/// Answer to a request: what a program reports about one window.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Window {
    ns: u64,
    #[serde(default)]
    walk_ns: u64,
    handoffs: u64,
    switches: Option<u64>,
    collections: Option<u64>,
    /// Number of switches of all threads of the program, by the kernel's count (getrusage); `None`
    /// if the program does not report it.
    kernel_switches: Option<u64>,
}

/// A runtime's program that runs, with its tasks.
pub(crate) struct Runtimes {
    name: String,
    talk: Conversation,
    rate: TickRate,
    tasks: u64,
    reported: RuntimeRun,
    _pin: Option<PinGuard>,
}

impl Runtimes {
    /// Starts the program, waits until it is ready, and warms it up.
    pub(crate) fn start(order: &Order) -> Result<Runtimes, String> {
        let case = &order.case;
        let of = case
            .runtime
            .as_ref()
            .ok_or("a case of a runtime has no name of it")?;
        let launch = order
            .runtime
            .as_ref()
            .ok_or_else(|| format!("there is no program for {}", of.runtime))?;
        let set = &case.working_set;
        let possible = WorkingSet {
            size_bytes: set.size_bytes,
            stride_bytes: set.stride_bytes,
            pages: set.pages,
            ..WorkingSet::NONE
        };
        if *set != possible {
            return Err("a runtime's program walks its arrays in one way only; use --pattern strided, --access rmw and \
                        --sharing private".to_owned());
        }
        let begun = monotonic();
        let (talk, pin) = begin(launch, order).map_err(|error| {
            format!(
                "{} cannot be started ({error}); check that this can be run: {}",
                of.runtime,
                shown(launch)
            )
        })?;
        let mut runtime = Runtimes {
            name: of.runtime.clone(),
            talk,
            rate: order.rate,
            tasks: u64::from(case.tasks),
            reported: RuntimeRun::default(),
            _pin: pin,
        };
        let start = Start {
            protocol: PROTOCOL,
            handoff: &of.handoff,
            tasks: case.tasks,
            cpus: case.placement.cpus.len(),
            size_bytes: case.working_set.size_bytes,
            stride_bytes: case.working_set.stride_bytes,
        };
        runtime.reported.version = runtime.greet(&start)?;
        same_version(&runtime.reported.version, launch)?;
        runtime.reported.start_ns = monotonic().saturating_sub(begun);
        runtime.warm_up(launch.warm_up_ns, order)?;
        Ok(runtime)
    }

    fn greet(&mut self, start: &Start<'_>) -> Result<String, String> {
        let answer: Ready = self.ask(start, READY_WITHIN)?;
        match (answer.ready, answer.refused) {
            (Some(version), None) => Ok(printable(&version)),
            (_, Some(why)) => Err(format!("{} refused: {}", self.name, printable(&why))),
            (None, None) => Err(self.complain("said neither ready nor refused in its first line")),
        }
    }

    /// Warms up both arms alternately, until `time` is over and the program has used `time` of CPU
    /// time, which background compilation needs. Stops after twice `time` in any case.
    fn warm_up(&mut self, time: Nanos, order: &Order) -> Result<(), String> {
        let arms = match order.case.working_set.is_empty() {
            true => vec![Arm::BaselineDirect, Arm::SwitchDirect],
            false => vec![
                Arm::BaselineDirect,
                Arm::SwitchDirect,
                Arm::BaselineTotal,
                Arm::SwitchTotal,
            ],
        };
        let mut rounds = vec![FIRST_ROUNDS; arms.len()];
        let (mut warm_up, length) = (0, Nanos(order.batch_ns.0.saturating_mul(WARM_UP_BATCHES)));
        let cpu = CpuClock::process_clock(self.talk.process());
        let used = || cpu.read().unwrap_or_default();
        let (start, before) = (monotonic(), used());
        let mut windows = Vec::new();
        loop {
            for (arm, rounds) in arms.iter().zip(&mut rounds) {
                let at_ns = monotonic().saturating_sub(start);
                let window = self.window(Batch {
                    arm: *arm,
                    rounds: *rounds,
                    warm_up,
                })?;
                if *arm == Arm::SwitchDirect {
                    windows.push(WarmUp {
                        at_ns,
                        wall_ns: Nanos(window.ns),
                        handoffs: window.handoffs,
                    });
                }
                *rounds = next_rounds(*rounds, window.ns, length);
            }
            warm_up = ROUNDS_TO_START;
            let passed = monotonic().saturating_sub(start);
            let has_used = used().saturating_sub(before) >= time;
            if passed >= time && (has_used || passed.0 >= time.0.saturating_mul(LONGEST_WARM_UP)) {
                self.reported.warm_up = thinned(windows);
                return Ok(());
            }
        }
    }

    fn window(&mut self, batch: Batch) -> Result<Window, String> {
        let question = Question {
            arm: if batch.arm.switches() {
                "switch"
            } else {
                "self"
            },
            walk: batch.arm.walks(),
            warm_up: batch.warm_up,
            rounds: batch.rounds,
        };
        let window: Window = self.ask(&question, ANSWER_WITHIN)?;
        let planned = batch.rounds.saturating_mul(self.tasks);
        // The tasks of a ring may differ by one turn at the start and at the end.
        if window.handoffs.abs_diff(planned) > self.tasks {
            return Err(self.complain(&format!(
                "said {} hand-offs instead of {planned}",
                window.handoffs
            )));
        }
        if window.walk_ns > window.ns {
            return Err(self.complain(&format!(
                "said that walks took {} ns of a window of {} ns",
                window.walk_ns, window.ns
            )));
        }
        if window.ns == 0 && batch.rounds > WITHIN_A_STEP && !batch.arm.walks() {
            return Err(self.complain("said that a window took 0 ns"));
        }
        Ok(window)
    }

    fn ask<A: for<'a> Deserialize<'a>>(
        &mut self,
        question: &impl Serialize,
        timeout: Nanos,
    ) -> Result<A, String> {
        let line = serde_json::to_vec(question).map_err(|error| error.to_string())?;
        // If the program has ended, it takes no request. The program's exit status, which is read
        // next, says more.
        let said = self.talk.say(&line);
        let answer = match (self.talk.hear(timeout), said) {
            (Ok(answer), _) => answer,
            (Err(Silence::Refused(_)), Err(error)) => {
                return Err(self.complain(&format!("does not listen ({error})")));
            }
            (Err(silence), _) => {
                let why = describe_silence(&silence);
                return Err(self.complain(&why));
            }
        };
        serde_json::from_slice(&answer).map_err(|error| {
            let text: String = printable(&String::from_utf8_lossy(&answer))
                .chars()
                .take(120)
                .collect();
            self.complain(&format!("said '{text}' in place of an answer ({error})"))
        })
    }

    /// Returns a message with the fault, the program, and the last lines that the program printed.
    fn complain(&mut self, found: &str) -> String {
        let last = last_words(&self.talk.complaints());
        let said = if last.is_empty() {
            String::new()
        } else {
            format!("; it printed: {last}")
        };
        format!("{} {found}{said}; see {PROTOCOL}", self.name)
    }
}

/// Checks that the program reports the version that was found before: it may be compiled by one
/// version and run by another.
fn same_version(reported: &str, launch: &Launch) -> Result<(), String> {
    let has_number = reported.contains(|letter: char| letter.is_ascii_digit());
    if !has_number || launch.version.is_empty() || reported.contains(&launch.version) {
        return Ok(());
    }
    let (found, program) = (&launch.version, shown(launch));
    Err(format!(
        "{reported} is reported by a program of version {found}; mend its installation, or remove {program}"
    ))
}

/// Maximum number of lines of a program's output in a message.
const LAST_LINES: usize = 4;

/// Words that a line with an error contains. Stack traces may follow the line.
const TELLING: [&str; 4] = ["error", "fatal", "exception", "panic"];

/// Returns the last lines of a program's output, and before them the last line with an error.
fn last_words(complaints: &str) -> String {
    let lines: Vec<&str> = complaints
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let (before, last) = lines.split_at(lines.len().saturating_sub(LAST_LINES));
    let is_telling = |line: &&&str| {
        TELLING
            .iter()
            .any(|word| line.to_lowercase().contains(word))
    };
    let telling = before
        .iter()
        .rev()
        .find(is_telling)
        .filter(|_| !last.iter().any(|line| is_telling(&line)));
    telling
        .into_iter()
        .chain(last)
        .map(|line| printable(line.trim()))
        .collect::<Vec<_>>()
        .join(" | ")
}

fn describe_silence(silence: &Silence) -> String {
    match silence {
        Silence::Ended(status) => format!("ended early ({})", ending(*status)),
        Silence::Closed => "closed its output".to_owned(),
        Silence::Late(timeout) => format!("did not answer within {timeout}"),
        Silence::Endless => "wrote a line of more than 64 KiB".to_owned(),
        Silence::TooLarge(size) => format!("took {size} of memory, more than it may"),
        Silence::Refused(error) => format!("cannot be talked to ({error})"),
    }
}

fn shown(launch: &Launch) -> String {
    printable(&launch.command.join(" "))
}

/// Starts the program, which may use all CPUs of the case. This process stays on the first CPU,
/// because it reads that core's clock around the program's windows.
fn begin(launch: &Launch, order: &Order) -> io::Result<(Conversation, Option<PinGuard>)> {
    let cpus = &order.case.placement.cpus;
    let count = cpus.len().max(1).to_string();
    let (program, arguments) = launch
        .command
        .split_first()
        .ok_or(io::ErrorKind::NotFound)?;
    let mut command = match launch.is_in_own_environment {
        true => tool(program),
        false => Command::new(program),
    };
    command.args(
        arguments
            .iter()
            .map(|argument| argument.replace("{cpus}", &count)),
    );
    command.envs(
        launch
            .environment
            .iter()
            .map(|(name, value)| (name, value.replace("{cpus}", &count))),
    );
    let all = if cpus.is_empty() {
        None
    } else {
        Some(pin(cpus)?)
    };
    let talk = Conversation::start(command, launch.most_memory)?;
    drop(all);
    let first = cpus.first().map(|first| pin(&[*first])).transpose()?;
    Ok((talk, first))
}

/// Returns the number of rounds that would take as long as a batch, at most four times as many as
/// before.
fn next_rounds(rounds: u64, took_ns: u64, batch: Nanos) -> u64 {
    let fitting = u128::from(rounds) * u128::from(batch.0) / u128::from(took_ns.max(1));
    let fitting = u64::try_from(fitting).unwrap_or(u64::MAX);
    fitting.clamp(1, rounds.saturating_mul(4))
}

/// Returns the windows to be recorded: the first [`MOST_WARM_UP`] / 2 windows, because most changes
/// happen there, and some of the later windows at equal distances.
fn thinned(windows: Vec<WarmUp>) -> Vec<WarmUp> {
    let (begin, rest) = windows.split_at(windows.len().min(MOST_WARM_UP / 2));
    let step = rest.len().div_ceil(MOST_WARM_UP / 2).max(1);
    begin
        .iter()
        .chain(rest.iter().step_by(step))
        .copied()
        .collect()
}

impl Experiment for Runtimes {
    fn tasks(&self) -> Vec<TaskId> {
        let process = self.talk.process();
        let threads = self
            .talk
            .threads()
            .into_iter()
            .map(|thread| TaskId::thread_of(process, thread));
        std::iter::once(TaskId::own_thread())
            .chain(threads)
            .collect()
    }

    fn run(&mut self, batch: Batch) -> io::Result<Timed> {
        let window = self.window(batch).map_err(io::Error::other)?;
        let count = &mut self.reported.collections;
        *count = window
            .collections
            .map(|more| count.unwrap_or(0).saturating_add(more));
        let ticks = |ns: u64| self.rate.ticks(Nanos(ns));
        let handoffs = ticks(window.ns.saturating_sub(window.walk_ns));
        let all = batch.total_rounds().saturating_mul(self.tasks);
        let switching = batch.arm.switches();
        Ok(Timed {
            handoffs: window.handoffs,
            time: Split {
                handoffs,
                walks: ticks(window.walk_ns),
            },
            switching_handoffs: if switching { all } else { 0 },
            // This process waits for the program once, and the program for this process.
            control_switches: 2,
            counted: window.kernel_switches.filter(|_| switching).map_or_else(
                CountedHandoffs::default,
                |voluntary| CountedHandoffs {
                    handoffs: all,
                    switches: KernelSwitches {
                        voluntary,
                        involuntary: 0,
                    },
                },
            ),
            user_switches: if switching {
                window.switches.unwrap_or(all)
            } else {
                0
            },
        })
    }

    fn runtime_run(&mut self) -> Option<RuntimeRun> {
        Some(self.reported.clone())
    }
}

#[cfg(test)]
mod tests;
