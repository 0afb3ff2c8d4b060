//! Stores the traced calls of whole slices in bounded memory.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use switchcost_facts::Root;
use switchcost_record::observation::{CallSite, CallSlice, OffCpu, ThreadCalls, TracedCalls};
use switchcost_units::Nanos;

use super::layout::{Call, HAS_WOKEN};
use crate::subject::name_of;
use crate::sums::name_of_call;

/// Maximum number of traced calls that a record stores.
pub(super) const MOST: usize = 3 * SLICE;
/// Maximum number of calls that are traced in one slice.
pub(super) const SLICE: usize = 1 << 17;
/// Maximum number of different call sites for which results are stored.
const SITES: usize = 1 << 16;

/// Largest result of a call that is stored exactly.
const EXACT: i64 = 64;
/// Number of steps per doubling to which larger results are rounded.
const STEPS: i64 = 8;

#[derive(Default)]
pub(super) struct Kept {
    sites: HashMap<SiteKey, u32>,
    /// Names of the traced processes, because one may end before its calls are read.
    names: BTreeMap<u32, String>,
    calls: TracedCalls,
    slice: Option<Open>,
}

type SiteKey = (u16, u32, i64, bool, u16);

/// The part of the observation in which system calls are being traced.
struct Open {
    began: Nanos,
    room: usize,
    calls: usize,
    threads: BTreeMap<u32, Thread>,
}

#[derive(Default)]
struct Thread {
    last: u64,
    calls: ThreadCalls,
}

impl Kept {
    /// Stores the names of the processes whose calls are to be traced.
    pub(super) fn name_processes(&mut self, root: &Root, processes: &BTreeSet<u32>) {
        let name = |process: &u32| (*process, name_of(root, *process));
        self.names = processes.iter().map(name).collect();
    }

    /// Begins a slice. `room` is the maximum number of calls in the slice.
    pub(super) fn begin(&mut self, began: Nanos, room: usize) {
        self.slice = Some(Open {
            began,
            room,
            calls: 0,
            threads: BTreeMap::new(),
        });
    }

    /// Whether the current slice has as many calls as it may.
    pub(super) fn is_full(&self) -> bool {
        let mut slice = self.slice.iter();
        slice.any(|slice| slice.calls == slice.room)
    }

    pub(super) fn traced(&self) -> u64 {
        self.calls.traced
    }

    pub(super) fn add(&mut self, root: &Root, call: &Call) {
        let Some(slice) = &mut self.slice else {
            return;
        };
        self.calls.traced += 1;
        if slice.calls == slice.room {
            return;
        }
        let Some(site) = site_of(&mut self.sites, &mut self.calls.sites, call) else {
            self.calls.lost += 1;
            return;
        };
        slice.calls += 1;
        let began = slice.began.0;
        let thread = slice.threads.entry(call.thread).or_insert_with(|| {
            let process_name = self.names.get(&call.process).cloned().unwrap_or_default();
            // Read now, because the thread may have ended at the end of the slice.
            let name = name_of_thread(root, call.process, call.thread);
            Thread {
                last: began,
                calls: ThreadCalls {
                    process: call.process,
                    name: name.unwrap_or_else(|| process_name.clone()),
                    process_name,
                    ..ThreadCalls::default()
                },
            }
        });
        thread.add(site, call);
    }

    /// Ends the current slice of traced calls. If the record then has more than [`MOST`] calls,
    /// drops every second slice and returns true: slices should become half as frequent.
    pub(super) fn end(&mut self, now: Nanos) -> bool {
        let Some(open) = self.slice.take() else {
            return false;
        };
        self.calls.slices.push(CallSlice {
            began_ns: open.began,
            length_ns: now.saturating_sub(open.began),
            threads: open
                .threads
                .into_values()
                .map(|thread| thread.calls)
                .collect(),
        });
        let kept: usize = self.calls.slices.iter().map(calls_of).sum();
        let are_too_many = kept > MOST;
        if are_too_many {
            let mut at = 0;
            self.calls.slices.retain(|_| {
                at += 1;
                at % 2 == 1
            });
        }
        are_too_many
    }

    pub(super) fn clone_calls(&self, lost: u64) -> TracedCalls {
        TracedCalls {
            lost: self.calls.lost + lost,
            ..self.calls.clone()
        }
    }

    pub(super) fn into_calls(self, lost: u64) -> TracedCalls {
        TracedCalls {
            lost: self.calls.lost + lost,
            ..self.calls
        }
    }
}

impl Thread {
    fn add(&mut self, site: u32, call: &Call) {
        let at = self.calls.site.len() as u32;
        self.calls.site.push(site);
        let after_us = call.at.saturating_sub(self.last) / 1_000;
        self.calls
            .after_us
            .push(after_us.min(u32::MAX.into()) as u32);
        // The rounding error goes into the next time.
        self.last += after_us * 1_000;
        self.calls.call_ns.push(call.in_call_ns);
        self.calls.user_ns.push(call.in_user_ns);
        if call.waits > 0 || call.preemptions > 0 {
            self.calls.off.push(OffCpu {
                at,
                is_in_call: true,
                has_waited: call.waits > 0,
                others_ns: call.call_others_ns,
            });
        }
        if call.user_switches > 0 {
            self.calls.off.push(OffCpu {
                at,
                is_in_call: false,
                has_waited: false,
                others_ns: call.user_others_ns,
            });
        }
    }
}

fn calls_of(slice: &CallSlice) -> usize {
    slice.threads.iter().map(|thread| thread.site.len()).sum()
}

fn site_of(
    known: &mut HashMap<SiteKey, u32>,
    sites: &mut Vec<CallSite>,
    call: &Call,
) -> Option<u32> {
    let (result, has_woken) = (step_of(call.result.into()), call.flags & HAS_WOKEN != 0);
    let key = (call.number, call.address, result, has_woken, call.next);
    if let Some(site) = known.get(&key) {
        return Some(*site);
    }
    if sites.len() == SITES {
        return None;
    }
    sites.push(CallSite {
        call: name_of_call(call.number.into()),
        address: call.address,
        result,
        has_woken,
        next: name_of_call(call.next.into()),
    });
    let site = sites.len() as u32 - 1;
    known.insert(key, site);
    Some(site)
}

/// Returns the lower end of the step to which a result is rounded.
fn step_of(result: i64) -> i64 {
    let size = result.abs();
    if size <= EXACT {
        return result;
    }
    let doubling = 1 << size.ilog2();
    let step = doubling / STEPS;
    result.signum() * (doubling + (size - doubling) / step * step)
}

fn name_of_thread(root: &Root, process: u32, thread: u32) -> Option<String> {
    let name = root.read(&format!("/proc/{process}/task/{thread}/comm"));
    Some(name.ok()?.trim_end_matches('\n').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_have_eight_steps_in_a_doubling() {
        let results = [0, 64, -11, 65, 72, 127, 128, 1_000, -1_000];
        let expected = [0, 64, -11, 64, 72, 120, 128, 960, -960];
        assert_eq!(results.map(step_of), expected);
    }

    fn slice(kept: &mut Kept, began: u64, calls: usize) -> bool {
        let root = Root::new("/nowhere");
        kept.begin(Nanos(began), SLICE);
        for at in 0..calls as u64 {
            kept.add(
                &root,
                &Call {
                    at: began + at * 1_500,
                    thread: 8,
                    process: 7,
                    in_user_ns: 400,
                    waits: u8::from(at == 1),
                    call_others_ns: 90,
                    ..Call::default()
                },
            );
        }
        kept.end(Nanos(began + 1_000_000))
    }

    #[test]
    fn what_is_kept_of_a_slice_is_each_call_of_each_thread() {
        let mut kept = Kept::default();
        // The process has ended when its calls are read.
        kept.names.insert(7, "server".to_owned());
        assert!(!slice(&mut kept, 5_000, 3));
        let calls = kept.into_calls(2);
        let thread = &calls.slices[0].threads[0];
        assert_eq!((calls.traced, calls.lost, thread.process), (3, 2, 7));
        assert_eq!([&*thread.name, &thread.process_name], ["server"; 2]);
        assert_eq!(thread.after_us, [0, 1, 2], "1.5 us each");
        assert_eq!(thread.user_ns, [400; 3]);
        let waited = OffCpu {
            at: 1,
            is_in_call: true,
            has_waited: true,
            others_ns: 90,
        };
        assert_eq!(thread.off, [waited]);
    }

    #[test]
    fn slices_that_are_more_than_there_is_room_for_become_half_as_many() {
        let mut kept = Kept::default();
        let are_too_many: Vec<bool> = (0..4)
            .map(|at| slice(&mut kept, at * 2_000_000, SLICE))
            .collect();
        assert_eq!(are_too_many, [false, false, false, true]);
        let began: Vec<u64> = kept
            .calls
            .slices
            .iter()
            .map(|slice| slice.began_ns.0)
            .collect();
        assert_eq!(began, [0, 4_000_000]);
    }
}
