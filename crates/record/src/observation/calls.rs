use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchcost_units::Nanos;

/// Estimated time that tracing takes per call of an observed task (`docs/method/matched-intervals.md`).
pub const CALL_COST: Nanos = Nanos(400);

/// System calls of observed threads and the user code after each, in slices of the window (`docs/method/matched-intervals.md`).
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TracedCalls {
    /// Places and results of calls, to which the other lists refer by index.
    pub sites: Vec<CallSite>,
    /// Traced parts of the window whose calls were stored, in order.
    pub slices: Vec<CallSlice>,
    /// Number of calls in all traced parts of the window, including those that were not stored.
    pub traced: u64,
    /// Number of calls that were lost for lack of room.
    pub lost: u64,
}

/// A place in a program from which it calls the kernel, with the call's result and the next call.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
pub struct CallSite {
    /// Name of the system call.
    pub call: String,
    /// Lower half of the address of the calling instruction.
    pub address: u32,
    /// Result of the call: exact up to 64; beyond that, the lower end of one of eight steps per
    /// doubling.
    pub result: i64,
    /// Whether the call woke a task.
    pub has_woken: bool,
    /// Name of the thread's next system call.
    pub next: String,
}

/// A part of the window in which calls were traced.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct CallSlice {
    /// Start of the slice, by CLOCK_MONOTONIC.
    pub began_ns: Nanos,
    /// Length of the slice.
    pub length_ns: Nanos,
    /// Threads that made a system call in this part of the window.
    pub threads: Vec<ThreadCalls>,
}

/// System calls of a thread in one traced part of the window, in order: one list for each quantity.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ThreadCalls {
    /// Process ID of the thread.
    pub process: u32,
    /// Name of the thread; hostile text until escaped.
    pub name: String,
    /// Index of each call's site.
    pub site: Vec<u32>,
    /// Time from the entry of the previous call to the entry of each call, or from the slice's start to the first call, in
    /// microseconds.
    pub after_us: Vec<u32>,
    /// Time on a CPU in the call.
    pub call_ns: Vec<u32>,
    /// Time on a CPU in the user code after each call, without interrupts.
    pub user_ns: Vec<u32>,
    /// Times off the CPU during the listed calls, or in the user code after one of them, in order.
    pub off: Vec<OffCpu>,
}

/// A thread's stretches off the CPU within a call, or in the user code after the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct OffCpu {
    /// Index of the call in the thread's lists.
    pub at: u32,
    /// Whether the thread was in the call; otherwise it was in the user code after the call.
    pub is_in_call: bool,
    /// Whether the thread waited for something at least once.
    pub has_waited: bool,
    /// Time that other tasks ran on the thread's CPU while the thread was off it; if the thread
    /// returned on another CPU, the whole time off the CPU.
    pub others_ns: u32,
}

impl TracedCalls {
    /// Returns an error if indices or lists contradict each other.
    pub(super) fn contradiction(&self) -> Option<String> {
        let sites = self.sites.len();
        let fits = |thread: &ThreadCalls| {
            let calls = thread.site.len();
            [
                thread.after_us.len(),
                thread.call_ns.len(),
                thread.user_ns.len(),
            ] == [calls; 3]
                && thread.site.iter().all(|&site| (site as usize) < sites)
                && thread.off.iter().all(|off| (off.at as usize) < calls)
        };
        let mut threads = self.slices.iter().flat_map(|slice| &slice.threads);
        let wrong = threads.position(|thread| !fits(thread))?;
        Some(format!(
            "the calls of traced thread {wrong} do not fit together"
        ))
    }
}
