//! How far a run is, on stderr: a bar on a terminal, else a line each ten seconds.

use std::fmt::Write;
use std::fs::File;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{HumanCount, ProgressBar, ProgressBarIter, ProgressState, ProgressStyle};
use switchcost_measure::Progress;
use switchcost_record::{Case, Plan};
use switchcost_trace::Chunk;
use switchcost_units::Nanos;

use crate::messages::{self, say};
use crate::terminal;

/// A line comes so often if stderr is no terminal.
const BETWEEN_LINES: Duration = Duration::from_secs(10);

/// Prints how far a bar is, in its words, if it is not drawn and the last line is long ago.
pub(crate) fn tell(bar: &ProgressBar) {
    static LAST: Mutex<Option<Instant>> = Mutex::new(None);
    if !bar.is_hidden() {
        return;
    }
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let now = Instant::now();
    let before = *last.get_or_insert(now);
    if now.duration_since(before) < BETWEEN_LINES {
        return;
    }
    *last = Some(now);
    let message = bar.message();
    match bar.length() {
        Some(length) => say!(
            "{message}; {} s left",
            length.saturating_sub(bar.position()).div_ceil(1000)
        ),
        None => say!("{message}"),
    }
}

/// A bar over the run's time. Drawn between repetitions by the calling thread: a thread that ticks would be foreign
/// time on a small machine.
pub(crate) struct Bar {
    bar: ProgressBar,
    cases: Vec<String>,
}

impl Bar {
    /// Hidden by indicatif if stderr is no terminal.
    pub(crate) fn over(plan: &Plan) -> Bar {
        Bar {
            bar: over_time(plan.budget_ns),
            cases: plan.cases.iter().map(title).collect(),
        }
    }

    pub(crate) fn say(&self, what: &str) {
        self.bar.set_message(what.to_owned());
        self.bar.tick();
    }

    pub(crate) fn show(&self, progress: Progress) {
        self.bar.set_position(progress.elapsed.0 / 1_000_000);
        let case = &self.cases[progress.case];
        self.bar.set_message(format!(
            "{} of {} precise enough; now {case}",
            progress.finished,
            self.cases.len()
        ));
        tell(&self.bar);
    }

    pub(crate) fn finish(self) {
        self.bar.finish_and_clear();
    }
}

/// A bar over a budget, in milliseconds.
pub(crate) fn over_time(budget: Nanos) -> ProgressBar {
    let bar = drawn(ProgressBar::new(budget.0 / 1_000_000));
    let seconds = |state: &ProgressState, to: &mut dyn Write| {
        let _ = write!(to, "{} s", state.elapsed().as_secs());
    };
    bar.set_style(style("{bar:30} {seconds} of {prefix}  {msg}").with_key("seconds", seconds));
    bar.set_prefix(format!("{} s", budget.0 / 1_000_000_000));
    bar
}

/// A bar over the bytes of a file that is read.
pub(crate) fn over_file(file: File) -> ProgressBarIter<File> {
    let bar = drawn(ProgressBar::new(
        file.metadata().map_or(0, |facts| facts.len()),
    ));
    bar.set_style(style(
        "{bar:30} {percent} % of {total_bytes}, {elapsed}, {eta} left",
    ));
    bar.wrap_read(file)
}

/// A bar is drawn over itself: nowhere if that cannot be.
fn drawn(bar: ProgressBar) -> ProgressBar {
    if terminal::cursorless().is_some() || messages::is_quiet() {
        ProgressBar::hidden()
    } else {
        bar
    }
}

fn style(template: &str) -> ProgressStyle {
    let style =
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    if terminal::is_ascii() {
        style.progress_chars("#- ").tick_chars("|/-\\ ")
    } else {
        style
    }
}

/// How much of running programs was captured.
pub(crate) struct Captured {
    bar: ProgressBar,
    instructions: u64,
    switches: u64,
    most_switches: Option<u64>,
}

impl Captured {
    /// Only if the programs do not print themselves: their lines and a bar would spoil each other.
    pub(crate) fn new(is_shown: bool, most_switches: Option<u64>) -> Captured {
        let bar = if is_shown {
            drawn(ProgressBar::new_spinner())
        } else {
            ProgressBar::hidden()
        };
        bar.set_style(style("{spinner} {msg}"));
        Captured {
            bar,
            instructions: 0,
            switches: 0,
            most_switches,
        }
    }

    pub(crate) fn show(&mut self, chunk: &Chunk) {
        self.instructions += chunk.instructions();
        self.switches += chunk
            .marks
            .iter()
            .filter(|placed| placed.mark.is_switch())
            .count() as u64;
        let of = self
            .most_switches
            .map(|most| format!(" of {}", HumanCount(most)))
            .unwrap_or_default();
        let (switches, instructions) = (HumanCount(self.switches), HumanCount(self.instructions));
        self.bar.set_message(format!(
            "{switches}{of} switches, {instructions} instructions"
        ));
        tell(&self.bar);
    }
}

impl Drop for Captured {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn title(case: &Case) -> String {
    let set = &case.working_set;
    if set.is_empty() {
        format!("{} ({})", case.mechanism, case.between)
    } else {
        format!(
            "{} ({}), {} {} stride {}",
            case.mechanism, case.between, set.size_bytes, set.access, set.stride_bytes
        )
    }
}
