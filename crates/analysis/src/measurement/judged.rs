//! The windows of one case, judged clean or disturbed, and the batches that were run for counters
//! or for single hand-offs.

use switchcost_record::{
    Between, Case, Control, ControlOutcome, CountedHandoffs, CpuQuota, Cycles, Sample,
};
use switchcost_units::TickRate;

use crate::measurement::cleanliness::{pause, reasons_of_window, time_of_others};
use crate::measurement::findings::Excluded;

/// Largest share of disturbed windows. If more are disturbed, the clean ones are not trusted
/// either.
const LEFT_OUT_LIMIT: f64 = 1.0 / 3.0;

/// Largest share of the time that may go to other tasks. Interrupts take about a hundredth, and an
/// equal competitor takes half.
const FOREIGN_LIMIT: f64 = 0.1;

/// Least share of the time for other tasks that is reported. Smaller shares come from interrupts
/// and the kernel's own work.
const SHARE_REPORTED: f64 = 0.05;

/// Which remedies may be advised. A remedy that the user's command line or the case already
/// contains is not advised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Remedies {
    /// Whether real-time priority may be advised, because it was requested and refused.
    pub(crate) allows_real_time: bool,
    /// Whether another CPU may be advised, because tasks are pinned.
    pub(crate) names_cpu: bool,
}

impl Remedies {
    /// Returns the remedies that may be advised for a case under these controls.
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

    /// Returns the remedy against other load on the measured CPU.
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

    /// Returns `advice` if another CPU may be advised, else an empty text.
    pub(crate) fn advise_cpu(self, advice: &'static str) -> &'static str {
        if self.names_cpu { advice } else { "" }
    }
}

/// The windows and batches of one case, judged clean or disturbed.
#[derive(Clone, Debug)]
pub(crate) struct Judged<'a> {
    pub(crate) case: &'a Case,
    pub(crate) rate: TickRate,
    /// Batches that were run for counters or for single hand-offs.
    pub(crate) instrumented: Vec<&'a Sample>,
    /// Windows of the case that were not disturbed.
    pub(crate) windows: Vec<&'a Cycles>,
    /// All windows of the case, clean or disturbed.
    pub(crate) all_windows: Vec<&'a Cycles>,
    pub(crate) excluded: Excluded,
    /// CPU quota of the run's control group; `None` without a quota.
    pub(crate) quota: Option<&'a CpuQuota>,
    /// Remedies that may be advised to the user.
    pub(crate) remedies: Remedies,
}

impl<'a> Judged<'a> {
    /// Judges each window as a whole. Shorter disturbances are later judged by the probes of each
    /// round.
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

    /// Returns the CPU quota if it applies to the tasks of this case, which is so without real-time
    /// priority.
    pub(crate) fn binding_quota(&self) -> Option<&'a CpuQuota> {
        self.quota.filter(|_| !self.case.policy.is_real_time())
    }

    /// Whether the case has no window, clean or disturbed.
    pub(crate) fn is_empty(&self) -> bool {
        self.all_windows.is_empty()
    }

    /// Returns the number of disturbed windows as a share of all windows.
    pub(crate) fn excluded_share(&self) -> f64 {
        self.excluded.total as f64 / (self.excluded.of as f64).max(1.0)
    }

    /// Returns the share of the time in which other tasks ran, over all windows and batches; 0 if
    /// unknown.
    ///
    /// A load on the same CPU leaves time for short batches between its time slices. Each of these
    /// batches looks clean, but the load has changed caches and run queue. Time that other guests
    /// took is not counted in windows, because the trimmed mean excludes the rounds that were
    /// lengthened.
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

    /// Whether other tasks ran for more of the time than interrupts and kernel work explain.
    pub(crate) fn has_competitor(&self) -> bool {
        self.foreign_share() > FOREIGN_LIMIT
    }

    /// Whether other tasks ran for a reportable share of the time, in a case of ordinary tasks.
    pub(crate) fn is_beside_others(&self) -> bool {
        self.is_measured_beside_others() && self.foreign_share() > SHARE_REPORTED
    }

    /// Whether the case has windows of ordinary tasks. Their rounds are measured between the time
    /// slices of other tasks.
    fn is_measured_beside_others(&self) -> bool {
        !self.case.policy.is_real_time() && !self.all_windows.is_empty()
    }

    /// Whether the case was disturbed so much that its clean windows are not trusted either.
    pub(crate) fn is_too_disturbed(&self) -> bool {
        self.excluded_share() > LEFT_OUT_LIMIT
            || self.has_competitor() && !self.is_measured_beside_others()
    }

    /// Returns the number of switches per hand-off in the switching arms; `None` if unknown.
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

    /// Returns the number of kernel switches per hand-off over all windows, clean or disturbed;
    /// `None` if unknown.
    pub(crate) fn kernel_switches_per_handoff(&self) -> Option<f64> {
        kernel_switches_per_handoff(self.case, &self.all_windows)
    }

    /// Returns the number of involuntary switches as a share of the kernel's switches; `None` for
    /// user-level mechanisms, or without switches.
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

/// Returns the number of switches per hand-off. The number is the mechanism's own count for
/// user-level mechanisms (except language runtimes), and otherwise the kernel's count.
fn switches_per_handoff(case: &Case, windows: &[&Cycles]) -> Option<f64> {
    if case.between != Between::User || case.runtime.is_some() {
        return kernel_switches_per_handoff(case, windows);
    }
    per_handoff(windows, |window| window.user_switches as f64)
}

/// Returns the number of kernel switches per hand-off, from the tasks' own counts if all windows
/// have them. Otherwise, switches due to commands are subtracted if all tasks are on one CPU,
/// because there each command causes its planned switches. Across CPUs, a task may get a command
/// without having slept.
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

/// Returns the sum of the tasks' own counts over all windows; `None` if a window has none.
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
