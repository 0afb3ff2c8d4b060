//! Keeps track of online CPUs, including those that come online later.

use std::time::{Duration, Instant};

use switchcost_facts::{Root, online};
use switchcost_units::CpuId;

use crate::layout::CPUS;

/// Time between two searches for new CPUs.
const EACH: Duration = Duration::from_secs(1);

/// CPUs that have been online at any time since the start and that have a slot in the tables.
pub(crate) struct Cpus {
    known: Vec<CpuId>,
    looked_at: Instant,
}

impl Cpus {
    pub(crate) fn new(known: &[CpuId]) -> Cpus {
        let mut cpus = Cpus {
            known: Vec::new(),
            looked_at: Instant::now(),
        };
        cpus.take(known);
        cpus
    }

    pub(crate) fn known(&self) -> &[CpuId] {
        &self.known
    }

    /// Searches for new CPUs if a second has passed. Returns whether any have come online.
    pub(crate) fn have_come(&mut self, root: &Root) -> bool {
        self.looked_at.elapsed() >= EACH && self.look(root)
    }

    fn look(&mut self, root: &Root) -> bool {
        self.looked_at = Instant::now();
        let before = self.known.len();
        self.take(&online(root));
        self.known.len() > before
    }

    fn take(&mut self, cpus: &[CpuId]) {
        let new = cpus
            .iter()
            .filter(|cpu| (cpu.0 as usize) < CPUS && !self.known.contains(cpu));
        let new: Vec<CpuId> = new.copied().collect();
        self.known.extend(new);
        self.known.sort_unstable();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_that_come_online_later_are_known_and_those_that_go_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("sys/devices/system/cpu/online");
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        let root = Root::new(folder.path());
        let mut cpus = Cpus::new(&[CpuId(0), CpuId(2)]);
        let mut look = |text: &str| {
            std::fs::write(&file, text).expect("a file");
            (cpus.look(&root), cpus.known().to_vec())
        };
        assert_eq!(look("0,2\n"), (false, vec![CpuId(0), CpuId(2)]));
        assert_eq!(look("0-1\n"), (true, vec![CpuId(0), CpuId(1), CpuId(2)]));
        assert_eq!(look("0-2000\n").1.len(), CPUS, "others have no slot");
    }
}
