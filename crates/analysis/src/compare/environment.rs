//! Differences between the environments of two sides, which usually explain a difference in costs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use switchcost_record::{Cache, Fact, Header, HostManifest, MeasureRecord, SwitchPath};

use super::{Analysed, Difference};

/// Returns the facts that differ, in the order of [`facts`]; mitigations by name.
pub(super) fn differences(base: &[Analysed<'_>], new: &[Analysed<'_>]) -> Vec<Difference> {
    // Records of earlier versions lack these facts, so no difference can be shown.
    let has_path = base
        .iter()
        .chain(new)
        .all(|(record, _)| record.header.host.switch_path.is_some());
    let of = |records: &[Analysed<'_>]| {
        let of_record = |(record, _): &Analysed<'_>| {
            facts(&record.header, has_path)
                .into_iter()
                .chain(runtimes(record))
                .collect()
        };
        records.iter().map(of_record).collect::<Vec<Facts>>()
    };
    let mut found = different(&of(base), &of(new));
    let mut cases = base
        .iter()
        .chain(new)
        .flat_map(|(record, _)| &record.header.plan.cases);
    if cases.all(|case| case.policy.is_real_time()) {
        for difference in &mut found {
            difference.is_without_effect = matches!(difference.what.as_str(), NICE | AUTOGROUP);
        }
    }
    found
}

/// Returns the facts of a machine and of its switch path that have changed. Observers (such as
/// tracers) come and go, so they are left out.
pub fn changed_facts(before: &HostManifest, after: &HostManifest) -> Vec<Difference> {
    let of = |host: &HostManifest| -> Facts {
        host_facts(host)
            .into_iter()
            .chain(host.switch_path.iter().flat_map(switch_path_facts))
            .collect()
    };
    let mut changed = different(&[of(before)], &[of(after)]);
    changed.retain(|difference| difference.what != OBSERVERS);
    changed
}

/// Returns the first difference between the environments of two runs, by the headers of their
/// records. The name of a control group also differs between login sessions, so it does not count.
pub(crate) fn first_difference(one: &Header, other: &Header) -> Option<String> {
    let has_path = one.host.switch_path.is_some() && other.host.switch_path.is_some();
    let of = |header: &Header| {
        facts(header, has_path)
            .into_iter()
            .chain(versions(header))
            .collect::<Facts>()
    };
    let differences = different(&[of(one)], &[of(other)]);
    differences
        .into_iter()
        .map(|difference| difference.what)
        .find(|what| what != CONTROL_GROUP)
}

/// Returns the language runtimes found for the run, with their versions.
fn versions(header: &Header) -> impl Iterator<Item = (String, String)> {
    header
        .runtimes
        .iter()
        .map(|facts| (format!("runtime {}", facts.name), facts.version.clone()))
}

/// Returns the facts in which the records of the two sides differ, by first occurrence.
pub(super) fn different(base: &[Facts], new: &[Facts]) -> Vec<Difference> {
    let mut names: Vec<&String> = Vec::new();
    for (name, _) in base.iter().chain(new).flatten() {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let difference = |name: &String| {
        let (base, new) = (values(base, name), values(new, name));
        (base != new).then(|| Difference {
            what: name.clone(),
            base: base.into_iter().collect(),
            new: new.into_iter().collect(),
            is_without_effect: false,
        })
    };
    names.into_iter().filter_map(difference).collect()
}

/// Facts of one record: names and values.
pub(super) type Facts = Vec<(String, String)>;

fn values(records: &[Facts], name: &str) -> BTreeSet<String> {
    let of = |facts: &Facts| {
        facts
            .iter()
            .find(|(other, _)| other == name)
            .map(|(_, value)| value.clone())
    };
    records
        .iter()
        .map(|facts| of(facts).unwrap_or_else(|| "not there".to_owned()))
        .collect()
}

/// Returns the facts of a record about the machine and the conditions of the run.
fn facts(header: &Header, with_path: bool) -> Facts {
    let mut facts = host_facts(&header.host);
    facts.extend(
        header
            .host
            .switch_path
            .as_ref()
            .filter(|_| with_path)
            .map(switch_path_facts)
            .unwrap_or_default(),
    );
    facts.push(("switchcost".to_owned(), header.program_version.clone()));
    facts.push((
        "length of a batch".to_owned(),
        format!("{} ns", header.plan.batch_ns.0),
    ));
    facts.push(("rounds".to_owned(), header.plan.rounds.to_string()));
    facts
}

/// Returns the language runtimes with the versions that their programs reported, or else the
/// versions that were found.
fn runtimes(record: &MeasureRecord) -> impl Iterator<Item = (String, String)> {
    record.header.runtimes.iter().map(|facts| {
        let is_of_it = |case: u32| {
            let case = record.header.plan.cases.get(case as usize);
            case.and_then(|case| case.runtime.as_ref())
                .is_some_and(|of| of.runtime == facts.name)
        };
        let said = record
            .runtime_runs
            .iter()
            .filter(|run| is_of_it(run.case))
            .map(|run| run.version.clone());
        let mut versions: BTreeSet<String> = said.collect();
        if versions.is_empty() {
            versions.insert(
                if facts.version.is_empty() {
                    "not found"
                } else {
                    &facts.version
                }
                .to_owned(),
            );
        }
        (
            format!("runtime {}", facts.name),
            versions.into_iter().collect::<Vec<_>>().join("; "),
        )
    })
}

/// Returns the facts of the machine, without those that always change: available memory,
/// interrupts.
pub(super) fn host_facts(host: &HostManifest) -> Facts {
    let mut facts = vec![
        (
            "machine".to_owned(),
            if host.is_redacted() {
                unknown()
            } else {
                host.hostname.clone()
            },
        ),
        ("processor".to_owned(), known(&host.cpu_model)),
        (
            "microcode".to_owned(),
            host.microcode.clone().unwrap_or_else(unknown),
        ),
        ("architecture".to_owned(), host.architecture.clone()),
        ("hypervisor".to_owned(), known(&host.hypervisor)),
        ("kernel".to_owned(), host.kernel.clone()),
        (
            "kernel command line".to_owned(),
            known(&host.kernel_command_line),
        ),
        ("distribution".to_owned(), known(&host.distribution)),
        ("preemption model".to_owned(), known(&host.preemption)),
        ("timer ticks a second".to_owned(), known(&host.timer_hz)),
        (
            "kernel page tables isolated".to_owned(),
            known(&host.is_kpti_active),
        ),
        (
            "address spaces tagged in the TLB".to_owned(),
            known(&host.has_pcid),
        ),
        ("frequency governor".to_owned(), known(&host.governor)),
        (
            "turbo".to_owned(),
            host.is_turbo_on
                .map_or_else(|| "unknown".to_owned(), |on| on.to_string()),
        ),
        (
            "simultaneous multithreading".to_owned(),
            known(&host.is_smt_active),
        ),
        ("clock source".to_owned(), known(&host.clock_source)),
        ("huge pages".to_owned(), known(&host.huge_pages)),
        ("memory".to_owned(), host.memory_bytes.to_string()),
        ("caches".to_owned(), list(host.caches.iter().map(cache))),
        ("CPUs online".to_owned(), list(&host.cpus_online)),
        ("CPUs allowed".to_owned(), list(&host.cpus_allowed)),
        ("CPUs isolated".to_owned(), list(&host.cpus_isolated)),
    ];
    facts.extend(mitigations(host));
    facts
}

const OBSERVERS: &str = "perf and BPF";
const CONTROL_GROUP: &str = "control group";
const NICE: &str = "nice value";
const AUTOGROUP: &str = "autogroup";

/// Returns the facts that affect a switch, besides the kernel.
fn switch_path_facts(path: &SwitchPath) -> Facts {
    let clamp = |[least, most]: [u32; 2]| format!("{least} to {most} of 1024");
    let facts = [
        ("seccomp filters", known(&path.seccomp_filters)),
        ("traced by a debugger", known(&path.is_traced)),
        ("ftrace", known_list(&path.ftrace)),
        (OBSERVERS, known_list(&path.observers)),
        ("scheduler of BPF programs", known(&path.sched_ext)),
        (NICE, known(&path.nice)),
        ("time slice (ns)", known(&path.slice_ns)),
        (
            "utilization clamp",
            path.utilization_clamp
                .known()
                .copied()
                .map_or_else(unknown, clamp),
        ),
        (
            "depth of the control group",
            known(&path.control_group_depth),
        ),
        (CONTROL_GROUP, known(&path.control_group)),
        (AUTOGROUP, known(&path.autogroup)),
        ("speculation", known(&path.speculation)),
        ("audit", known(&path.audit)),
        ("security modules", known_list(&path.security_modules)),
    ];
    let facts = facts
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter();
    facts
        .chain(
            path.settings
                .iter()
                .map(|(name, value)| (name.clone(), value.clone())),
        )
        .collect()
}

fn unknown() -> String {
    "unknown".to_owned()
}

fn known_list(fact: &Fact<Vec<String>>) -> String {
    fact.known().map_or_else(unknown, list)
}

fn mitigations(host: &HostManifest) -> impl Iterator<Item = (String, String)> {
    let known: &BTreeMap<String, String> = &host.mitigations;
    known
        .iter()
        .map(|(vulnerability, state)| (format!("mitigation of {vulnerability}"), state.clone()))
}

fn known<T: Display>(fact: &Fact<T>) -> String {
    fact.known().map_or_else(unknown, T::to_string)
}

fn list(items: impl IntoIterator<Item: Display>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    if items.is_empty() {
        "none".to_owned()
    } else {
        items.join(", ")
    }
}

fn cache(cache: &Cache) -> String {
    format!("L{} {} {}", cache.level, cache.kind, cache.size_bytes)
}
