use std::collections::BTreeSet;

use itertools::Itertools;
use switchcost_analysis::observation::Findings;
use switchcost_record::observation::{
    CountedTurns, Observation, SampledStacks, Source, Subject, Throttled,
};

use super::{answer, caches, figures, neighbours};
use crate::Page;
use crate::listing::first_few;
use crate::measure::counters;
use crate::plain::plain;
use crate::quantity::{count, number, share, time};

/// What is lost as a share of all tasks or switches, above which a screen reports the loss.
const RARE: f64 = 0.001;

/// Least share of the waits for a CPU that is reported for `switchcost` itself.
const LEAST_OWN: f64 = 0.01;

/// Adds notes on the observation, the most important first.
pub(super) fn add(page: &mut Page, observation: &Observation, findings: &Findings) {
    let is_all = page.is_detailed();
    let mut notes: Vec<String> = unfinished(observation).into_iter().collect();
    let how = match observation.source {
        Source::Bpf => None,
        Source::BpfCounts => Some("times off the CPU and competitors"),
        Source::Perf | Source::Proc => Some("causes and competitors"),
    };
    let reasons = observation.not_counted_by.join("; and ");
    notes.extend(how.map(|how| format!("The {how} are unknown: {reasons}.")));
    notes.extend(between_looks(observation).map(str::to_owned));
    let lost = &observation.lost;
    let by_looks = if observation.source == Source::Proc {
        ", or no time to see them"
    } else {
        ""
    };
    let tasks = format!("tasks{by_looks}: they are not in the tables");
    let missing = [
        (lost.tasks, findings.all.tasks, tasks.as_str()),
        (
            lost.causes,
            findings.all.switches,
            "causes of switches: their place is given as \"elsewhere\"",
        ),
        (
            lost.pairs,
            findings.all.switches,
            "events of competitors: they are not in the tables",
        ),
        (
            lost.events,
            findings.all.switches,
            "events: they are not in the trace",
        ),
        (
            lost.records,
            findings.all.switches,
            "of the kernel's records: switches and CPU time are lower bounds from its counters; times off the CPU are missing",
        ),
    ];
    for (number, all, of) in missing {
        if number as f64 > RARE * all as f64 || is_all && number > 0 {
            notes.push(format!("There was no room for {} {of}.", count(number)));
        }
    }
    notes.extend(unfollowed(observation));
    notes.extend(observation.throttled.iter().filter_map(joined));
    notes.extend(neighbours::longest(observation));
    notes.extend(interrupts_note(findings));
    notes.push(calibration_note(observation));
    notes.extend(speculation_note(observation));
    if is_all {
        notes.extend(findings.counted.as_ref().and_then(counted_note));
        let reasons = counters::reasons(&observation.counter_tests).into_iter();
        notes.extend(reasons.map(|reason| format!("At switches: {reason}.")));
    }
    notes.extend(findings.in_scheduler_ns.map(|ns| {
        format!(
            "The scheduler took a mean of {} per switch, from its entry to its exit (part of the direct cost).",
            time(ns)
        )
    }));
    notes.extend(observation.stacks.as_ref().map(describe_stacks));
    if is_all {
        notes.extend(caches::notes(observation));
        notes.extend(describe_kernel(observation));
    }
    if let Some(own) = findings.own_share {
        let each = findings
            .own_ns_a_switch
            .filter(|_| is_all)
            .map_or(String::new(), |ns| {
                format!(
                    ": {} in the kernel for each switch on any CPU, and the observer's own CPU time",
                    time(ns)
                )
            });
        notes.push(format!(
            "Observing took {} of one CPU, which is not part of the costs{each}{}.",
            share(own),
            own_waits(findings)
        ));
    }
    notes.extend(findings.calls_share.map(|part| {
        let lost = match findings.calls_lost {
            None | Some(0) => String::new(),
            Some(lost) => format!("; {} calls were lost", count(lost)),
        };
        format!(
            "Tracing system calls took an estimated {} of the CPU time of the observed tasks{lost}.",
            share(part)
        )
    }));
    notes.extend(figures::undrawn_note(observation, findings).filter(|_| page.has_figures()));
    page.gap();
    page.items(notes);
}

/// Returns a clause on the waits for a CPU during which `switchcost` ran; empty if they are few.
fn own_waits(findings: &Findings) -> String {
    let part = findings.share_of_waits("switchcost");
    if part < LEAST_OWN {
        return String::new();
    }
    format!(
        "; switchcost ran during {} of the waits for a CPU",
        share(part)
    )
}

/// Returns a sentence on tasks missed because they lived between two readings; `None` if the source
/// misses no task.
fn between_looks(observation: &Observation) -> Option<&'static str> {
    match (observation.source, &observation.subject) {
        (Source::Proc, _) => Some(
            "Tasks that existed only between two readings (50 per second) are missing, as is the activity of others after their \
             last reading.",
        ),
        (Source::Perf, Subject::ControlGroup(_)) => Some(
            "Processes that joined the group and ended between two readings (10 per second) are missing.",
        ),
        _ => None,
    }
}

/// Returns a sentence on the hardware counters per time slice; `None` if nothing was counted.
fn counted_note(counted: &CountedTurns) -> Option<String> {
    let turns = counted.instructions.count() as f64;
    let events = counted.events.iter();
    let each = events
        .map(|(name, count)| format!("{} {name}", number(*count as f64 / turns)))
        .join(", ");
    Some(format!(
        "The CPU counted {each} per time slice ({} instructions per nanosecond), kernel code included.",
        number(counted.instructions_per_ns()?)
    ))
}

fn calibration_note(observation: &Observation) -> String {
    match &observation.calibration {
        Some(calibration) => {
            let measured_at = calibration
                .measured_at
                .get(..16)
                .unwrap_or(&calibration.measured_at);
            format!(
                "The cost of a single switch was measured on {} UTC.",
                measured_at.replace('T', " at ")
            )
        }
        None => "After `switchcost measure`, later observations also have costs.".to_owned(),
    }
}

/// Returns a note on programs with speculation controls, whose switches cost more than the
/// calibration's; `None` if there are none.
fn speculation_note(observation: &Observation) -> Option<String> {
    let names: BTreeSet<&str> = observation
        .tasks
        .iter()
        .filter(|tasks| tasks.restricts_speculation)
        .map(|tasks| tasks.name.as_str())
        .collect();
    let names: Vec<_> = names.into_iter().map(plain).collect();
    (!names.is_empty()).then(|| {
        format!(
            "Speculation is restricted for {} (prctl or seccomp; see Speculation in /proc/PID/status): the kernel changes the \
             processor's mode at each switch, which is not in the costs.",
            first_few(&names, 3, ", ")
        )
    })
}

fn describe_stacks(stacks: &SampledStacks) -> String {
    let lost = match stacks.lost_switches {
        0 => String::new(),
        lost => format!("; there was no room for those of {}", count(lost)),
    };
    format!(
        "Stacks were sampled at {} random switches (--stacks {}){lost}; --folded and --pprof write them.",
        count(stacks.samples()),
        stacks.per_second
    )
}

/// Returns a note on an observer that was killed before its end; `None` if it was not.
fn unfinished(observation: &Observation) -> Option<String> {
    let note = "The observer was killed: the last few seconds are missing.";
    observation.is_unfinished.then(|| note.to_owned())
}

/// Returns a note on switches that only the kernel's own counters show; `None` if there are none.
fn unfollowed(observation: &Observation) -> Option<String> {
    let switches = observation.lost.unfollowed;
    let of_lost = if observation.lost.records > 0 {
        "there was no room for their records, or "
    } else {
        ""
    };
    (switches > 0).then(|| {
        format!(
            "{} switches are known by the kernel's counters alone: {of_lost}a task gained rights, or ran on a CPU that came online \
             later. The children of such a task are not counted.",
            count(switches)
        )
    })
}

/// Returns a note on a control group whose quota applied only from a moment after the start; `None`
/// for other groups.
fn joined(group: &Throttled) -> Option<String> {
    let after = group.joined_after_ns?;
    Some(format!(
        "The CPU quota of {} applied from {} on.",
        answer::name(&group.group),
        time(after.0 as f64)
    ))
}

/// Share of interrupts in the direct cost, above which a note is given.
const FEW: f64 = 0.1;

/// Returns a note on the share of interrupts in the direct cost; `None` if the share is small.
fn interrupts_note(findings: &Findings) -> Option<String> {
    let (direct, interrupts) = (
        findings.all.direct_ns?.likely?,
        findings.all.interrupts_ns?.likely?,
    );
    (interrupts > FEW * direct).then(|| {
        let part = share(interrupts / direct);
        format!("{part} of the direct cost is for timer interrupts that led to preemptions.")
    })
}

/// Returns sentences on preemption inside the kernel, and on other features of the kernel's
/// scheduler.
fn describe_kernel(observation: &Observation) -> Vec<String> {
    let host = &observation.host;
    let mut notes = Vec::new();
    let models = host
        .scheduler
        .as_ref()
        .and_then(|scheduler| scheduler.preemption_models.known());
    let of = models.map_or(String::new(), |models| {
        format!(", of {}", models.join(", "))
    });
    notes.extend(
        host.preemption
            .known()
            .map(|model| format!("Preemption of the kernel: {model}{of}.")),
    );
    let Some(scheduler) = &host.scheduler else {
        return notes;
    };
    let counted = observation
        .slice_extensions
        .map_or(String::new(), |slices| {
            format!(
                ": {} granted on this machine, {} returned in time",
                count(slices.granted),
                count(slices.yielded)
            )
        });
    let extends = scheduler
        .slice_extension
        .known()
        .filter(|extends| **extends);
    notes.extend(
        extends.map(|_| {
            format!("The kernel extends time slices in critical sections (rseq){counted}.")
        }),
    );
    let is_aware = scheduler
        .is_cache_aware
        .known()
        .filter(|is_aware| **is_aware);
    notes.extend(is_aware.map(|_| {
        "The kernel keeps the tasks of a process on CPUs that share a cache (SCHED_CACHE)."
            .to_owned()
    }));
    notes
        .into_iter()
        .map(|note| plain(&note).into_owned())
        .collect()
}
