//! Limits on the CPU time of the observed: what their control groups used up, and for how long that kept them from running.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use observation::Throttled;
use units::Nanos;

use super::whom::Whom;

/// Control groups looked at.
const GROUPS: usize = 64;

/// The statistics of control groups as they were at first, and as they were last.
pub(super) struct Quotas {
    groups: BTreeMap<PathBuf, (Counted, Counted)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    times: u64,
    ns: u64,
}

impl Quotas {
    pub(super) fn begin(whom: &Whom) -> Quotas {
        let folders = whom.processes().into_iter().flat_map(folders_of);
        let counted = |folder: PathBuf| Some((folder.clone(), read(&folder).map(|now| (now, now))?));
        Quotas { groups: folders.filter_map(counted).take(GROUPS).collect() }
    }

    /// Looks again: a group may be gone at the end.
    pub(super) fn look(&mut self) {
        for (folder, (_, last)) in &mut self.groups {
            *last = read(folder).unwrap_or(*last);
        }
    }

    pub(super) fn end(mut self) -> Vec<Throttled> {
        self.look();
        let of = |(folder, (first, last)): (PathBuf, (Counted, Counted))| Throttled {
            group: folder.strip_prefix("/sys/fs/cgroup").unwrap_or(&folder).display().to_string(),
            times: last.times.saturating_sub(first.times),
            throttled_ns: Nanos(last.ns.saturating_sub(first.ns)),
        };
        self.groups.into_iter().map(of).filter(|group| group.times > 0).collect()
    }
}

/// The control groups that a process is in, with those above: the limit of each binds it. Of version 2, and of `cpu` of version 1.
fn folders_of(process: u32) -> Vec<PathBuf> {
    let text = fs::read_to_string(format!("/proc/{process}/cgroup")).unwrap_or_default();
    let base = Path::new("/sys/fs/cgroup");
    let mut folders = Vec::new();
    for line in text.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let root = match controllers {
            "" => base.to_owned(),
            several if several.split(',').any(|one| one == "cpu") => base.join(several),
            _ => continue,
        };
        let folder = root.join(path.trim_start_matches('/'));
        folders.extend(folder.ancestors().take_while(|above| above.starts_with(&root)).map(Path::to_owned));
    }
    folders
}

/// `cpu.stat` of either version; none of a group without a limit, which counts nothing.
fn read(folder: &Path) -> Option<Counted> {
    let text = fs::read_to_string(folder.join("cpu.stat")).ok()?;
    let field = |name: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        value.trim().parse::<u64>().ok()
    };
    let ns = field("throttled_usec").map(|us| us.saturating_mul(1000)).or_else(|| field("throttled_time"))?;
    Some(Counted { times: field("nr_throttled")?, ns })
}
