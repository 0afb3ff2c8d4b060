//! Checks of `ab`: known effects must agree with an independent ping-pong under the same set-ups,
//! equal sides must show no effect, and a small change must be found within a minute.

use std::os::unix::process::CommandExt;

use crate::figure::{Bound, count_trials};
use crate::row::Row;
use crate::shell::{Shell, need};
use crate::spread::Spread;
use crate::tables::PING_PONG;

/// Number of runs of the ping-pong under each set-up.
const PING_PONGS: usize = 5;

/// Largest relative difference between the ratio that `ab` reports and the ratio of the independent
/// ping-pong that counts as near.
const WITHIN: f64 = 0.03;
const OF_TEN: usize = 9;

const NULLS: usize = 20;

/// Number of trials that search for a change of [`CHANGE`] within a minute.
const MINUTES: usize = 5;
const CHANGE: f64 = 0.02;

/// Scheduling policies: the name in `ab`, and the kernel's number.
const POLICIES: [(&str, &str); 2] = [("fifo", "1"), ("other", "0")];

/// Command prefix that installs twenty seccomp filters, which allow all system calls, and executes
/// the rest of the command. The filters examine an argument, because the kernel skips filters that
/// always allow.
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

/// A set-up with a known effect, which makes hand-offs longer.
struct Effect {
    name: &'static str,
    /// Quantity by which the effect is judged: its path in the JSON of `ab`, and its name in the
    /// ping-pong's. Work added to a switch is judged by a hand-off without its system calls. Work
    /// added to each system call is judged by a hand-off with its calls, because both arms make
    /// these calls.
    quantity: [&'static str; 2],
    setup: &'static str,
    wrapper: &'static str,
    undo: &'static str,
    /// Whether the effect also occurs with a real-time policy.
    is_for_all: bool,
}

const NO_EFFECT: Effect = Effect {
    name: "",
    quantity: ["/comparison/pairs/0", "direct_ns"],
    setup: "",
    wrapper: "",
    undo: "",
    is_for_all: true,
};

/// Set-ups that add work to each switch, or to each system call of a hand-off.
const EFFECTS: [Effect; 5] = [
    Effect {
        name: "perf stat",
        wrapper: "perf stat -o /dev/null -e context-switches,cpu-migrations,page-faults --",
        ..NO_EFFECT
    },
    Effect {
        name: "ftrace on sched_switch",
        setup: "echo 1 > /sys/kernel/tracing/events/sched/sched_switch/enable",
        undo: "echo 0 > /sys/kernel/tracing/events/sched/sched_switch/enable",
        ..NO_EFFECT
    },
    Effect {
        name: "BPF on sched_switch",
        // The observation makes no calibration, which would use the CPU first. The observation has
        // begun when its process holds attached programs.
        setup: "switchcost observe --all --no-calibration --duration 60s --output /dev/null --record $(mktemp -u) &\n\
                for look in $(seq 100); do grep -qs link_type /proc/$!/fdinfo/* && break; sleep 0.1; done; sleep 1",
        ..NO_EFFECT
    },
    Effect {
        name: "20 seccomp filters, with its calls",
        quantity: ["/comparison/calls/1", "handoff_ns"],
        wrapper: SECCOMP,
        ..NO_EFFECT
    },
    Effect {
        name: "control groups of 8 levels",
        setup: "root=/sys/fs/cgroup/cpu; [ -d $root ] || root=/sys/fs/cgroup; root=$root/switchcost-bench; \
                for level in 1 2 3 4 5 6 7 8; do root=$root/$level; mkdir -p $root; done; echo $$ > $root/cgroup.procs",
        // The tasks leave the groups first, because a group with a task cannot be removed.
        undo: "top=/sys/fs/cgroup/cpu; [ -d $top ] || top=/sys/fs/cgroup; echo $$ > $top/cgroup.procs; \
               find $top/switchcost-bench -depth -type d -exec rmdir {} +",
        is_for_all: false,
        ..NO_EFFECT
    },
];

/// Result of checking one effect with one scheduling policy.
struct Found {
    is_slower: bool,
    ours: f64,
    theirs: f64,
}

pub(crate) fn measure_effects(shell: &Shell) -> Vec<Row> {
    let mut texts = Vec::new();
    let mut known = Vec::new();
    let ready = shell.run(PING_PONG);
    for effect in &EFFECTS {
        let policies = POLICIES
            .into_iter()
            .filter(|(policy, _)| effect.is_for_all || *policy == "other");
        for policy in policies {
            let name = format!("{} ({})", effect.name, policy.0);
            match find(shell, effect, policy) {
                Ok(found) => {
                    texts.push(format!("{name} {:.3} ({:.3})", found.ours, found.theirs));
                    known.push(found);
                }
                Err(why) => texts.push(format!("{name} not measured: {}", why.trim())),
            }
        }
    }
    let count = |holds: fn(&Found) -> bool| known.iter().filter(|found| holds(found)).count();
    let slower = count(|found| found.is_slower);
    let near = count(|found| (found.ours / found.theirs - 1.0).abs() <= WITHIN);
    let measured = format!(
        "{slower} slower, {near} near, of {}: {}",
        known.len(),
        texts.join("; ")
    );
    let is_met = slower == known.len() && near * 10 >= known.len() * OF_TEN;
    vec![Row::new(
        "ab: known effects, both policies",
        format!(
            "slower in all; within {:.0} % of the ping-pong's ratio in {OF_TEN} of 10",
            WITHIN * 100.0
        ),
        "ab -n 3 --budget 1s --new SETUP -- --budget 2s --policy P; ping_pong under the same",
        ready.map(|_| (measured, (!known.is_empty()).then_some(is_met))),
    )]
}

fn find(shell: &Shell, effect: &Effect, (policy, number): (&str, &str)) -> Result<Found, String> {
    let quote = |script: &str| format!("'{}'", script.replace('\'', r"'\''"));
    let json = shell.json(&format!(
        "switchcost ab -n 3 --budget 1s --new {} --new-with {} --new-undo {} --format json -- --mechanism pipe --budget 2s \
         --no-counters --cpu 1 --policy {policy}",
        quote(effect.setup),
        quote(effect.wrapper),
        quote(effect.undo)
    ))?;
    let [ours, theirs] = effect.quantity;
    let pair = json.pointer(ours).ok_or("nothing was compared")?;
    let ratio = pair["ratio"]
        .as_f64()
        .ok_or_else(|| pair["why"].to_string())?;
    let (mut base, mut new) = (Vec::new(), Vec::new());
    for _ in 0..PING_PONGS {
        base.push(play_ping_pong(shell, &NO_EFFECT, number, theirs)?);
        new.push(play_ping_pong(shell, effect, number, theirs)?);
    }
    let medians = Spread::new(&new).zip(Spread::new(&base)).ok_or("no run")?;
    Ok(Found {
        is_slower: pair["verdict"] == "slower",
        ours: ratio,
        theirs: medians.0.median / medians.1.median,
    })
}

/// Runs the ping-pong under a set-up, and returns the time of a switch or a hand-off in ns.
/// Processes started by the set-up are ended.
fn play_ping_pong(
    shell: &Shell,
    effect: &Effect,
    policy: &str,
    quantity: &str,
) -> Result<f64, String> {
    let Effect {
        setup,
        wrapper,
        undo,
        ..
    } = effect;
    let script = format!(
        "{setup}\n{wrapper} ./ping_pong 1 {policy} 150000\n{undo}\ntrap '' TERM; kill 0; wait; exit 0"
    );
    // Processes started by the set-up are in its process group.
    let output = shell
        .command(&script)
        .process_group(0)
        .output()
        .map_err(|error| error.to_string())?;
    let json = serde_json::from_slice(&output.stdout)
        .map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned())?;
    need(&json, quantity)
}

pub(crate) fn measure_nulls(shell: &Shell) -> Vec<Row> {
    vec![count_trials(
        format!("ab of the same on both sides, {NULLS} times: differences called"),
        NULLS,
        Bound::AtMost(0.0),
        "ab --budget 20s -- --policy P",
        |trial| {
            let policy = POLICIES[trial % POLICIES.len()].0;
            let json = shell.json(&format!(
                "switchcost ab --budget 20s --format json -- --policy {policy}"
            ))?;
            Ok(json["comparison"]["pairs"][0]["verdict"] != "no-difference-shown")
        },
    )]
}

pub(crate) fn measure_minute(shell: &Shell) -> Vec<Row> {
    let mut rows: Vec<Row> = POLICIES
        .iter()
        .map(|(policy, _)| power(shell, policy))
        .collect();
    rows.push(small_change(shell));
    rows
}

/// Measures the smallest change of a real switch that `ab` would detect with 80 % power within a
/// minute.
fn power(shell: &Shell, policy: &str) -> Row {
    let command = format!("switchcost ab --format json -- --policy {policy}");
    let run = |_| {
        let json = shell.json(&command)?;
        Ok((need(&json, "detectable")?, need(&json, "elapsed_ns")? / 1e9))
    };
    let found = (0..MINUTES).map(run).collect::<Result<Vec<_>, String>>();
    let found = found.map(|found| {
        let text =
            |(change, seconds): &(f64, f64)| format!("{:.2} % in {seconds:.0} s", change * 100.0);
        let texts: Vec<String> = found.iter().map(text).collect();
        let is_met = found
            .iter()
            .all(|(change, seconds)| *change <= CHANGE && *seconds <= 62.0);
        (texts.join(", "), Some(is_met))
    });
    Row::new(
        format!(
            "ab of a pipe's switch under {policy}, {MINUTES} times: the change that a minute would show"
        ),
        format!("<= {:.0} % each time, within 62 s", CHANGE * 100.0),
        &command,
        found,
    )
}

/// Tests whether `ab` distinguishes a synthetic switch from one that is longer by [`CHANGE`].
fn small_change(shell: &Shell) -> Row {
    let made_up = |ns: f64| {
        format!(r#""sh -c 'exec \"\$@\" --mechanism synthetic --synthetic-switch {ns:.0}ns' sh""#)
    };
    let command = format!(
        "switchcost ab --budget 60s --base-with {} --new-with {} --format json -- --budget 1s --tasks 2",
        made_up(2_000.0),
        made_up(2_000.0 * (1.0 + CHANGE))
    );
    count_trials(
        format!(
            "ab of made-up switches of 2 us and 2.04 us, {MINUTES} times: slower, and within 1 % of it"
        ),
        MINUTES,
        Bound::AtLeast(MINUTES as f64 - 1.0),
        &command,
        |_| {
            let pair = &shell.json(&command)?["comparison"]["pairs"][0];
            let ratio = pair["ratio"].as_f64().unwrap_or(f64::NAN);
            Ok(pair["verdict"] == "slower" && (ratio / (1.0 + CHANGE) - 1.0).abs() <= 0.01)
        },
    )
}
