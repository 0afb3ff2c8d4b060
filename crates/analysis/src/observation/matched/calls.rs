//! Traced system calls of a program, thread by thread.

use std::collections::BTreeSet;

use switchcost_record::observation::{CallSite, ThreadCalls, TracedCalls};

/// One traced system call, with the user code after it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) site: u32,
    /// Number of the thread, unique over all traced slices.
    pub(super) thread: u32,
    /// Number of the thread's name, equal for threads of one name.
    pub(super) role: u32,
    pub(super) slice: u32,
    /// Entry of the call in microseconds since calls began to be traced in this slice of the
    /// observation.
    pub(super) at_us: u64,
    pub(super) call_ns: u32,
    pub(super) user_ns: u32,
    pub(super) in_call: Away,
    pub(super) in_user: Away,
    /// Number of calls of the thread since its last switch; 0 right after a switch in user code,
    /// and for the thread's first call.
    pub(super) since: u32,
}

/// Whether a thread left the CPU in a call or in the code after it; if so, the time for which other
/// tasks ran, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Away {
    #[default]
    Never,
    Waited(u32),
    Preempted(u32),
}

impl Away {
    pub(super) fn is_any(self) -> bool {
        self != Away::Never
    }
}

pub(super) struct Calls<'a> {
    sites: &'a [CallSite],
    all: Vec<Call>,
    /// For each site, whether a call there ever waited.
    can_block: Vec<bool>,
}

impl<'a> Calls<'a> {
    /// Collects the calls of the threads for which `is_in` is true.
    pub(super) fn new(traced: &'a TracedCalls, is_in: impl Fn(&ThreadCalls) -> bool) -> Calls<'a> {
        let mut all = Vec::new();
        let (mut roles, mut threads) = (Vec::<&str>::new(), 0);
        for (slice, thread) in traced
            .slices
            .iter()
            .enumerate()
            .flat_map(|(at, slice)| slice.threads.iter().map(move |thread| (at, thread)))
            .filter(|(_, thread)| is_in(thread))
        {
            let role = roles.iter().position(|role| *role == thread.name);
            let role = role.unwrap_or_else(|| {
                roles.push(&thread.name);
                roles.len() - 1
            });
            add(&mut all, thread, slice as u32, threads, role as u32);
            threads += 1;
        }
        let can_block = can_block(&traced.sites, &all);
        Calls {
            sites: &traced.sites,
            all,
            can_block,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn get(&self, at: usize) -> &Call {
        &self.all[at]
    }

    /// Returns the name of the system call with index `at`.
    pub(super) fn name(&self, at: usize) -> &'a str {
        &self.sites[self.all[at].site as usize].call
    }

    /// Returns the time for which other tasks ran while the thread waited in the call, in
    /// nanoseconds; `None` if the thread did not wait.
    pub(super) fn waited(&self, at: usize) -> Option<u32> {
        match self.all[at].in_call {
            Away::Waited(others) => Some(others),
            Away::Never | Away::Preempted(_) => None,
        }
    }

    /// Whether any call from the same place in the code as call `at` waited.
    pub(super) fn can_block(&self, at: usize) -> bool {
        self.can_block[self.all[at].site as usize]
    }

    pub(super) fn waits(&self) -> usize {
        (0..self.len())
            .filter(|&at| self.waited(at).is_some())
            .count()
    }

    pub(super) fn preemptions(&self) -> usize {
        let is_preempted = |away: Away| matches!(away, Away::Preempted(_));
        let count = |call: &Call| {
            usize::from(is_preempted(call.in_call)) + usize::from(is_preempted(call.in_user))
        };
        self.all.iter().map(count).sum()
    }

    /// Returns the index of the thread's previous call; `None` for its first.
    pub(super) fn preceding(&self, at: usize) -> Option<usize> {
        let before = at.checked_sub(1)?;
        (self.all[before].thread == self.all[at].thread).then_some(before)
    }

    /// Returns the index of the thread's next call; `None` for its last.
    pub(super) fn following(&self, at: usize) -> Option<usize> {
        let next = self.all.get(at + 1)?;
        (next.thread == self.all[at].thread).then_some(at + 1)
    }
}

fn add(all: &mut Vec<Call>, thread: &ThreadCalls, slice: u32, number: u32, role: u32) {
    let first = all.len();
    let mut at_us = 0;
    for at in 0..thread.site.len() {
        at_us += u64::from(thread.after_us[at]);
        all.push(Call {
            site: thread.site[at],
            thread: number,
            role,
            slice,
            at_us,
            call_ns: thread.call_ns[at],
            user_ns: thread.user_ns[at],
            in_call: Away::Never,
            in_user: Away::Never,
            since: 0,
        });
    }
    for off in &thread.off {
        let call = &mut all[first + off.at as usize];
        let away = if off.has_waited {
            Away::Waited(off.others_ns)
        } else {
            Away::Preempted(off.others_ns)
        };
        if off.is_in_call {
            call.in_call = away;
        } else {
            call.in_user = away;
        }
    }
    let mut since = 0;
    for call in &mut all[first..] {
        call.since = since;
        since = if call.in_user.is_any() {
            0
        } else if call.in_call.is_any() {
            1
        } else {
            since + 1
        };
    }
}

/// Returns, for each site, whether a call there waited. Sites with the same system call and address
/// are one place, whatever the result and the next call.
fn can_block(sites: &[CallSite], all: &[Call]) -> Vec<bool> {
    let blocked = |call: &&Call| matches!(call.in_call, Away::Waited(_));
    let place = |site: &'_ CallSite| (site.call.clone(), site.address);
    let places: BTreeSet<(String, u32)> = all
        .iter()
        .filter(blocked)
        .map(|call| place(&sites[call.site as usize]))
        .collect();
    sites
        .iter()
        .map(|site| places.contains(&place(site)))
        .collect()
}
