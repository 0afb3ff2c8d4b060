//! Runs each repetition in a fresh process of this program.

use std::io;

use switchcost_facts::limits::{ending, may_have_ended};
use switchcost_host::clock::monotonic;
use switchcost_host::control::{PinGuard, StepsBelowTop, pin, set_policy};
use switchcost_host::pause::PauseDetector;
use switchcost_host::task::{FreshProcess, Waited};
use switchcost_record::Policy;
use switchcost_remedies::start_remedy;
use switchcost_units::Nanos;

use crate::protocol::{Message, Order};
use crate::run::{Executor, RepetitionOutcome};

/// Hidden argument with which this program serves one repetition (see [`crate::serve`]).
pub const REPETITION_ARGUMENT: &str = "serve-one-repetition";

/// Time after which a repetition counts as hung. A repetition usually takes well below a second, or
/// tens of seconds with the largest working sets.
const PATIENCE: Nanos = Nanos::seconds(180);

/// Priority during the set-up of a repetition, which is below that of all measured tasks.
const SET_UP: StepsBelowTop = StepsBelowTop(50);

/// Time between two calls of `should_stop` while a repetition runs.
const GLANCE: Nanos = Nanos::millis(100);

/// Executor that runs each repetition in a new process of this program.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessExecutor;

impl Executor for ProcessExecutor {
    fn repetition(
        &mut self,
        order: &Order,
        latest: Nanos,
        should_stop: &dyn Fn() -> bool,
        take: &mut dyn FnMut(Message),
    ) -> RepetitionOutcome {
        match converse(order, latest, should_stop, take) {
            Ok(outcome) => outcome,
            Err(error) => RepetitionOutcome::Refused(format!(
                "no process can be started for a repetition ({error}); {}",
                start_remedy(&error, "check that this program can be started anew")
            )),
        }
    }
}

fn converse(
    order: &Order,
    latest: Nanos,
    should_stop: &dyn Fn() -> bool,
    take: &mut dyn FnMut(Message),
) -> io::Result<RepetitionOutcome> {
    // Before the start of the process, because the kernel counts time on another CPU for some 300
    // ms.
    let _beside = stay_beside(order);
    // With ten other busy processes on the CPU, an ordinary process took 600 ms to start and set up
    // a repetition of 10 ms.
    let urgent = order
        .has_real_time
        .then(|| set_policy(Policy::Fifo, SET_UP).ok())
        .flatten();
    let mut process = FreshProcess::start(&[REPETITION_ARGUMENT])?;
    drop(urgent);
    process.tell(&serde_json::to_vec(order)?)?;
    let mut lines = Lines::default();
    let mut buffer = [0; 16 << 10];
    let hung_at = monotonic() + PATIENCE;
    let mut pauses = PauseDetector::start();
    let mut paused = Nanos(0);
    loop {
        if should_stop() {
            return Ok(RepetitionOutcome::Stopped);
        }
        if monotonic() >= latest + paused {
            return Ok(RepetitionOutcome::TooLate);
        }
        let (waited, pause) =
            pauses.detect(GLANCE, || process.wait_for_output(&mut buffer, GLANCE));
        if !pause.is_none() {
            paused = paused + pause.stopped;
            take(Message::Paused(pause));
        }
        match waited? {
            Waited::Bytes(count) => {
                for message in lines.add(&buffer[..count])? {
                    match message {
                        Message::Done(rounds) => return Ok(RepetitionOutcome::Done(rounds)),
                        Message::Refused(why) => return Ok(RepetitionOutcome::Refused(why)),
                        Message::Cycles(_)
                        | Message::Sample(_)
                        | Message::Runtime(_)
                        | Message::Paused(_) => take(message),
                    }
                }
            }
            Waited::TimedOut if monotonic() < hung_at + paused => {}
            Waited::TimedOut => return Ok(RepetitionOutcome::Refused(hung())),
            Waited::Ended => return Ok(RepetitionOutcome::Refused(ended(&process.exit_status()?))),
        }
    }
}

/// Keeps this thread, and its child processes, on the CPU of the measured tasks. Returns `None` if
/// these are on several CPUs, or are real-time tasks, which would not let this thread run. Except
/// for a moment after each window, the thread sleeps. If a control group (or autogroup) has tasks
/// on two CPUs, the kernel divides its share again at each switch (`calc_group_shares` in the
/// kernel's sched/fair.c). With eight nested groups a switch is then 6 % longer.
fn stay_beside(order: &Order) -> Option<PinGuard> {
    let case = &order.case;
    let [first, others @ ..] = &case.placement.cpus[..] else {
        return None;
    };
    let is_one = others.iter().all(|cpu| cpu == first);
    (is_one && !case.policy.is_real_time())
        .then(|| pin(&[*first]).ok())
        .flatten()
}

fn hung() -> String {
    format!("a repetition did not answer for {PATIENCE}; use a smaller --size or --stride")
}

fn ended(status: &std::process::ExitStatus) -> String {
    let found = format!(
        "the process of a repetition ended early ({})",
        ending(*status)
    );
    if may_have_ended(*status) {
        return found;
    }
    format!(
        "{found}; if the kernel killed it for lack of memory (see dmesg), use a smaller --size or fewer --tasks"
    )
}

/// Splitter of a stream of bytes into lines.
#[derive(Default)]
struct Lines {
    pending: Vec<u8>,
}

impl Lines {
    fn add(&mut self, bytes: &[u8]) -> io::Result<Vec<Message>> {
        self.pending.extend_from_slice(bytes);
        let Some(end) = self.pending.iter().rposition(|byte| *byte == b'\n') else {
            return Ok(Vec::new());
        };
        let rest = self.pending.split_off(end + 1);
        let whole = std::mem::replace(&mut self.pending, rest);
        whole
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(parse)
            .collect()
    }
}

fn parse(line: &[u8]) -> io::Result<Message> {
    Ok(serde_json::from_slice(line)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::BatchRounds;

    #[test]
    fn messages_survive_any_cut() {
        let messages = [
            Message::Refused("one".into()),
            Message::Done(BatchRounds::default()),
            Message::Refused("x".into()),
        ];
        let mut stream = Vec::new();
        for message in &messages {
            stream.extend(serde_json::to_vec(message).expect("plain data"));
            stream.push(b'\n');
        }
        for size in 1..stream.len() {
            let mut lines = Lines::default();
            let read: Vec<Message> = stream
                .chunks(size)
                .flat_map(|chunk| lines.add(chunk).expect("whole"))
                .collect();
            assert_eq!(read, messages, "chunks of {size}");
        }
    }
}
