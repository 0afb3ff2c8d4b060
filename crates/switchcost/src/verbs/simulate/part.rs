//! Simulates a part of a trace, after a warm-up.

use std::path::Path;

use switchcost_cachesim::Simulator;
use switchcost_design::result::{PartResult, TracePart};
use switchcost_trace::{Chunk, LastUses, Parts, Purpose, ReadTraceError};

use super::run::{Run, options};
use super::{DEFAULT_INTERVAL, RECORDED, designs, orders};
use crate::cli::parts::Stretch;
use crate::cli::simulate::{DesignArguments, SimulateArguments};
use crate::exit::{Exit, Failure, Outcome};
use crate::output::Output;
use crate::progress::StreamProgress;
use crate::signals::Interrupt;

/// Default length of the warm-up, in instructions. The last use of each line before the warm-up is
/// also simulated. So first-level caches are correct immediately, and other levels soon.
const WARM_UP_INSTRUCTIONS: u64 = 1_000_000;

pub(super) fn run(path: &Path, stretch: &Stretch, arguments: &SimulateArguments) -> Outcome<Exit> {
    let output = Output::claim(arguments.designs.form.output.as_deref())?;
    let interrupt = Interrupt::watch_to_the_end()?;
    let designs = choose_in_full(&arguments.designs);
    let file = orders::open(path)?;
    let header = file.header().clone();
    let instructions = file.index().instructions;
    let range = stretch.within(instructions).ok_or_else(|| {
        Failure::usage(format!(
            "--range {}..{} is not within {}; choose a range within 0..{instructions}",
            stretch.from,
            stretch.to.map(|to| to.to_string()).unwrap_or_default(),
            path.display()
        ))
    })?;
    let warm_up = arguments
        .part
        .warm_up
        .unwrap_or(WARM_UP_INSTRUCTIONS)
        .min(range.start);
    let checked = range.start.saturating_add(warm_up).min(range.end);
    let parts = [range.start..checked, checked..range.end]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect();
    let mut parts = Parts::new(file, parts, warm_up, designs::shortest_line(&designs)?);
    let mut run = Run::begin(
        &designs,
        DEFAULT_INTERVAL,
        &path.to_string_lossy(),
        &header,
        None,
    )?;
    let mut check = (warm_up > 0)
        .then(|| WithoutWarmUps::begin(&designs))
        .transpose()?;
    let progress = StreamProgress::over_trace(instructions);
    let is_whole = feed(
        &mut parts,
        progress,
        &interrupt,
        |chunk, purpose, since_switch| {
            if let Some(check) = &mut check {
                check.take(chunk, purpose)?;
            }
            run.part(chunk, purpose, since_switch)
        },
    )
    .map_err(|stop| stop.failure(path))?;
    let incomplete = (!is_whole).then(|| "interrupted".to_owned());
    if run.is_empty() {
        return interrupt.exit().ok_or_else(|| Failure::empty(path));
    }
    let part = TracePart {
        from_instruction: range.start,
        to_instruction: range.end,
        trace_instructions: instructions,
        warm_up_instructions: warm_up,
        without_warm_up: Vec::new(),
    };
    let ended = run
        .set_part(part, check.map(WithoutWarmUps::finish))
        .finish(incomplete)?;
    interrupt.end_in_time(RECORDED)?;
    ended.show(&arguments.designs, output)
}

/// Returns the arguments, changed so that each design is simulated in full. A sweep over many
/// designs would simulate the whole trace instead of a part.
pub(super) fn choose_in_full(arguments: &DesignArguments) -> DesignArguments {
    DesignArguments {
        in_full: usize::MAX,
        ..arguments.clone()
    }
}

/// Reason why the rest of the trace is not simulated.
pub(super) enum Stop {
    Read(ReadTraceError),
    Other(Failure),
}

impl Stop {
    /// Returns the failure to report for the trace at `path`.
    pub(super) fn failure(self, path: &Path) -> Failure {
        match self {
            Stop::Read(source) => Failure::read_trace(path)(source),
            Stop::Other(failure) => failure,
        }
    }
}

impl From<ReadTraceError> for Stop {
    fn from(error: ReadTraceError) -> Stop {
        Stop::Read(error)
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Stop {
        Stop::Other(failure)
    }
}

/// Passes on the chunks of the requested parts, and of the instructions before each part, with
/// their purpose. After a gap, the chunk comes with the number of instructions since the last
/// switch. Returns false if the run was interrupted.
pub(super) fn feed(
    parts: &mut Parts<'_>,
    mut progress: StreamProgress,
    interrupt: &Interrupt,
    mut take: impl FnMut(&mut Chunk, Purpose, Option<u64>) -> Outcome,
) -> Result<bool, Stop> {
    let mut chunk = Chunk::default();
    let mut is_known = false;
    while let Some(purpose) = parts.next_into(&mut chunk)? {
        if interrupt.is_raised() {
            return Ok(false);
        }
        let is_reduced = purpose == Purpose::LastUses;
        let since_switch = if is_reduced || is_known {
            None
        } else {
            Some(parts.since_switch()?)
        };
        is_known = !is_reduced;
        progress.show(&chunk);
        take(&mut chunk, purpose, since_switch)?;
    }
    Ok(true)
}

/// A second simulation of the start of the first part, in which only the last uses of lines precede
/// the part, without the warm-up.
struct WithoutWarmUps {
    simulator: Simulator,
    last_uses: LastUses,
}

impl WithoutWarmUps {
    fn begin(arguments: &DesignArguments) -> Outcome<WithoutWarmUps> {
        let simulator = Simulator::new(
            designs::selected(arguments)?,
            options(arguments, DEFAULT_INTERVAL),
        )?;
        Ok(WithoutWarmUps {
            simulator,
            last_uses: LastUses::new(designs::shortest_line(arguments)?),
        })
    }

    fn take(&mut self, chunk: &Chunk, purpose: Purpose) -> Outcome {
        let mut own = match purpose {
            Purpose::Count { part: 0 } => chunk.clone(),
            Purpose::Count { .. } => return Ok(()),
            Purpose::WarmUp | Purpose::LastUses => self.last_uses.kept(chunk),
        };
        Ok(self
            .simulator
            .feed_part(&mut own, purpose, None, &mut Vec::new())?)
    }

    fn finish(self) -> Vec<PartResult> {
        self.simulator
            .finish(&mut Vec::new(), &mut |_, _| None)
            .parts
    }
}
