use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchcost_units::Nanos;

/// Time by which tracing is estimated to lengthen each call of an observed task
/// (`docs/method/matched-intervals.md`).
pub const CALL_COST: Nanos = Nanos(400);

/// System calls of observed threads, and the user code after each, traced in parts of the window
/// (`docs/method/matched-intervals.md`).
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TracedCalls {
    /// Call sites, to which the lists of calls refer by index.
    pub sites: Vec<CallSite>,
    /// Parts of the window whose calls were traced and stored, in order.
    pub slices: Vec<CallSlice>,
    /// Number of calls in all traced parts of the window, including parts that were not stored.
    pub traced: u64,
    /// Number of calls that were lost for lack of memory.
    pub lost: u64,
}

/// A place in a program that makes a system call, together with the call's result and the next
/// call.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
pub struct CallSite {
    /// Name of the system call that is made at this site.
    pub call: String,
    /// Lower 32 bits of the address of the calling instruction.
    pub address: u32,
    /// Result of the call. Results up to 64 are exact. Larger ones are rounded down to eight steps
    /// per doubling.
    pub result: i64,
    /// Whether the call woke another task.
    pub has_woken: bool,
    /// Name of the thread's next system call.
    pub next: String,
}

/// A part of the window in which calls were traced.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct CallSlice {
    /// Start of this part of the window by CLOCK_MONOTONIC, in nanoseconds.
    pub began_ns: Nanos,
    /// Length of this part of the window in nanoseconds.
    pub length_ns: Nanos,
    /// Threads that made a system call in this part of the window.
    pub threads: Vec<ThreadCalls>,
}

/// System calls of one thread in one traced part of the window, in order. Each list has one entry
/// per call, except `off`.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ThreadCalls {
    /// ID of the thread's process.
    pub process: u32,
    /// Name of the thread's process; untrusted text that must be escaped before it is shown. Empty
    /// in older records.
    #[serde(default)]
    pub process_name: String,
    /// Name of the thread; untrusted text that must be escaped before it is shown.
    pub name: String,
    /// Index of each call's site in [`TracedCalls::sites`].
    pub site: Vec<u32>,
    /// Time between the entries of the previous call and of each call, in microseconds. For the
    /// first call, the time since the start of the traced part.
    pub after_us: Vec<u32>,
    /// Time on a CPU within each call, in nanoseconds.
    pub call_ns: Vec<u32>,
    /// Time on a CPU in the user code after each call, in nanoseconds, without interrupts.
    pub user_ns: Vec<u32>,
    /// Times off the CPU within the calls, or in the user code after them, in order.
    pub off: Vec<OffCpu>,
}

/// Times for which a thread was off the CPU within one call, or in the user code after the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct OffCpu {
    /// Index of the call in the lists of [`ThreadCalls`].
    pub at: u32,
    /// Whether the thread left the CPU within the call. Otherwise, it left the CPU in the user code
    /// after the call.
    pub is_in_call: bool,
    /// Whether the thread waited for something at least once.
    pub has_waited: bool,
    /// Time for which other tasks ran on the thread's CPU while the thread was off the CPU, in
    /// nanoseconds. If the thread returned on another CPU, the whole time off the CPU.
    pub others_ns: u32,
}

impl TracedCalls {
    /// Returns a description of a contradiction between indices or lists; `None` if there is none.
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
