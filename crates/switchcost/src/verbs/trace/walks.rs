//! Traces of the walks of `measure`, made by a rule.

use trace::synthetic::Walks;
use trace::{Chunk, TraceHeader, TraceOrder};
use workload::{Pages, Sharing, WorkingSet};

use super::capture::NewTrace;
use crate::cli::trace::WalksArguments;
use crate::exit::{Exit, Failure};
use crate::messages::say;

pub(super) fn run(arguments: &WalksArguments) -> Result<Exit, Failure> {
    let set = WorkingSet {
        size_bytes: arguments.size,
        stride_bytes: arguments.stride,
        access: arguments.access,
        pattern: arguments.pattern,
        sharing: Sharing::Private,
        pages: Pages::Base,
    };
    set.check()?;
    let tasks = arguments.tasks;
    let walks = Walks {
        sets: vec![set; tasks as usize],
        instructions: arguments.instructions,
        switches: arguments.turns.saturating_mul(tasks.into()),
        seed: arguments.seed,
    };
    let header = TraceHeader::new("walks", TraceOrder::Synthetic, std::env::consts::ARCH);
    let mut trace = NewTrace::create(&arguments.output, &header)?;
    let (mut chunks, mut chunk) = (walks.chunks(), Chunk::default());
    while chunks.next_into(&mut chunk) {
        trace.write(&chunk)?;
    }
    let written = trace.finish()?;
    say!(
        "{} instructions and {} references in {}",
        written.instructions,
        written.references,
        arguments.output.display()
    );
    Ok(Exit::Success)
}
