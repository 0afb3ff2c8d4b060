//! Tests that the marks report for a program the same mapped files, at the same addresses, as the
//! guest's own /proc/self/maps.

use std::collections::BTreeMap;

use switchcost_trace::{Mark, ProcessId, TaskId};

const PAGE: u64 = 4096;

/// Mapped pages by number: the file, the offset in it, whether it is executable.
type Pages = BTreeMap<u64, (String, u64, bool)>;

/// Returns the mapped pages of the last process that executed a program of this name.
fn reported(marks: &[Mark], name: &[u8]) -> Pages {
    let mut processes: BTreeMap<TaskId, ProcessId> = BTreeMap::new();
    let mut all: BTreeMap<ProcessId, Pages> = BTreeMap::new();
    let (mut running, mut wanted) = (TaskId(0), ProcessId(0));
    for mark in marks {
        match mark {
            Mark::Birth { task, process, .. } => drop(processes.insert(*task, *process)),
            Mark::Exec {
                task,
                process,
                name: found,
            } => {
                processes.insert(*task, *process);
                wanted = if found == name { *process } else { wanted };
            }
            Mark::Switch { to, .. } => running = *to,
            Mark::Map(mapping) => {
                let pages = all.entry(processes[&running]).or_default();
                for at in (0..mapping.bytes).step_by(PAGE as usize) {
                    let path = String::from_utf8(mapping.path.clone()).expect("a plain path");
                    pages.insert(
                        mapping.start + at,
                        (path, mapping.offset + at, mapping.is_executable),
                    );
                }
            }
            Mark::Unmap { start, bytes } => {
                let pages = all.entry(processes[&running]).or_default();
                pages.retain(|page, _| !(*start..start + bytes).contains(page));
            }
            _ => {}
        }
    }
    all.remove(&wanted).unwrap_or_default()
}

/// Parses mappings as the kernel prints them: `START-END rwxp OFFSET DEVICE INODE PATH`.
fn listed(maps: &str) -> Pages {
    let mut pages = Pages::new();
    for line in maps.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let &[range, rights, offset, _, _, path] = fields.as_slice() else {
            continue;
        };
        let number = |text: &str| u64::from_str_radix(text, 16).expect("a number");
        let (start, end) = range.split_once('-').expect("a range");
        let start = number(start);
        for page in (start..number(end))
            .step_by(PAGE as usize)
            .filter(|_| path.starts_with('/'))
        {
            let offset = number(offset) + (page - start);
            pages.insert(page, (path.to_owned(), offset, rights.contains('x')));
        }
    }
    pages
}

/// Compares the marks with `maps`, the output of `cat /proc/self/maps`.
pub(crate) fn check(marks: &[Mark], maps: &[u8]) {
    let maps = String::from_utf8(maps.to_vec()).expect("text");
    let listed = listed(&maps);
    assert!(
        listed.values().any(|(path, ..)| path.contains("libc.so")) && listed.len() > 100,
        "{maps}"
    );
    let reported = reported(marks, b"cat");
    assert!(reported == listed, "{reported:#x?}\n{maps}");
    let is_known = |mark: &Mark| matches!(mark, Mark::Map(mapping) if !mapping.build_id.is_empty());
    assert!(
        marks.iter().any(is_known),
        "files of this machine have their build IDs"
    );
}
