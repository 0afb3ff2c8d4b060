//! Prints the progress of an experiment and its remaining time on stderr.

use std::time::{Duration, Instant};

/// Least time between two lines.
const BETWEEN_LINES: Duration = Duration::from_secs(10);

/// Progress through the steps of an experiment. The remaining time is estimated as if all steps
/// took equally long.
pub(crate) struct Progress {
    what: String,
    count: usize,
    done: usize,
    start: Instant,
    last_line: Option<Instant>,
}

impl Progress {
    pub(crate) fn new(what: impl Into<String>, count: usize) -> Progress {
        Progress {
            what: what.into(),
            count,
            done: 0,
            start: Instant::now(),
            last_line: None,
        }
    }

    /// Counts the end of a step, and prints a line if one is due.
    pub(crate) fn advance(&mut self) {
        self.done += 1;
        let is_due = |last: Instant| last.elapsed() >= BETWEEN_LINES;
        if self.done == self.count || self.last_line.is_none_or(is_due) {
            self.last_line = Some(Instant::now());
            eprintln!("{}", self.text(self.start.elapsed()));
        }
    }

    fn text(&self, elapsed: Duration) -> String {
        let Progress {
            what, count, done, ..
        } = self;
        let seconds = elapsed.as_secs_f64();
        let rest = seconds / (*done).max(1) as f64 * (count - done) as f64;
        format!("{what}: {done} of {count} after {seconds:.0} s, about {rest:.0} s more")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_takes_as_long_a_step_as_what_is_done() {
        let mut rounds = Progress::new("rounds", 4);
        rounds.advance();
        assert_eq!(
            rounds.text(Duration::from_secs(20)),
            "rounds: 1 of 4 after 20 s, about 60 s more"
        );
    }
}
