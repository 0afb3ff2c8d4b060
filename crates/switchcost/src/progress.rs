//! Shows the progress of a run on stderr: as a bar on a terminal, otherwise as a line every ten
//! seconds.

use std::fmt::Write;
use std::fs::File;
use std::io::{self, Read};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{HumanCount, ProgressBar, ProgressState, ProgressStyle};
use switchcost_measure::Progress;
use switchcost_record::{Case, Plan};
use switchcost_trace::Chunk;
use switchcost_units::Nanos;

use crate::messages::{self, say};
use crate::terminal;

/// Time between two progress lines if stderr is not a terminal.
const BETWEEN_LINES: Duration = Duration::from_secs(10);

/// Prints the progress of a bar as a line, if the bar is not drawn and the last line is old enough.
pub(crate) fn tell(bar: &ProgressBar) {
    tell_in_words(bar, || {
        let message = bar.message();
        match bar.length() {
            Some(length) => format!(
                "{message}; {} s left",
                length.saturating_sub(bar.position()).div_ceil(1000)
            ),
            None => message,
        }
    });
}

fn tell_in_words(bar: &ProgressBar, words: impl FnOnce() -> String) {
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
    say!("{}", words());
}

/// A progress bar over the time of a run. The calling thread draws the bar between repetitions,
/// because a ticking thread would disturb the measurement on a small machine.
pub(crate) struct Bar {
    bar: ProgressBar,
    cases: Vec<String>,
}

impl Bar {
    /// Creates a progress bar over the plan's budget. indicatif hides the bar if stderr is no
    /// terminal.
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
            "{} of {} done; now {case}",
            progress.finished,
            self.cases.len()
        ));
        tell(&self.bar);
    }

    pub(crate) fn finish(self) {
        self.bar.finish_and_clear();
    }
}

/// Creates a progress bar over a budget, with positions in milliseconds.
pub(crate) fn over_time(budget: Nanos) -> ProgressBar {
    let bar = drawn(ProgressBar::new(budget.0 / 1_000_000));
    let seconds = |state: &ProgressState, to: &mut dyn Write| {
        let _ = write!(to, "{} s", state.elapsed().as_secs());
    };
    bar.set_style(style("{bar:30} {seconds} of {prefix}  {msg}").with_key("seconds", seconds));
    bar.set_prefix(format!("{} s", budget.0 / 1_000_000_000));
    bar
}

/// A file that shows a progress bar over the bytes read from it.
pub(crate) struct FileWithBar {
    file: File,
    bar: ProgressBar,
}

impl FileWithBar {
    pub(crate) fn new(file: File) -> FileWithBar {
        let bar = drawn(ProgressBar::new(
            file.metadata().map_or(0, |facts| facts.len()),
        ));
        bar.set_style(style(
            "{bar:30} {percent} % of {total_bytes}, {elapsed}, {eta} left",
        ));
        FileWithBar { file, bar }
    }
}

impl Read for FileWithBar {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.file.read(buffer)?;
        self.bar.inc(bytes as u64);
        tell_in_words(&self.bar, || {
            let (all, done) = (self.bar.length().unwrap_or(0), self.bar.position().max(1));
            let left = self.bar.elapsed().as_secs() * all.saturating_sub(done) / done;
            format!("{} % of the file; {left} s left", 100 * done / all.max(1))
        });
        Ok(bytes)
    }
}

/// Draws a bar on stderr. The bar is hidden if the terminal cannot redraw a line, or if notices are
/// turned off.
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

/// Progress of a stream of trace chunks, by instructions and switches.
pub(crate) struct StreamProgress {
    bar: ProgressBar,
    instructions: u64,
    switches: u64,
    most_switches: Option<u64>,
    all_instructions: Option<u64>,
}

impl StreamProgress {
    /// Shows the progress through a trace with `instructions` instructions.
    pub(crate) fn over_trace(instructions: u64) -> StreamProgress {
        let mut progress = StreamProgress::new(true, None);
        progress.all_instructions = Some(instructions);
        progress
    }

    /// Shows the progress through a stream whose length is unknown. The display is hidden unless
    /// `is_shown`, because a bar would mix with the output of programs.
    pub(crate) fn new(is_shown: bool, most_switches: Option<u64>) -> StreamProgress {
        let bar = if is_shown {
            drawn(ProgressBar::new_spinner())
        } else {
            ProgressBar::hidden()
        };
        bar.set_style(style("{spinner} {msg}"));
        StreamProgress {
            bar,
            instructions: 0,
            switches: 0,
            most_switches,
            all_instructions: None,
        }
    }

    pub(crate) fn show(&mut self, chunk: &Chunk) {
        self.instructions += chunk.instructions();
        self.switches += chunk
            .marks
            .iter()
            .filter(|placed| placed.mark.is_switch())
            .count() as u64;
        let part = |done, all: Option<u64>| match all {
            Some(all) => format!("{} of {}", HumanCount(done), HumanCount(all)),
            None => HumanCount(done).to_string(),
        };
        self.bar.set_message(format!(
            "{} switches, {} instructions",
            part(self.switches, self.most_switches),
            part(self.instructions, self.all_instructions)
        ));
        tell(&self.bar);
    }
}

impl Drop for StreamProgress {
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
