//! Kernel tasks of an experiment: the caller, which leads, and its peers, which follow commands.
//!
//! The input is a case. The output is peers that are set up (pinned, with memory and priority), and
//! the channels, commands and times that all tasks share. The experiments ([`crate::ring`],
//! [`crate::preempt`]) choose batches and counts.

mod links;
mod preemptor;
mod shared;
mod words;
mod worker;

use std::io;
use std::sync::Arc;

use switchcost_host::evidence::TaskId;
use switchcost_host::task::{Forked, fork};
use switchcost_record::{Between, Case};

use crate::controls::TaskControls;
pub(crate) use shared::{Command, Shared};
pub(crate) use worker::{Passed, Worker, pass_on};

/// A task other than the first.
pub(crate) enum Peer {
    /// The task is a separate process.
    Process(Forked),
    /// The task is a thread, given by its thread ID. The thread ends with its process.
    Thread(i32),
}

impl Peer {
    /// Returns the identity by which the task is watched.
    pub(crate) fn task_id(&self) -> TaskId {
        match self {
            Peer::Process(process) => TaskId::process(process.pid()),
            Peer::Thread(tid) => TaskId::thread_of_this_process(*tid),
        }
    }
}

/// Starts a peer, and waits until it is set up. `index` is the peer's number among the tasks, from
/// 1.
pub(crate) fn start_peer(
    index: usize,
    case: &Case,
    controls: &TaskControls,
    shared: &Arc<Shared>,
    seed: u64,
) -> Result<Peer, String> {
    let (own_case, own_controls, own_shared) = (case.clone(), controls.clone(), Arc::clone(shared));
    let body = move || Worker::serve(index, &own_case, &own_controls, &own_shared, seed);
    let started = match case.between {
        Between::Thread => std::thread::Builder::new().spawn(body).map(|_| None),
        Between::Process | Between::User => fork(body).map(Some),
    };
    let process = started.map_err(|error| cannot_start(case, index, &error))?;
    shared.wait_until_ready(index)?;
    Ok(process.map_or_else(|| Peer::Thread(shared.tid(index)), Peer::Process))
}

fn cannot_start(case: &Case, running: usize, error: &io::Error) -> String {
    let remedy = switchcost_remedies::start_remedy(error, "use fewer --tasks");
    format!(
        "only {running} of {} tasks can be started ({error}); {remedy}",
        case.tasks
    )
}
