use std::collections::BTreeMap;

use switchcost_units::Nanos;

use super::histogram::cancel;
use crate::observation::{Cause, CpuTime, Lost, Observation, Pair, Tasks, Waits};

impl Observation {
    /// Returns the difference between this observation and an earlier state of the same
    /// observation. Memory sizes, tasks that were not observed, throttled groups, moments and
    /// stacks are the present ones, not differences.
    pub fn since(&self, earlier: &Observation) -> Observation {
        let mut since = self.clone();
        since.window_ns = less(self.window_ns, earlier.window_ns);
        subtract_tasks(&mut since.tasks, &self.tasks, &earlier.tasks);
        // The CPU time of a task that did not switch is part of the sum over all tasks.
        since
            .tasks
            .retain(|tasks| tasks.switches() > 0 || tasks.run_ns > Nanos(0));
        for before in &earlier.pairs {
            let same =
                |pair: &&mut Pair| pair.process == before.process && pair.other == before.other;
            if let Some(pair) = since.pairs.iter_mut().find(same) {
                pair.ran_ns = less(pair.ran_ns, before.ran_ns);
                pair.runs = pair.runs.saturating_sub(before.runs);
                pair.preempted = pair.preempted.saturating_sub(before.preempted);
                pair.woke = pair.woke.saturating_sub(before.woke);
                pair.kept_waiting_ns = less(pair.kept_waiting_ns, before.kept_waiting_ns);
                pair.kept_waiting = pair.kept_waiting.saturating_sub(before.kept_waiting);
            }
        }
        since
            .pairs
            .retain(|pair| pair.runs + pair.preempted + pair.woke + pair.kept_waiting > 0);
        for before in &earlier.waits {
            if let Some(waits) = since
                .waits
                .iter_mut()
                .find(|waits| waits.process == before.process)
            {
                subtract_waits(waits, before);
            }
        }
        since.waits.retain(|waits| waits.sum() > Nanos(0));
        since
            .longest_waits
            .retain(|wait| wait.since_ns >= earlier.window_ns);
        for before in &earlier.cpus {
            if let Some(cpu) = since
                .cpus
                .iter_mut()
                .find(|cpu: &&mut CpuTime| cpu.cpu == before.cpu)
            {
                *cpu = cpu.since(before);
            }
        }
        if let Some((inside, mut before)) = since
            .in_scheduler
            .as_mut()
            .zip(earlier.in_scheduler.clone())
        {
            inside.ns = less(inside.ns, before.ns);
            inside.times.subtract(&mut before.times);
        }
        if let Some((calls, before)) = since.calls.as_mut().zip(earlier.calls.as_ref()) {
            calls.traced = calls.traced.saturating_sub(before.traced);
            calls.lost = calls.lost.saturating_sub(before.lost);
        }
        since.lost = self.lost.since(&earlier.lost);
        if let Some((own, before)) = since.own_cost.as_mut().zip(earlier.own_cost.as_ref()) {
            own.user_ns = less(own.user_ns, before.user_ns);
        }
        since
    }
}

impl Lost {
    /// Returns what was lost since an earlier state. A task that was not observed then is still
    /// not observed, so these tasks are not subtracted.
    fn since(&self, earlier: &Lost) -> Lost {
        Lost {
            tasks: self.tasks,
            causes: self.causes.saturating_sub(earlier.causes),
            pairs: self.pairs.saturating_sub(earlier.pairs),
            events: self.events.saturating_sub(earlier.events),
            records: self.records.saturating_sub(earlier.records),
            unfollowed: self.unfollowed.saturating_sub(earlier.unfollowed),
        }
    }
}

impl CpuTime {
    /// Returns the difference between this state of the CPU and an earlier state.
    pub fn since(&self, earlier: &CpuTime) -> CpuTime {
        CpuTime {
            cpu: self.cpu,
            switches: self.switches.saturating_sub(earlier.switches),
            busy_ns: less(self.busy_ns, earlier.busy_ns),
            idle_ns: less(self.idle_ns, earlier.idle_ns),
        }
    }
}

fn less(a: Nanos, b: Nanos) -> Nanos {
    Nanos(a.0.saturating_sub(b.0))
}

fn subtract_waits(waits: &mut Waits, before: &Waits) {
    waits.nobody_ns = less(waits.nobody_ns, before.nobody_ns);
    waits.throttled_ns = less(waits.throttled_ns, before.throttled_ns);
    waits.moved_ns = less(waits.moved_ns, before.moved_ns);
    waits.others_ns = less(waits.others_ns, before.others_ns);
}

/// Subtracts earlier counts from `since`, which has the same entries as `now`. If tasks have left
/// their entry, the rest is subtracted from where their counts are now: in the entry for ended
/// tasks of their name, or under a new name in another entry of their process.
fn subtract_tasks(since: &mut [Tasks], now: &[Tasks], earlier: &[Tasks]) {
    let mut places: BTreeMap<Place<'_>, Vec<usize>> = BTreeMap::new();
    for (at, tasks) in now.iter().enumerate() {
        places
            .entry(place(tasks.process, tasks))
            .or_default()
            .push(at);
        if tasks.process.is_some() {
            places.entry((tasks.process, None)).or_default().push(at);
        }
    }
    let mut rests = earlier.to_vec();
    let steps: [fn(&Tasks) -> Place<'_>; 3] = [
        |before| place(before.process, before),
        |before| place(None, before),
        |before| (before.process, None),
    ];
    for step in steps {
        for (before, rest) in earlier.iter().zip(&mut rests) {
            // An unfinished wait is counted under its length so far, so single counts may fall
            // although all tasks are still in their entry.
            let have_left = rest.count > 0 || rest.switches() > 0 || rest.run_ns > Nanos(0);
            for &at in places.get(&step(before)).into_iter().flatten() {
                if have_left {
                    subtract(&mut since[at], rest);
                }
            }
        }
    }
}

/// A process, and the names of one of its entries; `None` for any of its entries.
type Place<'a> = (Option<u32>, Option<(&'a str, &'a str, bool)>);

fn place(process: Option<u32>, tasks: &Tasks) -> Place<'_> {
    let names = (tasks.process_name(), tasks.name.as_str(), tasks.is_kernel);
    (process, Some(names))
}

/// Subtracts as much of `rest` as `tasks` has, also from `rest`. The number of tasks is subtracted
/// from `rest` alone.
fn subtract(tasks: &mut Tasks, rest: &mut Tasks) {
    rest.count = rest.count.saturating_sub(tasks.count);
    let counts = [
        (&mut tasks.voluntary, &mut rest.voluntary),
        (&mut tasks.involuntary, &mut rest.involuntary),
        (&mut tasks.run_ns.0, &mut rest.run_ns.0),
        (&mut tasks.off_ns.0, &mut rest.off_ns.0),
        (&mut tasks.wait_ns.0, &mut rest.wait_ns.0),
        (&mut tasks.others_ns.0, &mut rest.others_ns.0),
        (&mut tasks.off_at_end, &mut rest.off_at_end),
    ];
    let moved = tasks.moved.iter_mut().zip(&mut rest.moved);
    counts.into_iter().chain(moved).for_each(cancel);
    for rest in &mut rest.causes {
        let same = |cause: &&mut Cause| cause.why == rest.why && cause.entry == rest.entry;
        if let Some(cause) = tasks.causes.iter_mut().find(same) {
            cancel((&mut cause.switches, &mut rest.switches));
            cancel((&mut cause.off_ns.0, &mut rest.off_ns.0));
            cancel((&mut cause.wait_ns.0, &mut rest.wait_ns.0));
        }
    }
    tasks.causes.retain(|cause| cause.switches > 0);
    if let Some((counted, rest)) = tasks.counted.as_mut().zip(rest.counted.as_mut()) {
        counted.subtract(rest);
    }
    tasks.off.subtract(&mut rest.off);
    tasks.wait.subtract(&mut rest.wait);
    tasks.others.subtract(&mut rest.others);
    tasks.turns.subtract(&mut rest.turns);
}

#[cfg(test)]
mod tests {
    use super::super::file::tests::sample;
    use super::*;

    #[test]
    fn since_itself_nothing_happened_and_since_nothing_all_did() {
        let all = sample();
        let nothing = all.since(&all);
        assert_eq!(
            (nothing.window_ns, nothing.tasks.len(), nothing.pairs.len()),
            (Nanos(0), 0, 0)
        );
        let before = Observation {
            window_ns: Nanos(0),
            tasks: Vec::new(),
            pairs: Vec::new(),
            cpus: Vec::new(),
            ..all.clone()
        };
        assert_eq!(all.since(&before).tasks, all.tasks);
    }

    #[test]
    fn losses_are_those_since_then_but_tasks_stay_unobserved() {
        let lost = |tasks, others| Lost {
            tasks,
            causes: others,
            pairs: others,
            events: others,
            records: others,
            unfollowed: others,
        };
        let with = |lost| Observation { lost, ..sample() };
        let since = with(lost(5, 70)).since(&with(lost(3, 50)));
        assert_eq!(since.lost, lost(5, 20));
    }

    #[test]
    fn what_ended_meanwhile_is_taken_from_those_that_ended() {
        let mut now = sample();
        now.tasks.truncate(1);
        let mut before = now.clone();
        now.tasks[0].process = None;
        now.tasks[0].voluntary = 100;
        before.tasks[0].process = Some(7);
        before.tasks[0].voluntary = 60;
        before.tasks[0].involuntary = now.tasks[0].involuntary;
        let since = now.since(&before);
        assert_eq!(
            (since.tasks[0].voluntary, since.tasks[0].involuntary),
            (40, 0)
        );
    }

    /// Creates threads of process 7 that made this many switches together.
    fn threads(process: Option<u32>, name: &str, count: u64, switches: u64) -> Tasks {
        Tasks {
            count,
            voluntary: switches,
            run_ns: Nanos(switches * 1_000),
            ..Tasks::empty(process, name.to_owned())
        }
    }

    fn with(tasks: Vec<Tasks>) -> Observation {
        Observation { tasks, ..sample() }
    }

    #[test]
    fn cpu_time_without_a_switch_is_counted() {
        let busy = |run| Tasks {
            run_ns: Nanos(run),
            ..threads(Some(7), "loop", 1, 5)
        };
        let since = with(vec![busy(3_000)]).since(&with(vec![busy(1_000)]));
        let counted: Vec<_> = since
            .tasks
            .iter()
            .map(|tasks| (tasks.switches(), tasks.run_ns))
            .collect();
        assert_eq!(counted, [(0, Nanos(2_000))]);
    }

    #[test]
    fn earlier_switches_of_a_thread_that_ended_or_was_renamed_are_not_counted_again() {
        // Of two workers with 1,000 and 500 switches, one ends; each makes 10 more.
        let before = with(vec![threads(Some(7), "worker", 2, 1_500)]);
        for left in [
            threads(None, "worker", 1, 1_010),
            threads(Some(7), "idle", 1, 1_010),
        ] {
            let since = with(vec![threads(Some(7), "worker", 1, 510), left]).since(&before);
            let all: u64 = since.tasks.iter().map(Tasks::switches).sum();
            let run: u64 = since.tasks.iter().map(|tasks| tasks.run_ns.0).sum();
            assert_eq!((all, run), (20, 20_000), "{:?}", since.tasks);
        }
    }
}
