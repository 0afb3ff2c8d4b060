//! Tests the machine code of the walk: it is one function, called by one loop that both arms run.
//!
//! The tested program is the release build without the checks of tests. SWITCHCOST_SERVER names the
//! program that serves a repetition and does nothing else (`measure/examples/serve.rs`), as `make
//! test` sets it.

#![cfg(target_arch = "x86_64")]

use std::collections::HashMap;

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction};
use object::{Object, ObjectSection, ObjectSymbol};

struct Function {
    name: String,
    address: u64,
    code: Vec<u8>,
}

/// Returns the targets of the loader's tables: entry address to function address.
fn entries(file: &object::File<'_>) -> HashMap<u64, u64> {
    let relocations = file.dynamic_relocations().into_iter().flatten();
    relocations
        .map(|(at, relocation)| (at, relocation.addend() as u64))
        .collect()
}

fn functions(file: &object::File<'_>) -> Vec<Function> {
    let text = file.section_by_name(".text").expect("code");
    let code = text.data().expect("code");
    let symbols = file
        .symbols()
        .filter(|symbol| symbol.size() > 0 && symbol.address() >= text.address());
    symbols
        .filter_map(|symbol| {
            let start = (symbol.address() - text.address()) as usize;
            let code = code.get(start..start + symbol.size() as usize)?.to_vec();
            let name = format!("{:#}", rustc_demangle::demangle(symbol.name().ok()?));
            Some(Function {
                name,
                address: symbol.address(),
                code,
            })
        })
        .collect()
}

/// Returns the functions that a function calls, directly or through the loader's tables.
fn calls(function: &Function, entries: &HashMap<u64, u64>) -> Vec<u64> {
    let decoder = Decoder::with_ip(64, &function.code, function.address, DecoderOptions::NONE);
    decoder
        .into_iter()
        .filter_map(|instruction| target(&instruction, entries))
        .collect()
}

fn target(instruction: &Instruction, entries: &HashMap<u64, u64>) -> Option<u64> {
    match instruction.flow_control() {
        FlowControl::Call => Some(instruction.near_branch_target()),
        FlowControl::IndirectCall if instruction.is_ip_rel_memory_operand() => {
            entries.get(&instruction.ip_rel_memory_address()).copied()
        }
        _ => None,
    }
}

fn named<'a>(functions: &'a [Function], name: &str) -> Vec<&'a Function> {
    functions
        .iter()
        .filter(|function| function.name == name || function.name.starts_with(&format!("{name}.")))
        .collect()
}

#[test]
fn both_arms_walk_with_the_same_bytes() {
    let Ok(path) = std::env::var("SWITCHCOST_SERVER") else {
        eprintln!(
            "skipped: SWITCHCOST_SERVER names no release of measure/examples/serve.rs; make test does"
        );
        return;
    };
    let binary = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let file = object::File::parse(&*binary).expect("an ELF file");
    let (functions, entries) = (functions(&file), entries(&file));
    let walks = named(&functions, "switchcost_workload::walk::walk");
    assert_eq!(
        walks.len(),
        1,
        "one walk in {path}, not a copy for each arm"
    );
    // The compiler may make a copy for each of the two clocks, with and without recorded single
    // hand-offs; both arms of a difference have the same clock and record none. Tasks that walk
    // concurrently or alone have their own loop with the same walk.
    for (name, most) in [("pass_on", 4), ("walk_timed", 2)] {
        let loops = named(
            &functions,
            &format!("switchcost_measure::peers::worker::{name}"),
        );
        assert_eq!(loops.len(), 1, "{name}: one loop for every task");
        let calls = calls(loops[0], &entries).into_iter();
        let to_walk = calls.filter(|target| *target == walks[0].address).count();
        assert!(
            (1..=most).contains(&to_walk),
            "{name} calls the one walk at {to_walk} places"
        );
    }
}
