//! `simulate`: which part of a trace.

use std::ops::Range;
use std::str::FromStr;

use clap::Args;

/// Instructions of a trace, from 0; the last one left out, and up to the end where it is not named.
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
                "found '{text}', need two numbers of instructions such as 0..50000000, or 50000000.. for all from there on"
            )
        };
        let (from, to) = text.split_once("..").ok_or_else(error)?;
        let number = |text: &str, missing: Option<u64>| match text.trim() {
            "" => Ok(missing),
            digits => digits.parse().map(Some).map_err(|_| error()),
        };
        let (from, to) = (number(from, Some(0))?.unwrap_or(0), number(to, None)?);
        if to.is_some_and(|to| to <= from) {
            Err(error())
        } else {
            Ok(Stretch { from, to })
        }
    }
}

impl Stretch {
    /// What of a trace of so many instructions it is; none where it is not in it.
    pub(crate) fn within(&self, instructions: u64) -> Option<Range<u64>> {
        let to = self.to.unwrap_or(instructions);
        (self.from < to && to <= instructions).then_some(self.from..to)
    }
}

/// A share of a trace, above 0 and up to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Share(pub(crate) f64);

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let share = match text.trim().strip_suffix('%') {
            Some(percent) => percent.trim().parse().map(|percent: f64| percent / 100.0),
            None => text.trim().parse(),
        };
        match share {
            Ok(share) if share > 0.0 && share <= 1.0 => Ok(Share(share)),
            _ => Err(format!(
                "found '{text}', need a share of the trace such as 5% or 0.05, above 0 and up to 1"
            )),
        }
    }
}

/// What of a trace is simulated, where that is not all.
#[derive(Clone, Debug, Args)]
pub(crate) struct PartArguments {
    /// Of a trace: simulate only the instructions from FROM on, counted from 0, and before TO; either may be omitted. What comes before is
    /// not simulated, except for a warm-up
    #[arg(long, value_name = "FROM..TO", conflicts_with_all = ["schedule", "quantum", "page_faults", "at_once", "user_only"],
          help_heading = "What to simulate")]
    pub(crate) only_intervals: Option<Stretch>,

    /// The start of --only-intervals, by itself
    #[arg(long, value_name = "INSTRUCTIONS", conflicts_with_all = ["only_intervals", "sample", "schedule", "quantum", "at_once", "user_only"],
          help_heading = "What to simulate")]
    pub(crate) from: Option<u64>,

    /// The end of --only-intervals, by itself
    #[arg(long, value_name = "INSTRUCTIONS", conflicts_with_all = ["only_intervals", "sample", "schedule", "quantum", "at_once", "user_only"],
          help_heading = "What to simulate")]
    pub(crate) to: Option<u64>,

    /// Of a trace: simulate this share of it (5%), in parts chosen at random, and estimate the whole from them, with intervals
    #[arg(long, value_name = "SHARE", conflicts_with_all = ["only_intervals", "schedule", "quantum", "page_faults", "at_once", "user_only"],
          help_heading = "What to simulate")]
    pub(crate) sample: Option<Share>,

    /// With --sample: seed of the choice of parts
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 0,
        requires = "sample",
        help_heading = "What to simulate"
    )]
    pub(crate) seed: u64,

    /// Instructions that are simulated before each part, and not counted; of those before them only the last use of each line is
    /// [default: 1000000; with --sample as many as a part has]
    #[arg(long, value_name = "INSTRUCTIONS", help_heading = "What to simulate")]
    pub(crate) warm_up: Option<u64>,
}

impl PartArguments {
    /// Whether a part of a trace is asked for.
    pub(crate) fn is_given(&self) -> bool {
        self.is_of_parts() || self.warm_up.is_some()
    }

    /// Whether less than a whole trace is asked for.
    pub(crate) fn is_of_parts(&self) -> bool {
        self.stretch().is_some() || self.sample.is_some()
    }

    /// The only part that is asked for, however its ends were given.
    pub(crate) fn stretch(&self) -> Option<Stretch> {
        let by_ends = || Stretch {
            from: self.from.unwrap_or(0),
            to: self.to,
        };
        let has_ends = self.from.is_some() || self.to.is_some();
        self.only_intervals
            .clone()
            .or_else(|| has_ends.then(by_ends))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_of_a_hundred_or_of_one() {
        let share = |text: &str| text.parse::<Share>();
        assert_eq!(
            [share("5%"), share("0.05"), share("100 %")],
            [Ok(Share(0.05)), Ok(Share(0.05)), Ok(Share(1.0))]
        );
        for wrong in [
            "", "%", "0", "0%", "-5%", "101%", "1.5", "nan", "inf", "five",
        ] {
            let needed = "need a share of the trace such as 5% or 0.05, above 0 and up to 1";
            assert_eq!(share(wrong), Err(format!("found '{wrong}', {needed}")));
        }
    }

    #[test]
    fn both_ends_of_a_stretch_may_be_given_by_themselves() {
        let none = PartArguments {
            only_intervals: None,
            from: None,
            to: None,
            sample: None,
            seed: 0,
            warm_up: None,
        };
        assert_eq!(none.stretch(), None);
        let to = PartArguments {
            to: Some(70),
            ..none.clone()
        };
        assert_eq!(to.stretch(), "..70".parse().ok());
        let both = PartArguments {
            from: Some(5),
            ..to
        };
        assert_eq!(both.stretch(), "5..70".parse().ok());
        assert!(both.is_of_parts());
        let turned = PartArguments {
            from: Some(70),
            to: Some(5),
            ..none
        };
        assert_eq!(
            turned.stretch().and_then(|stretch| stretch.within(100)),
            None
        );
    }

    #[test]
    fn a_stretch_has_two_ends_of_which_either_may_be_left_away() {
        let stretch = |text: &str| text.parse::<Stretch>();
        assert_eq!(
            stretch("5..70"),
            Ok(Stretch {
                from: 5,
                to: Some(70)
            })
        );
        assert_eq!(
            stretch("..70"),
            Ok(Stretch {
                from: 0,
                to: Some(70)
            })
        );
        assert_eq!(stretch("5..").map(|all| all.within(100)), Ok(Some(5..100)));
        for wrong in [
            "", "5", "5-70", "70..5", "5..5", "a..b", "-1..5", "1e3..2e3",
        ] {
            let said = stretch(wrong).expect_err("is no stretch");
            let needed = "need two numbers of instructions such as 0..50000000, or 50000000.. for all from there on";
            assert_eq!(said, format!("found '{wrong}', {needed}"));
        }
        let part = Stretch {
            from: 90,
            to: Some(120),
        };
        assert_eq!(
            [100, 120].map(|instructions| part.within(instructions)),
            [None, Some(90..120)]
        );
        assert_eq!(
            Stretch {
                from: 100,
                to: None
            }
            .within(100),
            None
        );
    }
}
