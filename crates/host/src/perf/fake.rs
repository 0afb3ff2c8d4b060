//! Scripted counters, for tests of all users of counters.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use super::{CounterGroup, CounterSource, CounterTarget, Event, Reading, Unavailable};

/// Behaviour of a scripted counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Script {
    /// The counter always reads the value in field 0.
    Counts(u64),
    /// The counter reads the first value once, and the second value from then on.
    CountsInTurn(u64, u64),
    /// The counter reads the value in field 0 in the user mode of a task. The counter cannot count
    /// a CPU.
    CountsUserOnly(u64),
    /// The counter reads the value in field 0, and reports that it counted half of the time.
    Multiplexed(u64),
    /// The counter can be opened, but not read.
    FailsToRead,
    /// The counter does not exist.
    Absent,
}

/// A counter source that follows a script; events outside the script do not exist.
#[derive(Clone, Debug, Default)]
pub struct Scripted {
    scripts: BTreeMap<Event, Script>,
    counters: Option<usize>,
}

impl Scripted {
    /// Creates a source with one event for each of `scripts`.
    pub fn new(scripts: impl IntoIterator<Item = (Event, Script)>) -> Scripted {
        Scripted {
            scripts: scripts.into_iter().collect(),
            counters: None,
        }
    }

    /// Limits the source to a CPU with `counters` counters. Larger groups of hardware events are
    /// refused.
    pub fn limit_counters(self, counters: usize) -> Scripted {
        Scripted {
            counters: Some(counters),
            ..self
        }
    }
}

struct ScriptedGroup {
    scripts: Vec<Script>,
    readings: u64,
}

impl CounterSource for Scripted {
    fn open(
        &self,
        events: &[Event],
        target: CounterTarget,
    ) -> Result<Box<dyn CounterGroup>, Unavailable> {
        let is_cpu = matches!(target, CounterTarget::Cpu(_));
        let script = |event: &Event| match self.scripts.get(event) {
            None | Some(Script::Absent) => Err(Unavailable(format!("the script has no {event}"))),
            Some(Script::CountsUserOnly(_)) if is_cpu => {
                Err(Unavailable(format!("the script has no {event} of a CPU")))
            }
            Some(script) => Ok(*script),
        };
        let scripts = events.iter().map(script).collect::<Result<_, _>>()?;
        let wanted = events.iter().filter(|event| event.is_hardware()).count();
        match self.counters {
            Some(counters) if wanted > counters => {
                Err(Unavailable(format!("the script has {counters} counters")))
            }
            _ => Ok(Box::new(ScriptedGroup {
                scripts,
                readings: 0,
            })),
        }
    }
}

impl CounterGroup for ScriptedGroup {
    fn start(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn stop(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn read(&mut self) -> io::Result<Reading> {
        let value = |script: &Script| match script {
            Script::Counts(n) | Script::CountsUserOnly(n) | Script::Multiplexed(n) => Ok(*n),
            Script::CountsInTurn(first, _) if self.readings == 0 => Ok(*first),
            Script::CountsInTurn(_, later) => Ok(*later),
            Script::FailsToRead | Script::Absent => {
                Err(io::Error::other("the script fails to read"))
            }
        };
        let enabled = Duration::from_millis(2);
        let is_partial = self
            .scripts
            .iter()
            .any(|script| matches!(script, Script::Multiplexed(_)));
        let running = if is_partial { enabled / 2 } else { enabled };
        let values = self.scripts.iter().map(value).collect::<io::Result<_>>()?;
        self.readings += 1;
        Ok(Reading {
            values,
            enabled,
            running,
        })
    }

    fn counts_kernel(&self) -> bool {
        !self
            .scripts
            .iter()
            .any(|script| matches!(script, Script::CountsUserOnly(_)))
    }
}
