//! Windows of one case, clean or left out, and batches that were run for another purpose.

use switchcost_record::{
    Between, Case, Control, ControlOutcome, CountedHandoffs, CpuQuota, Cycles, Sample,
};
use switchcost_units::TickRate;

use crate::measurement::cleanliness::{pause, reasons_of_window, time_of_others};
use crate::measurement::findings::Excluded;

/// Largest share of disturbed samples: beyond it even clean-looking samples are not trusted.
const LEFT_OUT_LIMIT: f64 = 1.0 / 3.0;

/// Largest share of foreign time: interrupts and the like take a hundredth, an equal competitor a half.
const FOREIGN_LIMIT: f64 = 0.1;

/// Least reported share: smaller ones come from interrupts and the kernel's own work.
const SHARE_REPORTED: f64 = 0.05;

/// Advice that still applies to the user's command: what the command line or the case excludes is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Remedies {
    /// Real-time priority was wanted and could not be had.
    pub(crate) allows_real_time: bool,
    /// The CPU is not left to the scheduler.
    pub(crate) names_cpu: bool,
}

impl Remedies {
    /// Advice for a case under these controls.
    pub(crate) fn new(case: &Case, controls: &[Control]) -> Remedies {
        let is_refused =
            |control: &Control| matches!(control.outcome, ControlOutcome::Refused { .. });
        let refused = controls
            .iter()
            .any(|control| control.name == "real-time-priority" && is_refused(control));
        Remedies {
            allows_real_time: refused && !case.policy.is_real_time(),
            names_cpu: !case.placement.cpus.is_empty(),
        }
    }

    /// Returns the remedy for another load on the measured CPU.
    pub(crate) fn against_load(self) -> String {
        let mut ways = vec!["stop the other load"];
        ways.extend(self.allows_real_time.then_some("allow real-time priority"));
        ways.extend(self.names_cpu.then_some("choose a quieter CPU with --cpu"));
        match ways.as_slice() {
            [one] => (*one).to_owned(),
            [one, other] => format!("{one}, or {other}"),
            [first, rest @ .., last] => format!("{first}, {}, or {last}", rest.join(", ")),
            [] => String::new(),
        }
    }

    /// A word of advice about the CPU, if that may be named.
    pub(crate) fn advise_cpu(self, advice: &'static str) -> &'static str {
        if self.names_cpu { advice } else { "" }
    }
}

/// Windows of one case, judged.
#[derive(Clone, Debug)]
pub(crate) struct Judged<'a> {
    pub(crate) case: &'a Case,
    pub(crate) rate: TickRate,
    /// Batches with counters or single hand-offs.
    pub(crate) instrumented: Vec<&'a Sample>,
    /// Windows of cycles that were not disturbed.
    pub(crate) windows: Vec<&'a Cycles>,
    /// All windows of cycles.
    all_windows: Vec<&'a Cycles>,
    pub(crate) excluded: Excluded,
    quota: Option<&'a CpuQuota>,
    pub(crate) remedies: Remedies,
}

impl<'a> Judged<'a> {
    /// Judges whole windows; shorter disturbances are judged by the probes of each cycle.
    pub(crate) fn new(
        case: &'a Case,
        rate: TickRate,
        instrumented: Vec<&'a Sample>,
        all_windows: Vec<&'a Cycles>,
    ) -> Self {
        let mut excluded = Excluded {
            of: all_windows.len(),
            ..Excluded::default()
        };
        let mut windows = Vec::with_capacity(all_windows.len());
        for window in &all_windows {
            let reasons = reasons_of_window(window, case);
            if reasons.is_empty() {
                windows.push(*window);
            } else {
                excluded.total += 1;
            }
            for reason in reasons {
                *excluded.by_reason.entry(reason).or_default() += 1;
            }
        }
        let remedies = Remedies::default();
        Judged {
            case,
            rate,
            instrumented,
            windows,
            all_windows,
            excluded,
            quota: None,
            remedies,
        }
    }

    /// Adds the advice that the command line leaves open.
    pub(crate) fn with(mut self, remedies: Remedies) -> Self {
        self.remedies = remedies;
        self
    }

    /// Adds the CPU quota of the run's control group.
    pub(crate) fn under(mut self, quota: Option<&'a CpuQuota>) -> Self {
        self.quota = quota;
        self
    }

    /// A quota that bound the tasks of this case.
    pub(crate) fn binding_quota(&self) -> Option<&'a CpuQuota> {
        self.quota.filter(|_| !self.case.policy.is_real_time())
    }

    /// Whether there is nothing to estimate from.
    pub(crate) fn is_empty(&self) -> bool {
        self.all_windows.is_empty()
    }

    /// Share of the windows that were left out.
    pub(crate) fn excluded_share(&self) -> f64 {
        self.excluded.total as f64 / (self.excluded.of as f64).max(1.0)
    }

    /// Share of the time of all samples, clean or not, that went to others; 0 if not known.
    ///
    /// A load on the same CPU lets short batches pass between its time slices: they look clean one by one, but find caches and run
    /// queue as the load left them. Time stolen by other machines does not count for cycles, because the trimmed mean leaves out the
    /// lengthened ones.
    pub(crate) fn foreign_share(&self) -> f64 {
        let of_samples = self.instrumented.iter().map(|sample| &sample.evidence);
        let of_windows = || self.all_windows.iter().map(|window| &window.evidence);
        let evidence: Vec<_> = of_samples.chain(of_windows()).collect();
        let foreign: f64 = evidence
            .iter()
            .filter_map(|seen| time_of_others(self.case, seen))
            .map(|n| n.0 as f64)
            .sum();
        let stolen: f64 = of_windows()
            .filter_map(|seen| seen.steal_ns)
            .map(|n| n.0 as f64)
            .sum();
        let wall: f64 = evidence
            .iter()
            .map(|seen| seen.wall_ns.saturating_sub(pause(self.case, seen)).0 as f64)
            .sum();
        if wall > 0.0 {
            (foreign - stolen).max(0.0) / wall
        } else {
            0.0
        }
    }

    /// Whether more of the time went to others than interrupts and the like take.
    pub(crate) fn has_competitor(&self) -> bool {
        self.foreign_share() > FOREIGN_LIMIT
    }

    /// Whether others had a reportable share, in a case of ordinary tasks.
    pub(crate) fn is_beside_others(&self) -> bool {
        self.is_measured_beside_others() && self.foreign_share() > SHARE_REPORTED
    }

    /// Whether the case has ordinary tasks, which are measured in cycles between the time slices of others.
    fn is_measured_beside_others(&self) -> bool {
        !self.case.policy.is_real_time() && !self.all_windows.is_empty()
    }

    /// Whether so much was disturbed that clean-looking samples are not trusted either.
    pub(crate) fn is_too_disturbed(&self) -> bool {
        self.excluded_share() > LEFT_OUT_LIMIT
            || self.has_competitor() && !self.is_measured_beside_others()
    }

    /// Counted switches a hand-off in the switching arms.
    pub(crate) fn switches_per_handoff(&self) -> Option<f64> {
        switches_per_handoff(self.case, self.counted_windows())
    }

    /// The clean windows, or all if there is none.
    fn counted_windows(&self) -> &[&'a Cycles] {
        if self.windows.is_empty() {
            &self.all_windows
        } else {
            &self.windows
        }
    }

    /// Kernel switches per hand-off over all windows, disturbed or not.
    pub(crate) fn kernel_switches_per_handoff(&self) -> Option<f64> {
        kernel_switches_per_handoff(self.case, &self.all_windows)
    }

    /// Share of the kernel's switches in the switching arms that were not the task's own choice.
    pub(crate) fn involuntary_share(&self) -> Option<f64> {
        if self.case.between == Between::User {
            return None;
        }
        let (mut involuntary, mut all) = (0.0, 0.0);
        for window in self.counted_windows() {
            let switches = window
                .counted
                .map_or(window.kernel_switches, |counted| counted.switches);
            involuntary += switches.involuntary as f64;
            all += switches.total() as f64;
        }
        (all > 0.0).then(|| involuntary / all)
    }
}

/// Switches over hand-offs: the kernel's count, or the mechanism's own if the kernel sees none.
fn switches_per_handoff(case: &Case, windows: &[&Cycles]) -> Option<f64> {
    if case.between != Between::User || case.runtime.is_some() {
        return kernel_switches_per_handoff(case, windows);
    }
    per_handoff(windows, |window| window.user_switches as f64)
}

/// Kernel switches per hand-off, by the tasks' own count if there is one. Otherwise the switches of commands are subtracted: on one CPU
/// every command takes its switches; across CPUs a task may find a command without having slept.
fn kernel_switches_per_handoff(case: &Case, windows: &[&Cycles]) -> Option<f64> {
    if let Some(counted) = counted(windows) {
        return Some(counted.switches.total() as f64 / counted.handoffs as f64);
    }
    let control = |window: &Cycles| {
        if case.placement.is_one_cpu() {
            window.control_switches as f64
        } else {
            0.0
        }
    };
    per_handoff(windows, |window| {
        window.kernel_switches.total() as f64 - control(window)
    })
}

/// Total count of the tasks in all windows; `None` if a window has no count.
fn counted(windows: &[&Cycles]) -> Option<CountedHandoffs> {
    let mut sum = CountedHandoffs::default();
    for window in windows {
        let counted = window.counted?;
        sum.handoffs = sum.handoffs.saturating_add(counted.handoffs);
        sum.switches += counted.switches;
    }
    (sum.handoffs > 0).then_some(sum)
}

fn per_handoff(windows: &[&Cycles], count: impl Fn(&Cycles) -> f64) -> Option<f64> {
    let counted: f64 = windows.iter().map(|window| count(window)).sum();
    let handoffs: f64 = windows
        .iter()
        .map(|window| window.switching_handoffs as f64)
        .sum();
    (handoffs > 0.0).then(|| counted / handoffs)
}
