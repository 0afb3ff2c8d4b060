//! Shows the content of a trace, the result of its check, and its first events.

mod check;
mod events;
mod info;
mod written;

use switchcost_trace::{Cause, syscall_name};

use crate::plain::plain;
use crate::{Page, Tone};

pub(crate) use check::Checked;
pub use check::render_check;
pub use events::render_events;
pub(crate) use info::Info;
pub use info::render_info;
pub use written::describe_written;

/// Formats the name and number of a system call, such as `syscall read (0)`.
fn syscall(number: u16) -> String {
    syscall_name(number).map_or_else(
        || format!("syscall {number}"),
        |name| format!("syscall {name} ({number})"),
    )
}

fn cause_text(cause: Cause) -> String {
    match cause {
        Cause::Syscall(number) => syscall(number),
        Cause::PageFault => "page-fault".to_owned(),
        Cause::Quantum => "quantum".to_owned(),
        Cause::WakeUp => "wake-up".to_owned(),
        Cause::Interrupt => "interrupt".to_owned(),
        Cause::Exit => "exit".to_owned(),
        Cause::Unknown => "unknown".to_owned(),
    }
}

/// Adds notes on what the source of the trace omitted or invented.
fn add_notes(page: &mut Page, notes: &[String]) {
    notes
        .iter()
        .for_each(|note| page.toned_line(format!("note: {}", plain(note)), Tone::Suspect));
}
