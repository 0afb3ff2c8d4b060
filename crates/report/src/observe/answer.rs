use itertools::Itertools;
use switchcost_analysis::observation::{
    Advice, Change, Findings, NO_BOUND, NoAdvice, Range, UnknownBecause,
};
use switchcost_record::injection::LEAST_CPU;
use switchcost_record::observation::{Behind, KnownBy, KnownReload, Observation, Source, Subject};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::matched;
use crate::Page;
use crate::plain::plain;
use crate::quantity::{self, count, rounded, share, time};

/// Longest name in a sentence, in characters. Longer names are cut off, because the name of a
/// command has any length.
const LONGEST: usize = 40;

/// Ratio of the lower to the upper end of a range, up to which only the upper end is printed.
const LITTLE: f64 = 0.05;

/// Adds the answer: the cost and the number of switches, and the most helpful advice. If child
/// processes do the work, the answer tells how to observe them.
pub(super) fn add(page: &mut Page, observation: &Observation, findings: &Findings) {
    page.paragraph(answer(observation, findings));
    if let Some((text, command)) = busier_children(observation, findings) {
        page.paragraph(text);
        page.line(format!("  {command}"));
    }
}

fn answer(observation: &Observation, findings: &Findings) -> String {
    if findings.all.switches == 0 {
        return format!(
            "{} did not switch in {}, so switches cost nothing.",
            first_words(&observation.subject),
            seconds(findings.seconds)
        );
    }
    let mut text = wait_sentence(observation, findings);
    text += &cost(observation, findings);
    text += &format!(" {}", often(observation, findings));
    if let (Some(requests), Some(switches)) = (observation.requests, findings.switches_a_request) {
        let cost = request_sentence(observation, findings);
        text += &format!(
            " Each of {} requests took {} switches{cost}.",
            count(requests),
            rounded(switches)
        );
    }
    if observation.requests == Some(0) {
        text += " No request was counted during the observation, so their cost is unknown.";
    }
    if let Some(no_advice) = &findings.no_advice {
        text += &format!(" {}", missing_advice_sentence(no_advice));
    }
    // If the cost is negligible, the preceding sentence says so.
    let advice = findings
        .advice
        .iter()
        .filter(|advice| advice.change != Change::Nothing || !findings.all.is_negligible());
    for advice in advice.take(2) {
        text += &format!(" {}", advised(advice));
    }
    text
}

/// Returns a sentence on a long wait for CPUs, such as `gzip waited 5.66 s of 7.18 s for a CPU.
/// During 42 % of this wait, sh ran.`; empty if there was no long wait.
fn wait_sentence(observation: &Observation, findings: &Findings) -> String {
    let Some(long) = &findings.long_wait else {
        return String::new();
    };
    let (wait, window) = (time(long.wait_ns), seconds(findings.seconds));
    let who = first_words(&observation.subject);
    let much = match findings.all.tasks {
        1 => format!("{who} waited {wait} of {window} for a CPU"),
        tasks => format!(
            "In {window}, the {} tasks of {} waited a total of {wait} for a CPU",
            count(tasks),
            subject(&observation.subject)
        ),
    };
    let behind = long.behind.as_ref().map_or(String::new(), |behind| {
        let program = match &behind.program {
            Behind::Process(other) if behind.is_own => format!("the observed {}", name(other)),
            Behind::Process(other) => name(other),
            _ => "kernel threads".to_owned(),
        };
        format!(
            ". During {} of this wait, {program} ran",
            share(behind.share)
        )
    });
    format!("{much}{behind}. ")
}

/// Returns a clause on the cost of switches per request. If the cost of cold caches is unknown,
/// only the direct cost is given.
fn request_sentence(observation: &Observation, findings: &Findings) -> String {
    let both = findings.cost_a_request_ns;
    let both = both.filter(|_| findings.all.share.is_some_and(|share| share.is_bounded()));
    let requests = observation.requests.unwrap_or(0).max(1) as f64;
    let direct = findings.all.direct_ns.map(|direct| direct.over(requests));
    match (both, direct) {
        (Some(both), _) => format!(", {} of CPU time", times_words(both)),
        (None, Some(direct)) => format!(", {} of CPU time directly", times_words(direct)),
        (None, None) => String::new(),
    }
}

/// Returns a sentence on children, started before the observation, that switch more often than the
/// observed processes, and the command to observe them; `None` if there are none.
fn busier_children(observation: &Observation, findings: &Findings) -> Option<(String, String)> {
    let older = observation
        .older_children
        .as_ref()
        .filter(|older| older.switches > findings.all.switches)?;
    let Subject::Processes(observed) = &observation.subject else {
        return None;
    };
    let (children, are, them) = if older.processes == 1 {
        ("child", "is", "it")
    } else {
        ("children", "are", "them")
    };
    let text = format!(
        "{} existing {children} of {} switched more often ({} times) but {are} not included. Include {them}:",
        count(older.processes),
        subject(&observation.subject),
        count(older.switches)
    );
    let list = |numbers: &[u32]| numbers.iter().map(u32::to_string).join(",");
    Some((
        text,
        format!(
            "switchcost observe -p \"{} $(pgrep -P {})\" -d 10s",
            list(observed),
            list(&older.parents)
        ),
    ))
}

fn cost(observation: &Observation, findings: &Findings) -> String {
    let has_children = has_children(observation, findings);
    let who = subject(&observation.subject)
        + if has_children {
            " and its children"
        } else {
            ""
        };
    let all = &findings.all;
    if all.is_negligible() {
        return negligible(&who, observation, findings);
    }
    let is_open = all.lacks_preemption(observation);
    let no_end = if is_open {
        " (no upper end, because the cost of a preemption is unknown)"
    } else {
        ""
    };
    let without_guess = |range: Range| Range {
        likely: range.likely.filter(|_| !is_open),
        ..range
    };
    match (all.share, all.direct_share, all.cold_share()) {
        (Some(both), Some(direct), Some(indirect)) => {
            let both = without_guess(both);
            let cpus = all.cost_cpus.filter(|_| both.is_bounded());
            format!(
                "Switches cost {} of the CPU time of {who}{}{no_end}. The direct cost is {}, and cold caches cost {}.",
                range_words(both),
                cpu_share(cpus, observation),
                direct_words(direct, both),
                describe_caches(indirect, known_by(findings, observation))
            )
        }
        (_, Some(direct), _) => {
            let window = findings.seconds * 1e9;
            let direct_cpus = all.direct_ns.filter(|_| !is_open);
            let direct_cpus = direct_cpus.map(|direct| direct.over(window));
            format!(
                "The direct cost of switches is {} of the CPU time of {who}{}{no_end}. The additional cost of cold caches is unknown: it is estimated from traced system calls, but {}; {}.",
                range_words(without_guess(direct)),
                cpu_share(direct_cpus, observation),
                matched::unknown_because(observation, findings),
                measuring(observation, findings)
            )
        }
        _ => format!(
            "The cost of the switches of {} is unknown, because there is no calibration: run `switchcost measure` once.",
            subject(&observation.subject)
        ),
    }
}

/// Returns true if the observed command ran programs of other names. The table lists the costs of
/// these programs.
fn has_children(observation: &Observation, findings: &Findings) -> bool {
    let names = findings.names.iter().filter(|found| !found.is_kernel);
    matches!(observation.subject, Subject::Command(_)) && names.count() > 1
}

/// Formats the direct cost as a share of CPU time: the likely value, or the range if the sum of the
/// costs has no upper end.
fn direct_words(direct: Range, both: Range) -> String {
    match direct
        .likely
        .filter(|_| both.likely.is_some() || both.is_bounded())
    {
        Some(likely) => share(likely),
        None => range_words(Range {
            likely: None,
            ..direct
        }),
    }
}

/// Length of the observation that is advised, in seconds.
const LONG: f64 = 30.0;

/// Returns advice on how to measure the cost of cold caches with `observe` or `inject`.
fn measuring(observation: &Observation, findings: &Findings) -> String {
    let process = busiest(findings);
    let pid = process.map_or_else(|| "PID".to_owned(), |process| process.to_string());
    let inject = format!("`{}`", injecting(observation, &pid));
    let is_command = matches!(observation.subject, Subject::Command(_));
    let to_measure = match process {
        None if !is_command => "to measure it in a new process",
        _ => "to measure it",
    };
    let cpu_ns = findings.all.cpu_ns.unwrap_or(0.0);
    let has_bpf = matches!(observation.source, Source::Bpf | Source::BpfCounts);
    let can_trace = match findings.all.indirect_unknown_because.filter(|_| has_bpf) {
        Some(UnknownBecause::NotTraced) => true,
        Some(UnknownBecause::TooFew) => findings.seconds < LONG,
        _ => false,
    };
    // A command has already ended, and its calls were traced if possible.
    match (is_command, can_trace) {
        (true, _) if has_bpf && cpu_ns < LEAST_CPU.0 as f64 => "observe a longer run".to_owned(),
        (false, true) => {
            format!("{to_measure}: `switchcost observe -p {pid} -d {LONG}s` or {inject}")
        }
        _ => format!("{to_measure}: {inject}"),
    }
}

/// Returns the `inject` command line that measures the cost of cold caches of the observed command,
/// or of the process `pid`.
fn injecting(observation: &Observation, pid: &str) -> String {
    if let Subject::Command(words) = &observation.subject {
        let command = plain(&words.join(" ")).into_owned();
        let is_plain = words.iter().all(|word| is_plain_word(word)) && command.len() <= LONGEST;
        return if is_plain {
            format!("switchcost inject -- {command}")
        } else {
            format!("switchcost inject -- {} ...", subject(&observation.subject))
        };
    }
    format!("switchcost inject -p {pid} --work ...")
}

/// Returns the process with the highest cost that has not ended, apart from kernel threads; `None`
/// if there is none.
fn busiest(findings: &Findings) -> Option<u32> {
    let mut own = findings.processes.iter().filter(|found| !found.is_kernel);
    own.find_map(|found| found.process)
}

/// Returns true if a shell takes a word literally, without quotes.
fn is_plain_word(word: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./=,:+@%".contains(c);
    !word.is_empty() && word.chars().all(is_plain)
}

/// Formats the cost of cold caches as a share of CPU time, with its source, such as `2.2 % (1.8 to
/// 2.6 %; measured on 96 % of the switches)`, `0.4 to 2.2 % (...)`, `at most 2.2 %` or `at least
/// 1.2 %`.
fn describe_caches(indirect: Range, source: Option<String>) -> String {
    let is_small = indirect.is_bounded() && indirect.low <= LITTLE * indirect.high;
    let (words, ends) = match indirect.likely {
        Some(likely) if share(indirect.low) == share(indirect.high) => (share(likely), None),
        Some(likely) => (share(likely), Some(shares(indirect, "at least"))),
        None if is_small => (format!("at most {}", share(indirect.high)), None),
        None => (range_words(indirect), None),
    };
    let notes: Vec<String> = ends.into_iter().chain(source).collect();
    if notes.is_empty() {
        return words;
    }
    format!("{words} ({})", notes.join("; "))
}

/// Describes the source of the cost of cold caches: the share of switches that were measured, or
/// the runs of `inject`; `None` if unknown.
fn known_by(findings: &Findings, observation: &Observation) -> Option<String> {
    Some(match findings.all.likely_by? {
        KnownBy::Matched => matched::measured_on(findings),
        KnownBy::Inject => format!(
            "{}, if others touch memory as fast",
            inject_source(observation)
        ),
    })
}

/// Describes the run of `inject` that the cost of cold caches is from, by its command and day.
/// Several runs are only counted.
fn inject_source(observation: &Observation) -> String {
    let serves = |known: &&KnownReload| {
        let mut own = observation.tasks.iter();
        known.by == KnownBy::Inject && own.any(|tasks| known.is_of(tasks.process, &tasks.name))
    };
    let known: Vec<&KnownReload> = observation.known.iter().filter(serves).collect();
    match known.as_slice() {
        [one] if !one.command.is_empty() => {
            let days = days_between(&one.measured_at, &observation.started_at);
            let day = match days {
                Some(0) => ", today".to_owned(),
                Some(1) => ", yesterday".to_owned(),
                Some(days) if days > 1 => format!(", {days} days before"),
                _ => String::new(),
            };
            format!("by inject of `{}`{day}", name(&one.command.join(" ")))
        }
        [_] | [] => "by inject".to_owned(),
        several => format!("by inject of {} programs", count(several.len() as u64)),
    }
}

/// Returns the number of days from the first to the second date (RFC 3339, UTC); `None` if one is
/// invalid.
fn days_between(first: &str, second: &str) -> Option<i32> {
    let day = |stamp: &str| {
        let at = OffsetDateTime::parse(stamp, &Rfc3339).ok()?;
        Some(at.to_julian_day())
    };
    Some(day(second)? - day(first)?)
}

/// Returns a sentence on a negligible cost in time per second, because a share of little CPU time
/// would be misleading.
fn negligible(who: &str, observation: &Observation, findings: &Findings) -> String {
    let by = match findings.all.likely_by {
        Some(KnownBy::Inject) => format!(", {}", inject_source(observation)),
        _ => String::new(),
    };
    let a_second = |range: Range| times_words(range.over(findings.seconds));
    match (
        findings.all.cost_ns.or(findings.all.direct_ns),
        findings.all.cpu_ns,
    ) {
        (Some(cost), _) => {
            format!(
                "Switches cost {who} {} of CPU time per second{by}, which is negligible.",
                a_second(cost)
            )
        }
        (None, cpu) => format!(
            "Switches cost {who} less than {} of CPU time per second (all that was used), which is negligible.",
            time(cpu.unwrap_or(0.0) / findings.seconds)
        ),
    }
}

/// Least cost in CPUs that is reported.
const LEAST_CPUS: f64 = 0.01;

/// Formats a cost in CPUs, such as `, or 0.02 of 2 CPUs`: the likely value, or else the range. A
/// cost below [`LEAST_CPUS`] is left out.
fn cpu_share(cost: Option<Range>, observation: &Observation) -> String {
    let Some(cost) = cost.filter(|cost| cost.likely.unwrap_or(cost.low) >= LEAST_CPUS) else {
        return String::new();
    };
    let all = match observation.host.cpus_online.len() {
        1 => "1 CPU".to_owned(),
        several => format!("{} CPUs", count(several as u64)),
    };
    let much = cost
        .likely
        .map_or_else(|| quantity::range((cost.low, cost.high), cpus), cpus);
    format!(", or {much} of {all}")
}

/// Formats a number of CPUs, such as `0.02` or `<0.01`.
pub(super) fn cpus(value: f64) -> String {
    match value {
        value if 0.0 < value && value < LEAST_CPUS => "<0.01".to_owned(),
        value if value < 10.0 => format!("{value:.2}"),
        value => rounded(value),
    }
}
/// Formats a range of shares with its likely value as `4.1 % (3.2 to 6.0 %)`, and without as `3.2
/// to 6.0 %`. A range without an upper end is `4.1 % (at least 3.2 %)` or `at least 3.2 %`.
fn range_words(range: Range) -> String {
    let ends = shares(range, "at least");
    match range.likely {
        Some(likely) => format!("{} ({ends})", share(likely)),
        None => ends,
    }
}

/// Formats the ends of a range of shares, such as `3.2 to 6.0 %`; `at_least` precedes a lower end
/// without an upper one.
pub(super) fn shares(range: Range, at_least: &str) -> String {
    let (low, high) = (share(range.low), share(range.high));
    if range.is_bounded() {
        format!("{} to {high}", low.strip_suffix(" %").unwrap_or(&low))
    } else {
        format!("{at_least} {low}")
    }
}

/// Formats a range of times in ns, such as `4.1 us (3.2 to 6.0 us)`.
fn times_words(range: Range) -> String {
    let ends = quantity::range((range.low, range.high), time);
    range
        .likely
        .map_or(ends.clone(), |likely| format!("{} ({ends})", time(likely)))
}

/// Least number of preemptions for which shares by competitor are reported.
const FEW: f64 = 10.0;

fn often(observation: &Observation, findings: &Findings) -> String {
    let all = &findings.all;
    let switches = if all.switches == 1 {
        "was 1 switch".to_owned()
    } else {
        format!("were {} switches", count(all.switches))
    };
    let of = format!(
        "{switches} in {} ({} per second)",
        seconds(findings.seconds),
        rounded(all.per_second)
    );
    let involuntary = share(all.involuntary_share);
    let preemptions = all.involuntary_share * all.switches as f64;
    let by = match findings.main_preemptor() {
        Some((program, of_all)) if all.involuntary_share >= 0.1 && preemptions >= FEW => {
            let whose = if program.is_own { "the observed " } else { "" };
            format!(
                "; {whose}{} caused {} of the preemptions",
                name(&program.other),
                share(of_all)
            )
        }
        _ => String::new(),
    };
    let why = match observation.source {
        Source::Bpf => "",
        Source::BpfCounts => " (by which tasks is unknown)",
        Source::Perf | Source::Proc => " (causes are unknown)",
    };
    format!("There {of}, {involuntary} involuntary{by}{why}.")
}

/// Returns a sentence with one piece of advice and its largest possible gain.
fn advised(advice: &Advice) -> String {
    let waits = |of: &str| {
        advice.at_most.waits_ns.map_or(String::new(), |ns| {
            format!(", and {} of {of}", time(ns as f64))
        })
    };
    let waits = match &advice.change {
        Change::Nothing => return "That is too little to be worth a change.".to_owned(),
        Change::RaiseQuota {
            group,
            throttled_ns,
            is_whole,
        } => {
            let own = advice.at_most.waits_ns.filter(|_| !is_whole);
            return quota_sentence(group, throttled_ns.0, *is_whole, own);
        }
        Change::FewerLocks => waits("waiting for locks"),
        _ => waits("waiting for a CPU"),
    };
    let beside = match &advice.change {
        Change::MoreForEachWakeUp { .. }
        | Change::FewerWakeUps { .. }
        | Change::SleepLonger { .. } => "; fewer system calls also save the time of the calls",
        _ => "",
    };
    let wins = match advice.at_most.cpu_share.filter(|share| *share < NO_BOUND) {
        Some(cpu) => format!(
            "Fewer switches save at most {} of its CPU time{waits}{beside}.",
            share(cpu)
        ),
        None => format!("How much CPU time fewer switches would save is unknown{beside}."),
    };
    format!("Try: {}. {wins}", change_sentence(&advice.change))
}

fn missing_advice_sentence(why: &NoAdvice) -> String {
    match why {
        NoAdvice::NoFreeCpu { observed, other } => format!(
            "No advice: {} and {} compete for the same CPUs, and none is idle.",
            name(other),
            name(observed)
        ),
        NoAdvice::NoMainCause => "No advice: no cause has half of the switches.".to_owned(),
    }
}

fn quota_sentence(group: &str, throttled_ns: u64, is_whole: bool, own_ns: Option<u64>) -> String {
    let (group, throttled) = (name(group), time(throttled_ns as f64));
    if is_whole {
        return format!(
            "The CPU quota of {group} kept its tasks from running for {throttled}. This time is lost to the quota, not to switches; a \
             larger quota saves at most that."
        );
    }
    let own = match own_ns {
        Some(own) => {
            format!(
                "A larger quota saves the observed tasks at most the {} that they waited for quotas",
                time(own as f64)
            )
        }
        None => "How long the observed tasks waited for it is unknown".to_owned(),
    };
    format!(
        "The CPU quota of {group} kept tasks of this group, observed or not, from running for {throttled}. This time is lost to the \
         quota, not to switches. {own}."
    )
}

fn change_sentence(change: &Change) -> String {
    match change {
        Change::Nothing | Change::RaiseQuota { .. } => String::new(),
        Change::Separate { observed, other } => format!(
            "give {} and {} CPUs of their own (taskset, cpusets), because some CPUs were idle",
            name(observed),
            name(other)
        ),
        Change::FewerAtATime => {
            "run at most one of its threads per CPU, because they preempt one another".to_owned()
        }
        Change::LongerSlices => {
            "longer time slices (base_slice_ns of the scheduler, or sched_runtime by sched_setattr)"
                .to_owned()
        }
        Change::FewerLocks => {
            "let fewer threads contend for a lock, or hold it for less time, because most switches are waits for a lock"
                .to_owned()
        }
        Change::MoreForEachWakeUp { call } => {
            format!("do more work per wake-up (batches, larger buffers), because most switches are waits in {call}")
        }
        Change::FewerWakeUps { call } => format!(
            "batch more work per wake-up if {call} usually returns data, or use a longer time-out if not (at the price of latency)"
        ),
        Change::SleepLonger { call } => format!(
            "sleep longer (at the price of latency), because most switches are waits in {call}"
        ),
    }
}

pub(super) fn subject(subject: &Subject) -> String {
    match subject {
        Subject::Command(words) => {
            let first = words.first().map_or("", String::as_str);
            name(first.rsplit('/').next().unwrap_or(first))
        }
        Subject::Processes(processes) => match processes.as_slice() {
            [one] => format!("process {one}"),
            several => format!("{} processes", several.len()),
        },
        Subject::ControlGroup(group) => format!("control group {}", name(group)),
        Subject::Everything => "this machine's processes".to_owned(),
    }
}

/// Makes an untrusted name safe for a sentence: removes control characters and cuts off a long
/// name.
pub(crate) fn name(name: &str) -> String {
    let name = plain(name);
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &name[..end]),
        None if name.is_empty() => "(no name)".to_owned(),
        None => name.into_owned(),
    }
}

/// Names the observed tasks at the beginning of a sentence. The name of a program is not
/// capitalized.
fn first_words(observed: &Subject) -> String {
    let words = subject(observed);
    match (observed, words.split_at_checked(1)) {
        (Subject::Command(_), _) | (_, None) => words,
        (_, Some((first, rest))) => first.to_uppercase() + rest,
    }
}

fn seconds(seconds: f64) -> String {
    format!("{} s", rounded(seconds))
}
