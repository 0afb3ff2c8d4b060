//! A trace estimated from parts of it that are chosen by chance.

use std::path::Path;

use ::report::simulate::{Sample, render_sample};
use analysis::simulation::{Choice, TooShort, choose_parts, over_parts};
use cachesim::Simulator;
use simulation_result::PartResult;
use trace::{Chunk, LastUses, Parts, Purpose};

use super::run::options;
use super::{DEFAULT_INTERVAL, designs, orders, part, tell_notes};
use crate::cli::parts::Share;
use crate::cli::simulate::SimulateArguments;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::signals::Interrupt;

const SEED: u64 = 1;
const CONFIDENCE: f64 = 0.95;

pub(super) fn run(path: &Path, share: Share, arguments: &SimulateArguments) -> Result<Exit, Failure> {
    let output = Output::claim(arguments.designs.form.out.as_deref())?;
    let interrupt = Interrupt::watch()?;
    let file = orders::open(path)?;
    tell_notes(file.header());
    let instructions = file.index().instructions;
    let seed = arguments.part.seed.unwrap_or(SEED);
    let choice = choose_parts(instructions, share.0, seed).map_err(|TooShort { found, needed }| Failure::TooShort {
        path: path.to_owned(),
        found,
        needed,
    })?;
    let ranges = choice.ranges();
    let part_instructions = ranges.first().map_or(0, |part| part.end - part.start);
    let warm_up = arguments.part.warm_up.unwrap_or(part_instructions);
    let designs = part::in_full(&arguments.designs);
    let sample = Sample {
        source: path.to_string_lossy().into_owned(),
        instructions,
        parts: ranges.len(),
        part_instructions,
        warm_up_instructions: warm_up,
        seed,
    };
    let line_bytes = designs::shortest_line(&designs)?;
    let simulator = || -> Result<Simulator, Failure> {
        Ok(Simulator::new(designs::selected(&designs)?, options(&designs, DEFAULT_INTERVAL))?)
    };
    let parts = Parts::new(file, ranges, warm_up, line_bytes).cut_at(choice.tiles.clone());
    let both = Both {
        parts: simulator()?,
        last_uses: simulator()?,
        keep: LastUses::of_lines(line_bytes),
        choice: choice.clone(),
    };
    let Some([parts, last_uses]) = both.simulate(path, parts, &interrupt)? else {
        return Ok(interrupt.exit().unwrap_or(Exit::Broken));
    };
    let findings = over_parts(&choice, &parts, &last_uses, CONFIDENCE);
    let style = output.style(arguments.designs.depth);
    output.write(&render_sample(&sample, &findings, arguments.designs.form.format, style))?;
    Ok(Exit::Success)
}

/// The parts, and beside them the last uses of all tiles.
struct Both {
    parts: Simulator,
    last_uses: Simulator,
    keep: LastUses,
    choice: Choice,
}

impl Both {
    /// What each part came to, and what the last uses of each tile did; none where the run was stopped.
    fn simulate(
        mut self,
        path: &Path,
        mut parts: Parts<'_>,
        interrupt: &Interrupt,
    ) -> Result<Option<[Vec<PartResult>; 2]>, Failure> {
        let mut chunk = Chunk::default();
        let failed = |source| Failure::ReadTrace { path: path.to_owned(), source };
        while let Some(purpose) = parts.next_into(&mut chunk).map_err(failed)? {
            if interrupt.is_raised() {
                return Ok(None);
            }
            self.feed(&mut chunk, purpose, parts.start())?;
        }
        let results = |simulator: Simulator| simulator.finish(&mut Vec::new(), &mut |_, _| None).parts;
        Ok(Some([self.parts, self.last_uses].map(results)))
    }

    fn feed(&mut self, chunk: &mut Chunk, purpose: Purpose, start: u64) -> Result<(), Failure> {
        let mut tuples = Vec::new();
        let mut kept = self.keep.kept(chunk);
        let tile = Purpose::Count { part: self.choice.tile_of(start) };
        self.last_uses.feed_part(&mut kept, tile, None, &mut tuples)?;
        Ok(self.parts.feed_part(chunk, purpose, None, &mut tuples)?)
    }
}
