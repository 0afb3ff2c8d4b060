//! What `ab` finds: known effects beside an independent ping-pong under the same set-ups, nothing where there is nothing, and a small change
//! within its minute.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use crate::ordinary::{HANDOFFS, median, ping_pong};
use crate::program::{Program, number};
use crate::row::Row;

/// Runs of each side, and of the ping-pong under each set-up.
const RUNS: &str = "3";
const PING_PONGS: usize = 5;

/// How far the ratio may be from the ping-pong's, and for how many of ten it may be further.
const WITHIN: f64 = 0.03;
const OF_TEN: usize = 9;

const NULLS: usize = 20;

/// Trials of what is found in a minute, and the change that is to be found.
const MINUTES: usize = 5;
const CHANGE: f64 = 0.02;

/// The policies by their names, and by the kernel's numbers.
const POLICIES: [(&str, &str); 2] = [("fifo", "1"), ("other", "0")];

/// Installs so many filters of system calls that allow everything, and becomes the command. They look at an argument: the kernel remembers
/// what a filter always allows, and does not run it.
const SECCOMP: &str = r#"python3 -c '
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
class Step(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint16), ("jt", ctypes.c_uint8), ("jf", ctypes.c_uint8), ("k", ctypes.c_uint32)]
class Program(ctypes.Structure):
    _fields_ = [("len", ctypes.c_uint16), ("steps", ctypes.POINTER(Step))]
steps = (Step * 65)(*([Step(0x20, 0, 0, 16)] * 64 + [Step(6, 0, 0, 0x7fff0000)]))
program = Program(65, steps)
assert libc.prctl(38, 1, 0, 0, 0) == 0
for _ in range(20):
    assert libc.prctl(22, 2, ctypes.byref(program)) == 0
os.execvp(sys.argv[1], sys.argv[1:])'"#;

/// A set-up with a known effect: what a hand-off takes grows.
struct Effect {
    name: &'static str,
    /// Of which number.
    of: Of,
    setup: String,
    wrapper: &'static str,
    undo: &'static str,
    /// Whether it counts under a real-time policy, too.
    is_for_all: bool,
}

/// What an effect is judged by, on both sides alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    /// A hand-off beyond its system calls, for what adds work to a switch.
    Switch,
    /// A hand-off with them, for what adds work to each call: both arms make those, and what is left without them has none of it.
    HandOff,
}

fn effect(name: &'static str) -> Effect {
    Effect {
        name,
        of: Of::Switch,
        setup: String::new(),
        wrapper: "",
        undo: "",
        is_for_all: true,
    }
}

/// Each adds work to each switch, or to each of its system calls.
fn all(program: &Program) -> Vec<Effect> {
    let observe = program
        .command(&[])
        .get_program()
        .to_string_lossy()
        .into_owned();
    let group = "for level in 1 2 3 4 5 6 7 8; do root=$root/$level; mkdir -p $root; done; echo $$ > $root/cgroup.procs";
    vec![
        Effect {
            wrapper: "perf stat -o /dev/null -e context-switches,cpu-migrations,page-faults --",
            ..effect("perf stat")
        },
        Effect {
            setup: "echo 1 > /sys/kernel/tracing/events/sched/sched_switch/enable".to_owned(),
            undo: "echo 0 > /sys/kernel/tracing/events/sched/sched_switch/enable",
            ..effect("ftrace on sched_switch")
        },
        Effect {
            // Without a calibration, which would come first and take the CPU; it is there once it holds attached programs.
            setup: format!(
                "{observe} observe --all --no-calibration --duration 60s --out /dev/null --record $(mktemp -u) &\n\
                 for look in $(seq 100); do grep -qs link_type /proc/$!/fdinfo/* && break; sleep 0.1; done; sleep 1"
            ),
            ..effect("BPF on sched_switch")
        },
        Effect {
            wrapper: SECCOMP,
            of: Of::HandOff,
            ..effect("20 seccomp filters, with its calls")
        },
        Effect {
            setup: format!(
                "root=/sys/fs/cgroup/cpu; [ -d $root ] || root=/sys/fs/cgroup; root=$root/switchcost-bench; {group}"
            ),
            // Out of the groups first: none with a task in it can be removed.
            undo: "top=/sys/fs/cgroup/cpu; [ -d $top ] || top=/sys/fs/cgroup; echo $$ > $top/cgroup.procs; \
                   find $top/switchcost-bench -depth -type d -exec rmdir {} +",
            is_for_all: false,
            ..effect("control groups of 8 levels")
        },
    ]
}

/// One effect under one policy.
struct Found {
    is_slower: bool,
    ours: f64,
    theirs: f64,
}

pub(crate) fn effects(program: &Program) -> Vec<Row> {
    let must_reach = format!(
        "slower in all; within {:.0} % of the ping-pong's ratio in {OF_TEN} of 10",
        WITHIN * 100.0
    );
    let command = format!(
        "ab -n {RUNS} --budget 1s --new SETUP -- --budget 2s --policy P; ping_pong under the same"
    );
    let what = "ab: known effects, both policies";
    let found = match ping_pong(program) {
        Err(why) => return vec![Row::failed(what, &must_reach, why, command)],
        Ok(ping_pong) => each(program, &ping_pong),
    };
    let known: Vec<&Found> = found
        .iter()
        .filter_map(|(_, found)| found.as_ref().ok())
        .collect();
    let slower = known.iter().filter(|found| found.is_slower).count();
    let near = known
        .iter()
        .filter(|found| (found.ours / found.theirs - 1.0).abs() <= WITHIN)
        .count();
    let texts: Vec<String> = found
        .iter()
        .map(|(name, found)| text(name, found))
        .collect();
    let measured = format!(
        "{slower} slower, {near} near, of {}: {}",
        known.len(),
        texts.join("; ")
    );
    let is_met =
        (!known.is_empty()).then_some(slower == known.len() && near * 10 >= known.len() * OF_TEN);
    vec![Row {
        what: what.to_owned(),
        must_reach,
        measured,
        is_met,
        command,
    }]
}

fn text(name: &str, found: &Result<Found, String>) -> String {
    match found {
        Ok(found) => format!("{name} {:.3} ({:.3})", found.ours, found.theirs),
        Err(why) => format!("{name} not measured: {}", why.trim()),
    }
}

fn each(program: &Program, ping_pong: &PathBuf) -> Vec<(String, Result<Found, String>)> {
    let of = |effect: &Effect| -> Vec<(String, Result<Found, String>)> {
        let policies = POLICIES
            .iter()
            .filter(|(name, _)| effect.is_for_all || *name == "other");
        policies
            .map(|policy| {
                (
                    format!("{} ({})", effect.name, policy.0),
                    one(program, ping_pong, effect, *policy),
                )
            })
            .collect()
    };
    all(program).iter().flat_map(of).collect()
}

fn one(
    program: &Program,
    ping_pong: &PathBuf,
    effect: &Effect,
    policy: (&str, &str),
) -> Result<Found, String> {
    let words = [
        "ab",
        "-n",
        RUNS,
        "--budget",
        "1s",
        "--new",
        &effect.setup,
        "--new-with",
        effect.wrapper,
    ];
    let rest = ["--new-undo", effect.undo];
    let flags = [
        "--",
        "--mechanism",
        "pipe",
        "--budget",
        "2s",
        "--no-counters",
        "--cpu",
        "1",
        "--policy",
        policy.0,
    ];
    let comparison = run(program, &[&words[..], &rest].concat(), &flags)?["comparison"].take();
    let pair = match effect.of {
        Of::Switch => &comparison["pairs"][0],
        Of::HandOff => &comparison["calls"][1],
    };
    let ours = pair["ratio"]
        .as_f64()
        .ok_or_else(|| pair["why"].to_string())?;
    let theirs = theirs(ping_pong, effect, policy.1)?;
    Ok(Found {
        is_slower: pair["verdict"] == "slower",
        ours,
        theirs,
    })
}

/// `--format json` before the flags of the runs.
fn run(program: &Program, words: &[&str], flags: &[&str]) -> Result<serde_json::Value, String> {
    let output = program
        .command(&[words, &["--format", "json"], flags].concat())
        .output()
        .map_err(|error| error.to_string())?;
    serde_json::from_slice(&output.stdout).map_err(|_| {
        format!(
            "{}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        )
    })
}

/// The ratio of the medians of runs in turns.
fn theirs(ping_pong: &PathBuf, effect: &Effect, policy: &str) -> Result<f64, String> {
    let (mut base, mut new) = (Vec::new(), Vec::new());
    for _ in 0..PING_PONGS {
        base.push(takes(
            ping_pong,
            &Effect {
                of: effect.of,
                ..self::effect("")
            },
            policy,
        )?);
        new.push(takes(ping_pong, effect, policy)?);
    }
    Ok(median(new) / median(base))
}

/// What a switch or a hand-off takes, in nanoseconds; what the set-up has started is ended.
fn takes(ping_pong: &PathBuf, effect: &Effect, policy: &str) -> Result<f64, String> {
    let Effect {
        of,
        setup,
        wrapper,
        undo,
        ..
    } = effect;
    let script = format!("{setup}\n{wrapper} \"$@\"\n{undo}\ntrap '' TERM; kill 0; wait; exit 0");
    let mut command = Command::new("sh");
    // What the set-up has started is in its process group.
    command
        .process_group(0)
        .args(["-c", &script, "sh"])
        .arg(ping_pong)
        .args(["1", policy, HANDOFFS]);
    let output = command.output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let numbers: Vec<f64> = text
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    let [handoff, own, ..] = numbers[..] else {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    };
    Ok(if *of == Of::Switch {
        handoff - own
    } else {
        handoff
    })
}

pub(crate) fn nulls(program: &Program) -> Vec<Row> {
    let what = format!("ab of the same on both sides, {NULLS} times: differences called");
    let is_called = |trial: usize| -> Result<bool, String> {
        let policy = POLICIES[trial % POLICIES.len()].0;
        let json = run(
            program,
            &["ab", "--budget", "20s"],
            &["--", "--policy", policy],
        )?;
        Ok(json["comparison"]["pairs"][0]["verdict"] != "no-difference-shown")
    };
    let called: Result<usize, String> = (0..NULLS)
        .map(|trial| is_called(trial).map(usize::from))
        .sum();
    let found = called.map(|called| (called.to_string(), Some(called == 0)));
    vec![Row::of(what, "0", "ab --budget 20s -- --policy P", found)]
}

/// A wrapper that has the made-up switch last so many nanoseconds.
fn made_up(ns: f64) -> String {
    format!("sh -c 'exec \"$@\" --mechanism synthetic --synthetic-switch {ns:.0}ns' sh")
}

pub(crate) fn minute(program: &Program) -> Vec<Row> {
    let mut rows: Vec<Row> = POLICIES
        .iter()
        .map(|(policy, _)| power(program, policy))
        .collect();
    rows.push(small(program));
    rows
}

/// What would be shown with 80 % power behind at most a minute, of a real switch.
fn power(program: &Program, policy: &str) -> Row {
    let what = format!(
        "ab of a pipe's switch under {policy}, {MINUTES} times: the change that a minute would show"
    );
    let must_reach = format!("<= {:.0} % each time, within 62 s", CHANGE * 100.0);
    let command = format!("ab -- --policy {policy}");
    let one = |_| -> Result<(f64, f64), String> {
        let json = run(program, &["ab"], &["--", "--policy", policy])?;
        let of = |path| number(&json, path).ok_or_else(|| format!("no {path}"));
        Ok((of("detectable")?, of("elapsed_ns")? / 1e9))
    };
    let found = (0..MINUTES)
        .map(one)
        .collect::<Result<Vec<_>, _>>()
        .map(|found| {
            let texts: Vec<String> = found
                .iter()
                .map(|(change, seconds)| format!("{:.2} % in {seconds:.0} s", change * 100.0))
                .collect();
            (
                texts.join(", "),
                Some(
                    found
                        .iter()
                        .all(|(change, seconds)| *change <= CHANGE && *seconds <= 62.0),
                ),
            )
        });
    Row::of(what, must_reach, command, found)
}

/// A made-up switch that is longer by the change.
fn small(program: &Program) -> Row {
    let what = format!(
        "ab of made-up switches of 2 us and 2.04 us, {MINUTES} times: slower, and within 1 % of it"
    );
    let (base, new) = (made_up(2_000.0), made_up(2_000.0 * (1.0 + CHANGE)));
    let is_found = |_| -> Result<bool, String> {
        let words = [
            "ab",
            "--budget",
            "60s",
            "--base-with",
            &base,
            "--new-with",
            &new,
        ];
        let pair =
            run(program, &words, &["--", "--budget", "1s", "--tasks", "2"])?["comparison"]["pairs"]
                [0]
            .clone();
        let ratio = pair["ratio"].as_f64().unwrap_or(f64::NAN);
        Ok(pair["verdict"] == "slower" && (ratio / (1.0 + CHANGE) - 1.0).abs() <= 0.01)
    };
    let found = (0..MINUTES)
        .map(|trial| is_found(trial).map(usize::from))
        .sum::<Result<usize, String>>();
    let found = found.map(|found| (found.to_string(), Some(found + 1 >= MINUTES)));
    Row::of(
        what,
        format!(">= {}", MINUTES - 1),
        "ab --base-with SWITCH --new-with SWITCH",
        found,
    )
}
