//! Makes traces of the array traversals of `measure`: generated, or recorded from its tasks in a
//! guest.

use std::path::PathBuf;

use switchcost_capture::Command;
use switchcost_measure::{TURNS_ARGUMENT, Turns};
use switchcost_record::{Arm, Case, Placement, Policy};
use switchcost_report::trace::describe_written;
use switchcost_trace::synthetic::Walks;
use switchcost_trace::{Chunk, TraceHeader, TraceOrder};
use switchcost_units::CpuId;
use switchcost_workload::WorkingSet;

use super::capture::NewTrace;
use super::system;
use crate::cli::trace::WalksArguments;
use crate::exit::{Exit, Failure, Outcome};
use crate::messages::say;

pub(super) fn run(arguments: &WalksArguments) -> Outcome<Exit> {
    let set = WorkingSet {
        size_bytes: arguments.size,
        stride_bytes: arguments.stride,
        access: arguments.access,
        pattern: arguments.pattern,
        ..WorkingSet::NONE
    };
    set.check()?;
    if arguments.system {
        return walk_in_guest(set, arguments);
    }
    if set.is_empty() {
        return Err(Failure::usage(
            "arrays of size 0 give no references; choose a larger --size, or record hand-offs with --system",
        ));
    }
    let tasks = arguments.tasks;
    let walks = Walks {
        sets: vec![set; tasks as usize],
        instructions: arguments.instructions,
        switches: arguments.turns.saturating_mul(tasks.into()),
        seed: arguments.seed,
    };
    let header = TraceHeader::new("walks", TraceOrder::Synthetic, std::env::consts::ARCH);
    let mut trace = NewTrace::create(&arguments.output, &header)?;
    trace.set_dependences(walks.dependences());
    let (mut chunks, mut chunk) = (walks.chunks(), Chunk::default());
    while chunks.next_into(&mut chunk) {
        trace.write(&chunk)?;
    }
    let written = trace.finish()?;
    say!(
        "{}",
        describe_written(
            &arguments.output,
            written.instructions,
            Some(written.references),
            None,
            None
        )
    );
    Ok(Exit::Success)
}

/// Traces the tasks of `measure` in a guest with one CPU. There `measure` has all the rights that
/// it needs.
fn walk_in_guest(working_set: WorkingSet, arguments: &WalksArguments) -> Outcome<Exit> {
    let arm = match (arguments.alone, working_set.is_empty()) {
        (true, true) => Arm::BaselineDirect,
        (true, false) => Arm::BaselineTotal,
        (false, true) => Arm::SwitchDirect,
        (false, false) => Arm::SwitchTotal,
    };
    let case = Case {
        tasks: arguments.tasks,
        working_set,
        ..Case::plain(
            arguments.mechanism,
            arguments.mechanism.betweens()[0],
            Placement::one_cpu(CpuId(0)),
            Policy::Fifo,
        )
    };
    let turns = Turns {
        case,
        arm,
        rounds: arguments.turns,
        seed: arguments.seed,
    };
    turns
        .check()
        .map_err(|why| Failure::usage(why.to_string()))?;
    let json = serde_json::to_string(&turns).expect("plain data");
    let own_path = std::env::current_exe().map_err(Failure::own_file)?;
    let words = [
        own_path.into_os_string(),
        TURNS_ARGUMENT.into(),
        json.into(),
    ];
    let command = Command {
        directory: Some(PathBuf::from("/")),
        ..Command::new(words)
    };
    system::between_stops(
        &[command],
        &arguments.guest,
        arguments.redaction,
        &arguments.output,
    )
}
