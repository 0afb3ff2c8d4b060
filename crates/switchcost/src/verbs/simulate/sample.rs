//! Estimates a whole trace from parts chosen at random.

use std::path::Path;

use switchcost_analysis::simulation::{Choice, TooShort, choose_parts, over_parts};
use switchcost_cachesim::Simulator;
use switchcost_design::result::PartResult;
use switchcost_report::simulate::{Sample, render_sample};
use switchcost_trace::{Chunk, LastUses, Parts, Purpose};

use super::part::drop_part;
use super::run::options;
use super::{DEFAULT_INTERVAL, designs, orders, print_notes};
use crate::cli::parts::Share;
use crate::cli::simulate::SimulateArguments;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::progress::StreamProgress;
use crate::signals::Interrupt;

/// Confidence of the intervals, chosen so that 18 of 20 intervals contain the true value even if
/// parts are few and differ from each other.
const CONFIDENCE: f64 = 0.95;

pub(super) fn run(
    path: &Path,
    share: Share,
    arguments: &SimulateArguments,
) -> Result<Exit, Failure> {
    arguments.designs.form.format_of_text()?;
    let output = Output::claim(arguments.designs.form.output.as_deref())?;
    if arguments.designs.record.is_some() {
        return Err(Failure::usage(
            "--sample keeps no record; use -o FILE.json for its numbers, and leave out --record",
        ));
    }
    let interrupt = Interrupt::watch()?;
    let file = orders::open(path)?;
    print_notes(file.header());
    let instructions = file.index().instructions;
    let choice = choose_parts(instructions, share.0, arguments.part.seed).map_err(
        |TooShort { found, needed }| {
            Failure::usage(format!(
                "{} has {found} instructions, and a sample with enough parts takes {needed}; simulate all of it, or choose a \
                 larger share",
                path.display()
            ))
        },
    )?;
    let ranges = choice.ranges();
    let part_instructions = ranges.first().map_or(0, |part| part.end - part.start);
    let warm_up = arguments.part.warm_up.unwrap_or(part_instructions);
    let designs = drop_part(&arguments.designs);
    let line_bytes = designs::shortest_line(&designs)?;
    let simulator = || -> Result<Simulator, Failure> {
        Ok(Simulator::new(
            designs::selected(&designs)?,
            options(&designs, DEFAULT_INTERVAL),
        )?)
    };
    let parts = Parts::new(file, ranges, warm_up, line_bytes).cut_at(choice.tiles.clone());
    let both = Both {
        parts: simulator()?,
        last_uses: simulator()?,
        keep: LastUses::new(line_bytes),
        choice: choice.clone(),
        progress: StreamProgress::over_trace(instructions),
    };
    let Some([of_parts, last_uses]) = both.simulate(path, parts, &interrupt)? else {
        return Ok(Exit::Broken);
    };
    let sample = Sample {
        source: path.to_string_lossy().into_owned(),
        trace_instructions: instructions,
        parts: of_parts.len(),
        part_instructions,
        warm_up_instructions: warm_up,
        seed: arguments.part.seed,
        designs: over_parts(&choice, &of_parts, &last_uses, CONFIDENCE),
    };
    let (form, style) = (
        &arguments.designs.form,
        output.style(arguments.designs.verbosity),
    );
    output.write(&render_sample(&sample, form.format(), style))?;
    Ok(Exit::Success)
}

/// Results of the parts, and of the last uses of all tiles.
struct Both {
    parts: Simulator,
    last_uses: Simulator,
    keep: LastUses,
    choice: Choice,
    progress: StreamProgress,
}

impl Both {
    /// Returns the results of each part, and of the last uses of each tile; `None` if the run was stopped.
    fn simulate(
        mut self,
        path: &Path,
        mut parts: Parts<'_>,
        interrupt: &Interrupt,
    ) -> Result<Option<[Vec<PartResult>; 2]>, Failure> {
        let mut chunk = Chunk::default();
        let failed = Failure::read_trace(path);
        while let Some(purpose) = parts.next_into(&mut chunk).map_err(failed)? {
            if interrupt.is_raised() {
                return Ok(None);
            }
            self.progress.show(&chunk);
            self.feed(&mut chunk, purpose, parts.start())?;
        }
        let results =
            |simulator: Simulator| simulator.finish(&mut Vec::new(), &mut |_, _| None).parts;
        Ok(Some([self.parts, self.last_uses].map(results)))
    }

    fn feed(&mut self, chunk: &mut Chunk, purpose: Purpose, start: u64) -> Result<(), Failure> {
        let mut intervals = Vec::new();
        let mut kept = match purpose {
            Purpose::LastUses => {
                self.keep.pass(chunk);
                chunk.clone()
            }
            Purpose::Count { .. } | Purpose::WarmUp => self.keep.kept(chunk),
        };
        let tile = Purpose::Count {
            part: self.choice.tile_of(start),
        };
        self.last_uses
            .feed_part(&mut kept, tile, None, &mut intervals)?;
        Ok(self.parts.feed_part(chunk, purpose, None, &mut intervals)?)
    }
}
