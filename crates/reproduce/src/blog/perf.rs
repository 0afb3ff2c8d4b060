//! Parser for the output of `perf stat -x ,`: one event per line.

use crate::Outcome;
use std::collections::BTreeMap;

/// Counts by the names of the events, in perf's units. Events that perf could not count are left
/// out.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Counts(BTreeMap<String, f64>);

impl Counts {
    /// Parses the output of `perf stat -x ,`. Lines without a count are skipped.
    pub(super) fn read(words: &str) -> Counts {
        let count = |line: &str| {
            let mut fields = line.split(',');
            let (value, _unit, event) = (fields.next()?, fields.next()?, fields.next()?);
            let value = value
                .trim()
                .parse()
                .ok()
                .filter(|value: &f64| value.is_finite())?;
            // The name of an event that perf counted only in user mode has a suffix after a colon.
            event
                .split(':')
                .next()
                .filter(|name| !name.is_empty())
                .map(|name| (name.to_owned(), value))
        };
        Counts(words.lines().filter_map(count).collect())
    }

    pub(super) fn count(&self, event: &str) -> Outcome<f64> {
        self.0
            .get(event)
            .copied()
            .ok_or_else(|| format!("perf counted no {event} here"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Output of perf 6.12 on a guest without hardware counters.
    const WORDS: &str = "# started on Tue Nov 24 19:53:01 2026\n\n1,,context-switches,851000,100.00,1.175,K/sec\n\
                         0.85,msec,task-clock,851000,100.00,0.008,CPUs utilized\n\
                         <not supported>,,cycles:u,0,100.00,,\n77,,page-faults:u,1,100.00,,\n";

    #[test]
    fn counts_are_read_and_what_was_not_counted_is_not_there() {
        let counts = Counts::read(WORDS);
        assert_eq!(
            (counts.count("context-switches"), counts.count("task-clock")),
            (Ok(1.0), Ok(0.85))
        );
        assert_eq!(counts.count("page-faults"), Ok(77.0));
        assert_eq!(
            counts.count("cycles"),
            Err("perf counted no cycles here".to_owned())
        );
        assert_eq!(
            Counts::read("no such event\n,,\nnan,,x\n"),
            Counts::default()
        );
    }
}
