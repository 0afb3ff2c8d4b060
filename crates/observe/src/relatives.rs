//! Which CPUs share a core or a last-level cache.

use std::collections::BTreeMap;

use host::facts::{Root, relation};
use record::{HostManifest, Relation};
use units::CpuId;

use crate::layout::CPUS;

/// Numbers those that share a core, and those that share a last-level cache.
pub(crate) fn relatives(host: &HostManifest) -> BTreeMap<CpuId, (u32, u32)> {
    let root = Root::system();
    let mut firsts: BTreeMap<CpuId, (u32, u32)> = BTreeMap::new();
    for (number, &cpu) in host.cpus_online.iter().filter(|cpu| (cpu.0 as usize) < CPUS).enumerate() {
        let mut own = (number as u32, number as u32);
        for (&first, &(core, cache)) in &firsts {
            match relation(&root, first, cpu) {
                Relation::Smt => own = (core, cache),
                Relation::SharedCache => own.1 = cache,
                _ => {}
            }
        }
        firsts.insert(cpu, own);
    }
    firsts
}
