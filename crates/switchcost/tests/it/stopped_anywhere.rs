//! Every verb, ended at instants that nobody chose: no process is left, nothing half-written, and what is there can be read.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::common::verbs::{Verb, verbs};
use crate::common::{Place, running, wait_until};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rustix::process::{Pid, Signal, kill_process};

/// Instants at which each verb is ended, at most, and for how long that is gone on with.
const INSTANTS: usize = 20;
const LONGEST: Duration = Duration::from_secs(4);

const SIGNALS: [Signal; 4] = [Signal::KILL, Signal::TERM, Signal::KILL, Signal::HUP];

#[test]
fn a_verb_that_is_ended_anywhere_leaves_nothing_half() {
    let place = Place::new();
    let mut random = ChaCha8Rng::seed_from_u64(15);
    for mut verb in verbs(&place) {
        let start = Instant::now();
        verb.run_whole(&place);
        let length = start.elapsed();
        let start = Instant::now();
        let mut ended = 0;
        for turn in (0..INSTANTS).take_while(|turn| *turn < 4 || start.elapsed() < LONGEST) {
            let (signal, after) = (SIGNALS[turn % SIGNALS.len()], length.mul_f64(random.random_range(0.0..1.0)));
            let told = format!("{} {signal:?} after {after:?}", verb.words.join(" "));
            let status = end(&place, &verb, signal, after);
            ended += usize::from(is_ended_by(status, signal));
            wait_until("nothing of it runs", || running(&place).is_empty());
            verb.check_rest(&place, &told);
            verb.clear();
        }
        // A neighbour may have made the first run long, and few of the others last until they are ended.
        assert!(ended > 0, "{:?} was never ended", verb.words);
    }
}

/// Runs a verb, and ends it after so long, if it lasts.
fn end(place: &Place, verb: &Verb, signal: Signal, after: Duration) -> ExitStatus {
    let words: Vec<&str> = verb.words.iter().map(String::as_str).collect();
    let command = place.command_with_signals(&["--default-signal"], &words);
    let mut child: Child = verb
        .settled(place, command)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("env is part of coreutils");
    std::thread::sleep(after);
    // Ours until we have waited for it, whether or not it has ended.
    kill_process(Pid::from_child(&child), signal).expect("our own child");
    child.wait().expect("it ends")
}

fn is_ended_by(status: ExitStatus, signal: Signal) -> bool {
    status.signal() == Some(signal.as_raw()) || status.code() == Some(128 + signal.as_raw())
}
