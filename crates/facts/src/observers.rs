//! Other processes that hold perf events or attached BPF programs, which may run at each switch.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;

use switchcost_record::Fact;

use super::Root;
use super::status::field_of;

const PERF_EVENT: &str = "anon_inode:[perf_event]";

/// Finds other processes that hold perf events or BPF attachments, by their open files: an event or
/// attachment ends when its last file is closed.
pub(super) fn find_observers(root: &Root) -> Fact<Vec<String>> {
    let mut all: BTreeMap<String, Held> = BTreeMap::new();
    let mut hidden = 0;
    let own = root.link("/proc/self").unwrap_or_default();
    let processes = root
        .names("/proc")
        .into_iter()
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    let processes: Vec<String> = processes.filter(|process| *process != own).collect();
    for process in &processes {
        match held_by(root, process) {
            Ok(held) if held == Held::default() => {}
            Ok(held) => all.entry(name(root, process)).or_default().add(held),
            Err(ErrorKind::PermissionDenied) => hidden += 1,
            // The process has ended meanwhile.
            Err(_) => {}
        }
    }
    if processes.is_empty() {
        return Fact::unknown("/proc shows no other process");
    }
    if hidden > 0 && all.is_empty() {
        return Fact::unknown(format!(
            "the files of {hidden} other processes cannot be looked at: needs cap_sys_ptrace"
        ));
    }
    Fact::Known(
        all.iter()
            .map(|(name, held)| format!("{name}: {}", held.words()))
            .collect(),
    )
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Held {
    perf_events: usize,
    programs: BTreeSet<String>,
}

impl Held {
    fn add(&mut self, other: Held) {
        self.perf_events += other.perf_events;
        self.programs.extend(other.programs);
    }

    fn words(&self) -> String {
        let events = match self.perf_events {
            0 => None,
            1 => Some("1 perf event".to_owned()),
            more => Some(format!("{more} perf events")),
        };
        let programs = self
            .programs
            .iter()
            .map(|program| format!("BPF on {program}"));
        events
            .into_iter()
            .chain(programs)
            .collect::<Vec<_>>()
            .join(", ")
    }
}

fn held_by(root: &Root, process: &str) -> Result<Held, ErrorKind> {
    let folder = format!("/proc/{process}/fd");
    let mut held = Held::default();
    for file in root.list(&folder).map_err(|error| error.kind())? {
        match root.link(&format!("{folder}/{file}")).as_deref() {
            Some(PERF_EVENT) => held.perf_events += 1,
            Some(link)
                if link.starts_with("anon_inode:")
                    && link.contains("bpf")
                    && link.contains("link") =>
            {
                held.programs
                    .extend(attachment(root, &format!("/proc/{process}/fdinfo/{file}")));
            }
            _ => {}
        }
    }
    Ok(held)
}

/// Returns the description of a BPF attachment from its `fdinfo` file, such as `raw_tracepoint
/// sched_switch`.
fn attachment(root: &Root, file: &str) -> Option<String> {
    let text = root.read(file).ok()?;
    let kind = field_of(&text, "link_type")?;
    let place = field_of(&text, "tp_name").or_else(|| field_of(&text, "name"));
    Some(place.map_or(kind.clone(), |place| format!("{kind} {place}")))
}

fn name(root: &Root, process: &str) -> String {
    root.line(&format!("/proc/{process}/comm"))
        .unwrap_or_else(|_| "a process".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn who_holds_what_is_named_and_added_up() {
        let fixture = Fixture::new()
            .link("/proc/self", "7")
            .file("/proc/7/comm", "switchcost\n")
            .link("/proc/7/fd/3", PERF_EVENT)
            .file("/proc/31/comm", "perf\n")
            .link("/proc/31/fd/3", PERF_EVENT)
            .link("/proc/31/fd/4", PERF_EVENT)
            .file("/proc/32/comm", "perf\n")
            .link("/proc/32/fd/0", PERF_EVENT)
            .file("/proc/40/comm", "bpftrace\n")
            .link("/proc/40/fd/9", "anon_inode:bpf_link")
            .file(
                "/proc/40/fdinfo/9",
                "pos:\t0\nlink_type:\traw_tracepoint\nlink_id:\t3\ntp_name:\tsched_switch\n",
            )
            .link("/proc/40/fd/10", "anon_inode:bpf-prog")
            .file("/proc/50/comm", "sh\n")
            .link("/proc/50/fd/0", "/dev/null");
        let found = find_observers(&fixture.root());
        let expected = [
            "bpftrace: BPF on raw_tracepoint sched_switch",
            "perf: 3 perf events",
        ];
        assert_eq!(found, Fact::Known(expected.map(str::to_owned).to_vec()));
    }

    #[test]
    fn processes_without_any_are_none_and_no_processes_are_unknown() {
        assert!(find_observers(&Fixture::new().root()).known().is_none());
        let quiet = Fixture::new()
            .file("/proc/50/comm", "sh\n")
            .link("/proc/50/fd/0", "/dev/null");
        assert_eq!(find_observers(&quiet.root()), Fact::Known(Vec::new()));
    }
}
