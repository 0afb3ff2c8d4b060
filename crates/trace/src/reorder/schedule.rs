use std::fmt;
use std::str::FromStr;

/// Rule that determines which task runs next, and the length of its time slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// The task that has waited longest runs for a quantum.
    #[default]
    RoundRobin,
    /// A task of the process that ran last runs for a quantum, because its lines are likeliest to
    /// be cached. A task that was passed over as often as field 0 says comes first.
    Affinity(u32),
    /// The task that has waited longest runs until it leaves the CPU voluntarily.
    LongestQuantum,
    /// A limited number of tasks alternate, each for a quantum; field 0 is the limit. When one of
    /// the tasks leaves the CPU voluntarily, another task takes its place.
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

/// Error for a text that does not name a schedule. Field 0 is the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a schedule; use round-robin, affinity:N (the process that ran last continues, \
     but a task passed over N times comes first), longest-quantum, or batch:K (at most K tasks alternate)"
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
