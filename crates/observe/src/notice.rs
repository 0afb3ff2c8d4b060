use std::fmt;
use std::process::ExitStatus;

use switchcost_facts::limits::ending;

/// Something to be said while it is observed. Reads well on a line of its own; names and words in it are hostile until escaped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The command has failed.
    CommandFailed {
        /// Its words.
        words: Vec<String>,
        /// How it ended.
        status: ExitStatus,
    },
    /// The command has ended, and something that it started has not.
    GoesOn {
        /// The command's words.
        words: Vec<String>,
        /// What goes on: numbers and names of processes.
        processes: Vec<(u32, String)>,
        /// Whether it is observed further.
        is_observed: bool,
    },
    /// Requests were asked for and could not be counted at the end.
    NoRequests(String),
    /// The time inside the scheduler was asked for and is not to be had.
    NoSchedulerTime,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::CommandFailed { words, status } => write!(f, "'{}' ended with {}", words.join(" "), ending(*status)),
            Notice::GoesOn { words, processes, is_observed } => goes_on(f, words, processes, *is_observed),
            Notice::NoRequests(why) => write!(f, "{why}; what switching costs for each request is not known"),
            Notice::NoSchedulerTime => f.write_str(
                "found no BPF with the tracepoints sched_entry_tp and sched_exit_tp, which Linux has from 6.15 on; how long the \
                 scheduler takes is not known",
            ),
        }
    }
}

/// So many processes are named.
const NAMED: usize = 3;

fn goes_on(
    f: &mut fmt::Formatter<'_>,
    words: &[String],
    processes: &[(u32, String)],
    is_observed: bool,
) -> fmt::Result {
    let named: Vec<String> = processes
        .iter()
        .take(NAMED)
        .map(|(number, name)| format!("{name} {number}"))
        .collect();
    let more = processes.len().saturating_sub(NAMED);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    write!(
        f,
        "'{}' ended, and what it started goes on ({}{more})",
        words.join(" "),
        named.join(", ")
    )?;
    if is_observed {
        return f.write_str(", and is observed further");
    }
    let numbers: Vec<String> = processes
        .iter()
        .map(|(number, _)| number.to_string())
        .collect();
    write!(
        f,
        "; to observe that: switchcost observe -p {} -d 10s, or -d with the command",
        numbers.join(",")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_on_is_named_with_how_to_observe_it() {
        let processes: Vec<(u32, String)> =
            (1..=5).map(|number| (number, "nginx".to_owned())).collect();
        let notice = Notice::GoesOn {
            words: vec!["nginx".to_owned()],
            processes,
            is_observed: false,
        };
        assert_eq!(
            notice.to_string(),
            "'nginx' ended, and what it started goes on (nginx 1, nginx 2, nginx 3 and 2 more); to observe that: switchcost \
             observe -p 1,2,3,4,5 -d 10s, or -d with the command"
        );
    }
}
