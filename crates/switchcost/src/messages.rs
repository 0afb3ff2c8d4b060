//! What the program says on stderr: the one way there. A message is one line; names in it that hold line breaks, escape codes or marks that
//! turn text are shown escaped. Nothing that was measured is lost if it cannot be read: what cannot be said is not.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

use switchcost_host::pause::Pause;
use switchcost_record::printable;

use crate::exit::Failure;
use crate::terminal;

/// Says one line, formatted as `format!` does it.
macro_rules! say {
    ($($words:tt)*) => { $crate::messages::say_text(format_args!($($words)*)) };
}
pub(crate) use say;

/// What is said of a run that was paused from outside.
pub(crate) fn pause_message(pause: Pause) -> String {
    format!(
        "the run was paused for {} (stopped by a signal, frozen with its control group, or suspended); its budget does not count that",
        pause.total()
    )
}

/// Says one line.
pub(crate) fn say_text(message: impl Display) {
    let line = format!("switchcost: {}\n", printable(&message.to_string()));
    // The terminal may be gone, or the disk full that stderr goes to.
    let _ = io::stderr().write_all(terminal::shown(&line, &io::stderr()).as_bytes());
}

/// What stands in place of a command line: help and version on stdout, a mistake on stderr.
pub(crate) fn show(answer: &clap::Error) -> Result<(), Failure> {
    match answer.print() {
        Err(error) if !answer.use_stderr() && error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::print(error))
        }
        _ => Ok(()),
    }
}
