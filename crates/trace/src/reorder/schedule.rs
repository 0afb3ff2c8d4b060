use std::fmt;
use std::str::FromStr;

/// Who of those that may run gets the CPU, and for how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// The one that has waited longest, for a quantum.
    #[default]
    RoundRobin,
    /// The one whose process ran last, for a quantum: its lines are the likeliest to be there yet. Who has been passed over so
    /// many times comes first.
    Affinity(u32),
    /// The one that has waited longest, until it leaves by itself.
    LongestQuantum,
    /// Of at most so many tasks, in turn, for a quantum; another one joins them when one of them leaves by itself.
    Batch(u32),
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Schedule::RoundRobin => f.write_str("round-robin"),
            Schedule::Affinity(times) => write!(f, "affinity:{times}"),
            Schedule::LongestQuantum => f.write_str("longest-quantum"),
            Schedule::Batch(tasks) => write!(f, "batch:{tasks}"),
        }
    }
}

/// Why a text names no schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "found '{0}', need round-robin, affinity:N (passed over at most N times), longest-quantum, or batch:K (K tasks take turns)"
)]
pub struct ParseScheduleError(String);

impl FromStr for Schedule {
    type Err = ParseScheduleError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseScheduleError(text.to_owned());
        let number = |text: &str| text.parse::<u32>().map_err(|_| error());
        match text.split_once(':') {
            None if text == "round-robin" => Ok(Schedule::RoundRobin),
            None if text == "longest-quantum" => Ok(Schedule::LongestQuantum),
            Some(("affinity", times)) => Ok(Schedule::Affinity(number(times)?)),
            Some(("batch", tasks)) => match number(tasks)? {
                0 => Err(error()),
                tasks => Ok(Schedule::Batch(tasks)),
            },
            _ => Err(error()),
        }
    }
}
