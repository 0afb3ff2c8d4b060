//! Windows of one case, sorted into clean and left out, and batches that were run for counters or
//! single hand-offs.

use switchcost_record::{
    Between, Case, Control, ControlOutcome, CountedHandoffs, CpuQuota, Cycles, Sample,
};
use switchcost_units::TickRate;

use crate::measurement::cleanliness::{pause, reasons_of_window, time_of_others};
use crate::measurement::findings::Excluded;

/// Largest share of disturbed samples; beyond it, even clean-looking samples are not trusted.
const LEFT_OUT_LIMIT: f64 = 1.0 / 3.0;

/// Largest share of the time that other tasks may have: interrupts and the like take a hundredth,
/// an equal competitor a half.
const FOREIGN_LIMIT: f64 = 0.1;

/// Least reported share of other tasks: smaller ones come from interrupts and the kernel's own
/// work.
const SHARE_REPORTED: f64 = 0.05;

/// Advice that still applies to the user's command: advice that the command line or the case
/// already follows is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Remedies {
    /// Whether real-time priority may be advised: it was requested but refused.
    pub(crate) allows_real_time: bool,
    /// Whether a CPU may be advised: the CPU is not left to the scheduler.
    pub(crate) names_cpu: bool,
}

impl Remedies {
    /// Creates the advice for a case under these controls.
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

    /// Returns `advice` about the CPU if a CPU may be advised.
    pub(crate) fn advise_cpu(self, advice: &'static str) -> &'static str {
        if self.names_cpu { advice } else { "" }
    }
}

/// Windows of one case, sorted into clean and left out.
#[derive(Clone, Debug)]
pub(crate) struct Judged<'a> {
    pub(crate) case: &'a Case,
    pub(crate) rate: TickRate,
    /// Batches with counters or single hand-offs.
    pub(crate) instrumented: Vec<&'a Sample>,
    /// Windows of cycles that were not disturbed.
    pub(crate) windows: Vec<&'a Cycles>,
    /// All windows of cycles.
    pub(crate) all_windows: Vec<&'a Cycles>,
    pub(crate) excluded: Excluded,
    /// CPU quota of the run's control group.
    pub(crate) quota: Option<&'a CpuQuota>,
    /// Advice that the command line leaves open.
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
        Judged {
            case,
            rate,
            instrumented,
            windows,
            all_windows,
            excluded,
            quota: None,
            remedies: Remedies::default(),
        }
    }

    /// Returns the CPU quota if it limited the tasks of this case.
    pub(crate) fn binding_quota(&self) -> Option<&'a CpuQuota> {
        self.quota.filter(|_| !self.case.policy.is_real_time())
    }

    /// Whether no undisturbed window is left from which a cost could be estimated.
    pub(crate) fn is_empty(&self) -> bool {
        self.all_windows.is_empty()
    }

    /// Returns the share of the windows that were left out.
    pub(crate) fn excluded_share(&self) -> f64 {
        self.excluded.total as f64 / (self.excluded.of as f64).max(1.0)
    }

    /// Returns the share of the time of all samples, clean or not, that went to other tasks; 0 if
    /// not known.
    ///
    /// A load on the same CPU lets short batches pass between its time slices. Such batches look
    /// clean one by one, but find caches and run queue as the load left them. Time stolen by other
    /// machines does not count for cycles, because the trimmed mean leaves out the lengthened ones.
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

    /// Whether other tasks had more of the time than interrupts and the like take.
    pub(crate) fn has_competitor(&self) -> bool {
        self.foreign_share() > FOREIGN_LIMIT
    }

    /// Whether other tasks had a reportable share of the time, in a case of ordinary tasks.
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

    /// Returns the counted switches per hand-off in the switching arms.
    pub(crate) fn switches_per_handoff(&self) -> Option<f64> {
        switches_per_handoff(self.case, self.counted_windows())
    }

    /// Returns the clean windows, or all windows if none is clean.
    fn counted_windows(&self) -> &[&'a Cycles] {
        if self.windows.is_empty() {
            &self.all_windows
        } else {
            &self.windows
        }
    }

    /// Returns the kernel switches per hand-off over all windows, disturbed or not.
    pub(crate) fn kernel_switches_per_handoff(&self) -> Option<f64> {
        kernel_switches_per_handoff(self.case, &self.all_windows)
    }

    /// Returns the share of the kernel's switches in the switching arms that were involuntary.
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

/// Returns switches per hand-off: the kernel's count, or the mechanism's own if the kernel sees
/// none.
fn switches_per_handoff(case: &Case, windows: &[&Cycles]) -> Option<f64> {
    if case.between != Between::User || case.runtime.is_some() {
        return kernel_switches_per_handoff(case, windows);
    }
    per_handoff(windows, |window| window.user_switches as f64)
}

/// Returns the kernel switches per hand-off, by the tasks' own count if there is one. Otherwise the
/// switches of commands are subtracted: on one CPU every command takes its switches; across CPUs a
/// task may find a command without having slept.
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

/// Returns the total count of the tasks in all windows; `None` if a window has no count.
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
