//! Tests the names of the kernel's data at a known place: `__switch_to_asm` stores registers on the
//! stack of the task that leaves, and the stack pointer in its `task_struct`. It then loads the
//! stack pointer and the registers of the next task.

use std::collections::BTreeMap;

use switchcost_trace::{Block, Event, KernelSymbols, Reference};

use crate::each_chunk;

/// Calls `see` for each load and store of the kernel.
fn each_reference(trace: &[u8], mut see: impl FnMut(&Block, &Reference)) {
    each_chunk(trace, |chunk| {
        for event in chunk.events() {
            if let Event::Block(block, own) = event
                && block.flags.is_kernel()
            {
                own.iter().for_each(|reference| see(block, reference));
            }
        }
    });
}

/// Checks the names of the data that `__switch_to_asm`, at address `switch`, touches.
pub(crate) fn check(symbols: &KernelSymbols, trace: &[u8], switch: u64) {
    let mut of_switch: BTreeMap<Option<&str>, u64> = BTreeMap::new();
    let (mut of_kernel, mut unnamed) = (0_u64, 0_u64);
    each_reference(trace, |block, reference| {
        let name = symbols.name_at(reference.address());
        if reference.address() >> 47 != 0 {
            of_kernel += 1;
            unnamed += u64::from(name.is_none());
        }
        if block.address == switch {
            *of_switch.entry(name).or_default() += 1;
        }
    });
    println!(
        "{of_switch:?}; {unnamed} of {of_kernel} references to the kernel's memory have no name"
    );
    let count = |name: &str| of_switch.get(&Some(name)).copied().unwrap_or(0);
    let tasks = count("task_struct (slab)") + count("init_task");
    let stacks = count("kernel stack") + count("init_stack") + count("init_thread_union");
    assert!(
        count("task_struct (slab)") > 0 && count("kernel stack") > 0,
        "{of_switch:?}"
    );
    // In addition, the switch moves a canary from the task to the CPU's own memory.
    let all: u64 = of_switch.values().sum();
    assert!((tasks + stacks) as f64 > 0.8 * all as f64, "{of_switch:?}");
    assert!(
        (unnamed as f64) < 0.01 * of_kernel as f64,
        "{unnamed} of {of_kernel} have no name"
    );
}
