//! Restores settings of the machine that the program in a set-up has changed.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use switchcost_facts::Root;
use switchcost_facts::settings::{assignment, settings};

/// Settings of the machine, with their values before the run.
pub(super) struct Settings {
    /// Settings of the scheduler, by name. A changed value is restored.
    restored: BTreeMap<String, String>,
    /// Other settings in /proc/sys, by path. A change is only reported.
    others: BTreeMap<PathBuf, Vec<u8>>,
}

/// Settings that the kernel changes by itself, and that are ignored.
const VOLATILE: [&str; 5] = [
    "kernel/ns_last_pid",
    "kernel/perf_cpu_time_max_percent",
    "kernel/perf_event_max_sample_rate",
    "kernel/random",
    "net/ipv4/tcp_fastopen_key",
];

/// Length of the longest value that is compared, in bytes.
const LONGEST: u64 = 4096;

impl Settings {
    pub(super) fn now() -> Settings {
        Settings {
            restored: settings(&Root::system()),
            others: others(),
        }
    }

    /// Restores the scheduler's settings that differ from their values before the run. Returns a
    /// complaint for each that could not be restored, and for each other setting that has changed.
    pub(super) fn put_back(&self) -> Vec<String> {
        let now = settings(&Root::system());
        let changed = self
            .restored
            .iter()
            .filter(|(name, value)| now.get(*name).is_some_and(|now| now != *value));
        let mut complaints: Vec<String> = changed
            .filter_map(|(name, value)| put_back(name, value))
            .collect();
        let now = others();
        complaints.extend(self.others.iter().filter_map(|(path, before)| {
            let now = now.get(path).filter(|now| *now != before)?;
            Some(changed_setting(path, before, now))
        }));
        complaints
    }
}

/// Returns the writable settings in /proc/sys, except those in [`VOLATILE`].
fn others() -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![PathBuf::from("/proc/sys")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_volatile = path
                .strip_prefix("/proc/sys")
                .is_ok_and(|name| VOLATILE.iter().any(|volatile| name.starts_with(volatile)));
            match entry.metadata() {
                _ if is_volatile => {}
                Ok(facts) if facts.is_dir() => folders.push(path),
                Ok(facts) if facts.permissions().mode() & 0o600 == 0o600 => {
                    let mut value = Vec::new();
                    let file = File::open(&path);
                    if file.is_ok_and(|file| file.take(LONGEST).read_to_end(&mut value).is_ok()) {
                        found.insert(path, value);
                    }
                }
                _ => {}
            }
        }
    }
    found
}

/// Describes a change and how to undo it, such as `vm.stat_interval is 2 after a run, and was 1
/// before it: ...`.
fn changed_setting(path: &Path, before: &[u8], now: &[u8]) -> String {
    let name = path.strip_prefix("/proc/sys").unwrap_or(path);
    let name = name.display().to_string().replace('/', ".");
    let [before, now] =
        [before, now].map(|value| String::from_utf8_lossy(value).trim().replace('\t', " "));
    format!(
        "{name} is {now} after a run, and was {before} before it: undo it with --new-undo or --base-undo 'sysctl -qw \
         {name}=\"{before}\"'"
    )
}

fn put_back(name: &str, value: &str) -> Option<String> {
    let (file, text) = assignment(name, value);
    let refused = std::fs::write(&file, text).err()?;
    Some(format!("cannot write {value} back to {file} ({refused})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_a_set_up_leaves_changed_is_reported_with_the_way_back() {
        let path = PathBuf::from("/proc/sys/vm/stat_interval");
        let mut settings = Settings::now();
        if settings.others.insert(path, b"77".to_vec()).is_none() {
            return;
        }
        let complaints = settings.put_back();
        let is_reported = |complaint: &String| {
            complaint.starts_with("vm.stat_interval is ")
                && complaint.ends_with("'sysctl -qw vm.stat_interval=\"77\"'")
        };
        assert!(complaints.iter().any(is_reported), "{complaints:?}");
    }
}
