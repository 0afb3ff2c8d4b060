//! Simulates a guest with endless programs while it runs.

use std::path::PathBuf;
use std::time::Duration;

use switchcost_capture::{CaptureError, Command, GuestSummary, PlacedFolder, Summary, System};
use switchcost_trace::{Chunk, Dependences, TraceHeader};

use super::header;
use super::trials::one;
use crate::cli::system::{GuestArguments, IcountShift};
use crate::exit::Outcome;
use crate::progress::StreamProgress;
use crate::signals::Interrupt;
use crate::verbs::trace::capture::{Ended, Live, capture_failure};

/// Rate of a machine of 1990: 64 ns per instruction. The DECstation 5000/200 ran at 25 MHz, with
/// one to two cycles per instruction.
const OF_1990: IcountShift = IcountShift(6);

/// A guest with endless programs that is ready to run.
pub(crate) struct LiveGuest {
    commands: Vec<Command>,
    system: System,
}

impl LiveGuest {
    /// Prepares a guest that stops after `switches` switches. `files` and `folder` are the files
    /// and the folder that the commands use. Time slices have `quantum_instructions` instructions.
    pub(crate) fn new(
        commands: Vec<Command>,
        arguments: &GuestArguments,
        quantum_instructions: u64,
        switches: u64,
        files: Vec<PathBuf>,
        folder: PlacedFolder,
    ) -> Outcome<LiveGuest> {
        let mut system = one(arguments, OF_1990).map_err(CaptureError::from)?;
        system.slice = Some(Duration::from_nanos(
            quantum_instructions << system.icount_shift,
        ));
        system.stop_after_switches = Some(switches);
        system.files = files;
        system.folders = vec![folder];
        Ok(LiveGuest { commands, system })
    }
}

impl Live for LiveGuest {
    fn header(&self) -> TraceHeader {
        header(&self.commands, &self.system)
    }

    fn run(
        self,
        interrupt: &Interrupt,
        mut sink: impl FnMut(&mut Chunk, &Dependences) -> Outcome,
    ) -> Outcome<Ended> {
        let mut captured = StreamProgress::new(true, self.system.stop_after_switches);
        let sink = move |chunk: &mut Chunk| {
            captured.show(chunk);
            sink(chunk, &Dependences::default())
        };
        let summary =
            switchcost_capture::run_system(&self.commands, &self.system, interrupt.flag(), sink)
                .map_err(|failure| capture_failure(failure, |sink| sink))?;
        let GuestSummary {
            ending,
            switches,
            instructions,
            statuses,
            symbols,
            warnings,
            ..
        } = summary;
        let summary = Summary {
            ending,
            switches,
            instructions,
            statuses: statuses.into_iter().map(Some).collect(),
            warnings,
            no_pid_namespace: None,
            switches_elsewhere: 0,
        };
        Ok(Ended {
            commands: self.commands,
            summary,
            symbols,
        })
    }
}
