//! Conditions that must hold after any run, whatever the attack.

use crate::leftovers::{Condition, await_none};
use crate::place::Place;
use crate::run::Ran;
use crate::verb::Verb;
use crate::whole::Whole;

/// Numbers of the signals that a faulty program gets: SIGABRT, SIGBUS, SIGSEGV, SIGILL, SIGFPE,
/// SIGSYS, SIGTRAP.
const FAULTS: [i32; 7] = [6, 7, 11, 4, 8, 31, 5];

/// Checks that a run had no panic, no fault and no hang.
pub(crate) fn is_orderly(ran: &Ran) -> Result<(), String> {
    let has_panicked = ran.code() == Some(101)
        || ran.stderr.contains("panicked at")
        || ran.stdout.contains("panicked at");
    let has_aborted =
        ran.stderr.contains("memory allocation of") || ran.stderr.contains("stack overflow");
    let is_faulty = ran.signal().is_some_and(|signal| FAULTS.contains(&signal));
    if ran.status.is_none() || has_panicked || has_aborted || is_faulty {
        Err(ran.reported())
    } else {
        Ok(())
    }
}

/// Checks that a failed run says on stderr what is wrong and what to do. `trace check` prints its
/// findings as its result instead.
pub(crate) fn is_explained(ran: &Ran) -> Result<(), String> {
    // On a terminal the text also has colours and the codes that leave the alternate screen.
    let lines = ran.stderr.replace("\u{1b}[?1049l", "\n");
    let text = console::strip_ansi_codes(&lines);
    let has = |start: &str| text.lines().any(|line| line.starts_with(start));
    let is_reported = match ran.code() {
        _ if is_of_command(ran) => true,
        Some(5) if ran.stdout.contains("; ") => true,
        Some(1 | 2 | 5) => has("error: ") && has("hint: "),
        _ => true,
    };
    if is_reported {
        Ok(())
    } else {
        Err(format!("no word of what is needed: {}", ran.reported()))
    }
}

/// Returns true if the run reports that the command it started has failed.
fn is_of_command(ran: &Ran) -> bool {
    ran.stderr.contains("' ended with ")
}

/// Checks that no process and no temporary file of the run remains, and that the bystander process
/// is unchanged.
pub(crate) fn is_tidy(place: &Place, bystander: &Condition) -> Result<(), String> {
    await_none(|| place.processes())?;
    let (found, left) = (place.bystander()?, place.temporary());
    if found != *bystander {
        return Err(format!(
            "the process beside it was left as {found:?}, need {bystander:?}"
        ));
    }
    if left.is_empty() {
        Ok(())
    } else {
        Err(format!("left in TMPDIR: {left:?}"))
    }
}

/// Checks all conditions for a run that ended without a signal.
pub(crate) fn judge_run(
    verb: &Verb,
    place: &Place,
    whole: &Whole,
    ran: &Ran,
    bystander: &Condition,
) -> Result<(), String> {
    is_orderly(ran)?;
    if !is_of_command(ran) && !ran.code().is_some_and(|code| verb.may_end_with(code)) {
        return Err(format!(
            "found an exit code that is in no table: {}",
            ran.reported()
        ));
    }
    is_tidy(place, bystander)?;
    let has_succeeded = ran.code() == Some(whole.code);
    verb.check_made(place, whole, has_succeeded)
        .map_err(|why| format!("{why}: {}", ran.reported()))?;
    ran.terminal.clone().map_or(Ok(()), Err)
}
