//! Causes for which tasks leave the CPU, as the simulation record names them.

use std::collections::HashMap;

use switchcost_design::result::SwitchCause;
use switchcost_trace::{Cause, syscall_name};

/// End of a segment as the trace shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Why {
    /// The segment is the first of its task, and has no earlier end.
    Birth,
    /// The trace ends in this segment.
    EndOfTrace,
    /// A mark gives the reason why the task left.
    Left { is_voluntary: bool, cause: Cause },
}

/// The causes that occur, in the order of their first occurrence.
#[derive(Debug, Default)]
pub(crate) struct Causes {
    numbers: HashMap<SwitchCause, u32>,
    known: HashMap<Why, u32>,
    list: Vec<SwitchCause>,
}

impl Causes {
    pub(crate) fn number(&mut self, why: Why) -> u32 {
        if let Some(&number) = self.known.get(&why) {
            return number;
        }
        let next = self.list.len() as u32;
        let cause = described(why);
        let number = *self.numbers.entry(cause.clone()).or_insert(next);
        if number == next {
            self.list.push(cause);
        }
        self.known.insert(why, number);
        number
    }

    pub(crate) fn into_list(self) -> Vec<SwitchCause> {
        self.list
    }
}

fn described(why: Why) -> SwitchCause {
    let (is_voluntary, entry, syscall) = match why {
        Why::Birth => (false, "birth", None),
        Why::EndOfTrace => (false, "unknown", None),
        Why::Left {
            is_voluntary,
            cause,
        } => {
            let (entry, syscall) = entry_of(cause);
            (is_voluntary, entry, syscall)
        }
    };
    SwitchCause {
        is_voluntary,
        entry: entry.to_owned(),
        syscall,
    }
}

fn entry_of(cause: Cause) -> (&'static str, Option<String>) {
    match cause {
        Cause::Syscall(number) => (
            "syscall",
            Some(syscall_name(number).map_or_else(|| format!("syscall {number}"), str::to_owned)),
        ),
        Cause::PageFault => ("page-fault", None),
        Cause::Quantum => ("quantum", None),
        Cause::WakeUp => ("wake-up", None),
        Cause::Interrupt => ("interrupt", None),
        Cause::Exit => ("exit", None),
        Cause::Unknown => ("unknown", None),
    }
}
