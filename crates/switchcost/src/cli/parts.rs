//! Arguments of `simulate` that select a part of a trace.

use std::ops::Range;
use std::str::FromStr;

use clap::Args;

/// A range of a trace in instructions, counted from 0. The range excludes its end, `to`; `None`
/// stands for the end of the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) from: u64,
    pub(crate) to: Option<u64>,
}

impl FromStr for Stretch {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || {
            format!(
                "'{text}' is not a range of instructions; write FROM..TO, such as 0..50000000 or 50000000.."
            )
        };
        let (from, to) = text.split_once("..").ok_or_else(error)?;
        let number = |text: &str, missing: Option<u64>| match text.trim() {
            "" => Ok(missing),
            digits => digits.parse().map(Some).map_err(|_| error()),
        };
        let (from, to) = (number(from, Some(0))?.unwrap_or(0), number(to, None)?);
        if to.is_some_and(|to| to <= from) {
            Err(format!(
                "the range {text} contains no instructions; write the smaller number first"
            ))
        } else {
            Ok(Stretch { from, to })
        }
    }
}

impl Stretch {
    /// Returns the range in a trace of `instructions` instructions; `None` if the range is empty or
    /// ends after the trace.
    pub(crate) fn within(&self, instructions: u64) -> Option<Range<u64>> {
        let to = self.to.unwrap_or(instructions);
        (self.from < to && to <= instructions).then_some(self.from..to)
    }
}

/// Which part of a trace is simulated.
#[derive(Clone, Debug, Args)]
pub(crate) struct PartArguments {
    /// Simulate only the instructions from FROM up to TO of a trace, such as 0..50000000
    ///
    /// Instructions are counted from 0, and either end may be omitted. A warm-up before FROM is simulated in full. Of earlier
    /// instructions, only the last use of each cache line is simulated.
    #[arg(long, value_name = "FROM..TO", conflicts_with_all = ["schedule", "quantum", "page_faults", "at_once", "user_only"],
          help_heading = "What to simulate")]
    pub(crate) range: Option<Stretch>,

    /// Instructions to simulate, but not count, before the range [default: 1000000]
    ///
    /// Of the instructions before the warm-up, only the last use of each cache line is simulated.
    #[arg(
        long,
        hide_short_help = true,
        value_name = "INSTRUCTIONS",
        help_heading = "What to simulate"
    )]
    pub(crate) warm_up: Option<u64>,
}

/// Recorded intervals after each switch: length of an interval in instructions, and number of
/// intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IntervalFlag {
    pub(crate) instructions: u64,
    pub(crate) count: Option<u32>,
}

const MOST_INTERVALS: u32 = 100_000;

impl FromStr for IntervalFlag {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (instructions, count) = match text.split_once('x') {
            Some((instructions, count)) => (instructions, Some(count.trim().parse())),
            None => (text, None),
        };
        match (instructions.trim().parse(), count.transpose()) {
            (Ok(instructions @ 1..), Ok(count))
                if count != Some(0) && count <= Some(MOST_INTERVALS) =>
            {
                Ok(IntervalFlag {
                    instructions,
                    count,
                })
            }
            _ => Err(format!(
                "'{text}' is not an interval; write its length in instructions, or LENGTHxCOUNT: 10000, or \
                 10000x50 for 50 intervals of 10000 instructions (at most {MOST_INTERVALS} intervals)"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_has_a_length_and_may_have_a_number() {
        for (text, instructions, count) in [("10000", 10_000, None), ("1000x50", 1000, Some(50))] {
            let flag = IntervalFlag {
                instructions,
                count,
            };
            assert_eq!(text.parse(), Ok(flag));
        }
    }

    #[test]
    fn a_stretch_has_two_ends_of_which_either_may_be_left_away() {
        let stretch = |text: &str| text.parse::<Stretch>();
        for (text, instructions, part) in [
            ("5..70", 100, Some(5..70)),
            ("..70", 100, Some(0..70)),
            ("5..", 100, Some(5..100)),
            ("90..120", 100, None),
            ("90..120", 120, Some(90..120)),
            ("100..", 100, None),
        ] {
            let found = stretch(text).expect("two ends").within(instructions);
            assert_eq!(found, part, "{text}");
        }
    }
}
