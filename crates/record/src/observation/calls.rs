use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchcost_units::Nanos;

/// System calls of observed threads and the user code after each, in slices of the window (`docs/method/matched-intervals.md`).
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TracedCalls {
    /// Places and results of calls, by index.
    pub sites: Vec<CallSite>,
    /// The slices that were kept, in order.
    pub slices: Vec<CallSlice>,
    /// Calls in all slices, those that were not kept included.
    pub traced: u64,
    /// Calls that found no room.
    pub lost: u64,
}

/// A place in a program at which it calls the kernel, with what came of it and what is called next.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
pub struct CallSite {
    /// The system call.
    pub call: String,
    /// The lower half of the instruction's address.
    pub address: u32,
    /// Its result: exact up to 64, beyond the lower end of one of eight steps in a doubling.
    pub result: i64,
    /// Whether it woke a task.
    pub has_woken: bool,
    /// The next system call of the thread.
    pub next: String,
}

/// A part of the window in which calls were traced.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct CallSlice {
    /// When it began, by CLOCK_MONOTONIC.
    pub began_ns: Nanos,
    /// Its length.
    pub length_ns: Nanos,
    /// The threads that called.
    pub threads: Vec<ThreadCalls>,
}

/// Calls of a thread in a slice, in order, one list for each quantity.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ThreadCalls {
    /// Its process.
    pub process: u32,
    /// Name of the thread; hostile text until escaped.
    pub name: String,
    /// Indices of sites.
    pub site: Vec<u32>,
    /// From the entry of the call before it, or of the first call from the slice's begin, in microseconds.
    pub after_us: Vec<u32>,
    /// Time on a CPU in the call.
    pub call_ns: Vec<u32>,
    /// Time on a CPU in the user code after it, without interrupts.
    pub user_ns: Vec<u32>,
    /// When it was off its CPU, in order.
    pub off: Vec<OffCpu>,
}

/// Times off the CPU within a call, or in the user code after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct OffCpu {
    /// Index of the call.
    pub at: u32,
    /// Whether it was in the call, and not in the user code after it.
    pub is_in_call: bool,
    /// Whether it waited for something at least once.
    pub has_waited: bool,
    /// How long others ran meanwhile on its CPU; all of the time if it came back on another.
    pub others_ns: u32,
}

impl TracedCalls {
    /// Indices and lists that do not fit together.
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
