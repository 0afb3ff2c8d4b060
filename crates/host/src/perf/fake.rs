//! Counters that read what a script says, for tests of everything that uses counters.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use super::{CounterGroup, CounterSource, Event, Reading, Unavailable};

/// What a scripted counter does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Script {
    /// Reads this much.
    Counts(u64),
    /// Reads this much of the user's half.
    CountsUserOnly(u64),
    /// Reads this much, counted half of the time.
    Multiplexed(u64),
    /// Opens, and cannot be read.
    FailsToRead,
    /// Does not exist.
    Absent,
}

/// A source that follows a script; an event that is not in it is absent.
#[derive(Clone, Debug, Default)]
pub struct Scripted {
    scripts: BTreeMap<Event, Script>,
}

impl Scripted {
    /// A source of these events.
    pub fn new(scripts: impl IntoIterator<Item = (Event, Script)>) -> Scripted {
        Scripted { scripts: scripts.into_iter().collect() }
    }
}

struct ScriptedGroup(Vec<Script>);

impl CounterSource for Scripted {
    fn open(&self, events: &[Event], _: i32) -> Result<Box<dyn CounterGroup>, Unavailable> {
        let script = |event: &Event| match self.scripts.get(event) {
            None | Some(Script::Absent) => Err(Unavailable(format!("the script has no {event}"))),
            Some(script) => Ok(*script),
        };
        Ok(Box::new(ScriptedGroup(events.iter().map(script).collect::<Result<_, _>>()?)))
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
            Script::FailsToRead | Script::Absent => Err(io::Error::other("the script fails to read")),
        };
        let enabled = Duration::from_millis(2);
        let is_partial = self.0.iter().any(|script| matches!(script, Script::Multiplexed(_)));
        let running = if is_partial { enabled / 2 } else { enabled };
        Ok(Reading { values: self.0.iter().map(value).collect::<io::Result<_>>()?, enabled, running })
    }

    fn counts_kernel(&self) -> bool {
        !self.0.iter().any(|script| matches!(script, Script::CountsUserOnly(_)))
    }
}
