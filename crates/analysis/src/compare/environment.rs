//! Finds differences between the environments of base and new records, which often explain
//! differences in costs.

use std::collections::BTreeSet;
use std::fmt::Display;

use switchcost_record::{Cache, Fact, Header, HostManifest, MeasureRecord, RuntimeFacts};

use super::{Analysed, Difference};
use itertools::Itertools;

/// Returns the facts that differ between the sides, in the order of [`facts`].
pub(super) fn differences(sides: [&[Analysed<'_>]; 2]) -> Vec<Difference> {
    let headers = || {
        sides
            .into_iter()
            .flatten()
            .map(|(record, _)| &record.header)
    };
    // Records of earlier versions lack the switch path's facts. Then these facts are not compared.
    let has_path = headers().all(|header| header.host.switch_path.is_some());
    let mut found = different(sides, |(record, _)| {
        [facts(&record.header, has_path), runtimes(record)].concat()
    });
    let mut cases = headers().flat_map(|header| &header.plan.cases);
    if cases.all(|case| case.policy.is_real_time()) {
        for difference in &mut found {
            difference.is_without_effect = matches!(difference.what.as_str(), NICE | AUTOGROUP);
        }
    }
    found
}

/// Returns the facts about a machine and its switch path that differ between two times. Observers
/// such as tracers are left out, because they are often temporary.
pub fn changed_facts(before: &HostManifest, after: &HostManifest) -> Vec<Difference> {
    let mut changed = different([&[before], &[after]], |host| {
        [host_facts(host), switch_path_facts(host)].concat()
    });
    changed.retain(|difference| difference.what != OBSERVERS);
    changed
}

/// Returns the name of the first fact that differs between the environments of two runs; `None` if
/// all are equal. The name of the control group is ignored, because it differs between login
/// sessions.
pub(crate) fn first_difference(one: &Header, other: &Header) -> Option<String> {
    let has_path = one.host.switch_path.is_some() && other.host.switch_path.is_some();
    let differences = different([&[one], &[other]], |header| {
        [facts(header, has_path), versions(header)].concat()
    });
    differences
        .into_iter()
        .map(|difference| difference.what)
        .find(|what| what != CONTROL_GROUP)
}

/// Returns the versions of the language runtimes that the run found, by the runtime's name.
fn versions(header: &Header) -> Facts {
    let version = |facts: &RuntimeFacts| (format!("runtime {}", facts.name), facts.version.clone());
    header.runtimes.iter().map(version).collect()
}

/// Returns the facts that differ between the records of the two sides, in the order of first
/// occurrence. `facts` returns the facts of one record.
pub(super) fn different<T>(sides: [&[T]; 2], facts: impl Fn(&T) -> Facts) -> Vec<Difference> {
    let [base, new] = sides.map(|side| side.iter().map(&facts).collect::<Vec<Facts>>());
    let names = base
        .iter()
        .chain(&new)
        .flatten()
        .map(|(name, _)| name)
        .unique();
    let difference = |name: &String| {
        let (base, new) = (values(&base, name), values(&new, name));
        (base != new).then(|| Difference {
            what: name.clone(),
            base: base.into_iter().collect(),
            new: new.into_iter().collect(),
            is_without_effect: false,
        })
    };
    names.into_iter().filter_map(difference).collect()
}

/// Facts from one record, as pairs of name and value.
pub(super) type Facts = Vec<(String, String)>;

pub(super) fn named<const N: usize>(facts: [(&str, String); N]) -> Facts {
    Vec::from(facts.map(|(name, value)| (name.to_owned(), value)))
}

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

/// Returns the facts from a record's header about the machine and the conditions of the run.
/// `with_path` includes the conditions of the switch path.
fn facts(header: &Header, with_path: bool) -> Facts {
    let path = with_path.then(|| switch_path_facts(&header.host));
    let of_run = named([
        ("switchcost", header.program_version.clone()),
        (
            "length of a batch",
            format!("{} ns", header.plan.batch_ns.0),
        ),
        ("rounds", header.plan.rounds.to_string()),
    ]);
    [host_facts(&header.host), path.unwrap_or_default(), of_run].concat()
}

/// Returns the versions of language runtimes, as their programs reported them during the run, or
/// else as the run found them.
fn runtimes(record: &MeasureRecord) -> Facts {
    let of_runtime = |facts: &RuntimeFacts| {
        let is_of_it = |case: u32| {
            let case = record.header.plan.cases.get(case as usize);
            case.and_then(|case| case.runtime.as_ref())
                .is_some_and(|of| of.runtime == facts.name)
        };
        let runs = record.runtime_runs.iter();
        let reported = runs.filter(|run| is_of_it(run.case));
        let mut versions: BTreeSet<&str> = reported.map(|run| run.version.as_str()).collect();
        if versions.is_empty() {
            versions.insert(match facts.version.as_str() {
                "" => "not found",
                version => version,
            });
        }
        let versions: Vec<&str> = versions.into_iter().collect();
        (format!("runtime {}", facts.name), versions.join("; "))
    };
    record.header.runtimes.iter().map(of_runtime).collect()
}

/// Returns the facts about the machine, without available memory and interrupts, which always
/// change.
pub(super) fn host_facts(host: &HostManifest) -> Facts {
    let facts = named([
        (
            "machine",
            if host.is_redacted() {
                unknown()
            } else {
                host.hostname.clone()
            },
        ),
        ("processor", known(&host.cpu_model)),
        ("microcode", host.microcode.clone().unwrap_or_else(unknown)),
        ("architecture", host.architecture.clone()),
        ("hypervisor", known(&host.hypervisor)),
        ("kernel", host.kernel.clone()),
        ("kernel command line", known(&host.kernel_command_line)),
        ("distribution", known(&host.distribution)),
        ("preemption model", known(&host.preemption)),
        ("timer ticks per second", known(&host.timer_hz)),
        ("kernel page tables isolated", known(&host.is_kpti_active)),
        ("address spaces tagged in the TLB", known(&host.has_pcid)),
        ("frequency governor", known(&host.governor)),
        (
            "turbo",
            host.is_turbo_on.map_or_else(unknown, |on| on.to_string()),
        ),
        ("simultaneous multithreading", known(&host.is_smt_active)),
        ("clock source", known(&host.clock_source)),
        ("huge pages", known(&host.huge_pages)),
        ("memory", host.memory_bytes.to_string()),
        ("caches", list(host.caches.iter().map(cache))),
        ("CPUs online", list(&host.cpus_online)),
        ("CPUs allowed", list(&host.cpus_allowed)),
        ("CPUs isolated", list(&host.cpus_isolated)),
    ]);
    [facts, mitigations(host)].concat()
}

const OBSERVERS: &str = "perf and BPF";
const CONTROL_GROUP: &str = "control group";
const NICE: &str = "nice value";
const AUTOGROUP: &str = "autogroup";

/// Returns the facts about the process and the kernel that affect a switch. Empty for records of
/// earlier versions.
fn switch_path_facts(host: &HostManifest) -> Facts {
    let Some(path) = &host.switch_path else {
        return Facts::new();
    };
    let clamp = |[least, most]: [u32; 2]| format!("{least} to {most} of 1024");
    let facts = named([
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
    ]);
    [facts, path.settings.clone().into_iter().collect()].concat()
}

fn unknown() -> String {
    "unknown".to_owned()
}

fn known_list(fact: &Fact<Vec<String>>) -> String {
    fact.known().map_or_else(unknown, list)
}

fn mitigations(host: &HostManifest) -> Facts {
    let name = |vulnerability: &str| format!("mitigation of {vulnerability}");
    let all = host.mitigations.iter();
    all.map(|(vulnerability, state)| (name(vulnerability), state.clone()))
        .collect()
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
