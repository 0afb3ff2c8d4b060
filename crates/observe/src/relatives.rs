//! Finds CPUs that share a core or a last-level cache.

use std::collections::BTreeMap;

use switchcost_facts::{Root, relation};
use switchcost_record::Relation;
use switchcost_units::CpuId;

/// Returns the core and the last-level cache of each CPU. Both are identified by the first CPU that
/// has them.
pub(crate) fn relatives(cpus: &[CpuId]) -> BTreeMap<CpuId, (u32, u32)> {
    let root = Root::system();
    let mut firsts: BTreeMap<CpuId, (u32, u32)> = BTreeMap::new();
    for &cpu in cpus {
        let mut own = (cpu.0, cpu.0);
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
