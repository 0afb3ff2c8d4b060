use switchcost_units::Nanos;

use crate::observation::{Cause, CpuTime, Histogram, Observation, Pair, Tasks, Waits};

impl Observation {
    /// Returns the difference between this observation and an earlier state of the same
    /// observation. Memory sizes, losses, throttled groups, moments and stacks are the present
    /// ones, not differences.
    pub fn since(&self, earlier: &Observation) -> Observation {
        let mut since = self.clone();
        since.window_ns = less(self.window_ns, earlier.window_ns);
        for before in &earlier.tasks {
            let is_named = |tasks: &Tasks| {
                tasks.name == before.name && tasks.process_name == before.process_name
            };
            let same = |tasks: &Tasks| tasks.process == before.process && is_named(tasks);
            // Counts of a process that has ended in the meantime are now part of the entry for
            // ended processes of its name.
            let ended = |tasks: &Tasks| tasks.process.is_none() && is_named(tasks);
            let at = since
                .tasks
                .iter()
                .position(same)
                .or_else(|| since.tasks.iter().position(ended));
            if let Some(at) = at {
                subtract(&mut since.tasks[at], before);
            }
        }
        since.tasks.retain(|tasks| tasks.switches() > 0);
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
        if let Some((inside, before)) = since
            .in_scheduler
            .as_mut()
            .zip(earlier.in_scheduler.as_ref())
        {
            inside.ns = less(inside.ns, before.ns);
            inside.times.subtract(&before.times);
        }
        if let Some((calls, before)) = since.calls.as_mut().zip(earlier.calls.as_ref()) {
            calls.traced = calls.traced.saturating_sub(before.traced);
            calls.lost = calls.lost.saturating_sub(before.lost);
        }
        if let Some((own, before)) = since.own_cost.as_mut().zip(earlier.own_cost.as_ref()) {
            own.user_ns = less(own.user_ns, before.user_ns);
        }
        since
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

fn subtract(tasks: &mut Tasks, before: &Tasks) {
    tasks.voluntary = tasks.voluntary.saturating_sub(before.voluntary);
    tasks.involuntary = tasks.involuntary.saturating_sub(before.involuntary);
    tasks.run_ns = less(tasks.run_ns, before.run_ns);
    tasks.off_ns = less(tasks.off_ns, before.off_ns);
    tasks.wait_ns = less(tasks.wait_ns, before.wait_ns);
    tasks.others_ns = less(tasks.others_ns, before.others_ns);
    for (moved, before) in tasks.moved.iter_mut().zip(before.moved) {
        *moved = moved.saturating_sub(before);
    }
    for before in &before.causes {
        let same = |cause: &&mut Cause| cause.why == before.why && cause.entry == before.entry;
        if let Some(cause) = tasks.causes.iter_mut().find(same) {
            cause.switches = cause.switches.saturating_sub(before.switches);
            cause.off_ns = less(cause.off_ns, before.off_ns);
            cause.wait_ns = less(cause.wait_ns, before.wait_ns);
        }
    }
    tasks.causes.retain(|cause| cause.switches > 0);
    if let Some((counted, before)) = tasks.counted.as_mut().zip(before.counted.as_ref()) {
        counted.subtract(before);
    }
    let histograms = [
        (&mut tasks.off, &before.off),
        (&mut tasks.wait, &before.wait),
        (&mut tasks.others, &before.others),
        (&mut tasks.turns, &before.turns),
    ];
    histograms
        .into_iter()
        .for_each(|(histogram, before): (&mut Histogram, &Histogram)| histogram.subtract(before));
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
}
