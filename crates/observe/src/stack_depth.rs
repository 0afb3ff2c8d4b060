//! Checks the BPF programs against the limits of older kernels: before Linux 6.13 a program and its
//! functions share 512 bytes of stack, with each function's part rounded up
//! (`check_max_stack_depth` in kernel/bpf/verifier.c). The kernel that runs the tests may be newer.

use std::collections::BTreeMap;

use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget, SymbolKind};

const LIMIT: u32 = 512;
const ROUNDED_TO: u32 = 32;

/// Number of the frame pointer r10 of BPF, which is the highest address of a function's stack.
const FRAME: u8 = 10;
const CALL: u8 = 0x85;
const MOVE: u8 = 0xbf;
const ADD: u8 = 0x07;

/// Stack size and called functions of a function.
#[derive(Default)]
struct Function {
    depth: u32,
    calls: Vec<String>,
}

struct Instruction {
    code: u8,
    target: u8,
    source: u8,
    offset: i16,
    constant: i32,
}

impl Instruction {
    fn decode(bytes: &[u8]) -> Instruction {
        Instruction {
            code: bytes[0],
            target: bytes[1] & 15,
            source: bytes[1] >> 4,
            offset: i16::from_le_bytes([bytes[2], bytes[3]]),
            constant: i32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]),
        }
    }

    /// Returns the stack depth, in bytes, of a load or store, or of an address that is computed
    /// from the copy of the frame pointer made by the instruction `before`.
    fn depth(&self, before: Option<&Instruction>) -> u32 {
        let is_address =
            before.is_some_and(|b| b.code == MOVE && b.source == FRAME && b.target == self.target);
        let at = match self.code & 7 {
            1 if self.source == FRAME => self.offset.into(),
            2 | 3 if self.target == FRAME => self.offset.into(),
            _ if self.code == ADD && is_address => self.constant,
            _ => 0,
        };
        at.min(0).unsigned_abs()
    }
}

fn functions(object: &[u8]) -> BTreeMap<String, Function> {
    let file = object::File::parse(object).expect("clang's");
    let text = file
        .symbols()
        .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0);
    let function = |symbol: object::Symbol<'_, '_>| {
        let section = file.section_by_index(symbol.section_index()?).ok()?;
        let own = symbol.address()..symbol.address() + symbol.size();
        let code: Vec<_> = section.data().ok()?[own.start as usize..own.end as usize]
            .chunks(8)
            .map(Instruction::decode)
            .collect();
        let depth = (0..code.len())
            .map(|at| code[at].depth(at.checked_sub(1).map(|at| &code[at])))
            .max()?;
        let is_call =
            |at: u64| own.contains(&at) && code[((at - own.start) / 8) as usize].code == CALL;
        let called = section
            .relocations()
            .filter(|(at, _)| is_call(*at))
            .filter_map(|(_, to)| match to.target() {
                RelocationTarget::Symbol(symbol) => file
                    .symbol_by_index(symbol)
                    .ok()?
                    .name()
                    .ok()
                    .map(str::to_owned),
                _ => None,
            });
        Some((
            symbol.name().ok()?.to_owned(),
            Function {
                depth,
                calls: called.collect(),
            },
        ))
    };
    text.filter_map(function).collect()
}

/// Returns the stack depth of a function including the functions that it calls, as the kernel
/// computes it.
fn deepest(functions: &BTreeMap<String, Function>, name: &str) -> u32 {
    let function = &functions[name];
    let below = function
        .calls
        .iter()
        .map(|called| deepest(functions, called))
        .max()
        .unwrap_or(0);
    function.depth.max(1).next_multiple_of(ROUNDED_TO) + below
}

#[test]
fn each_program_fits_the_stack_of_older_kernels() {
    for object in [
        crate::kernel::OBJECT,
        crate::stacks::OBJECT,
        crate::calls::OBJECT,
    ] {
        if object.is_empty() {
            return println!("skipped: built without clang");
        }
        let functions = functions(object);
        assert!(
            functions.values().any(|function| function.depth > 0),
            "their code is read"
        );
        for name in functions.keys() {
            let deepest = deepest(&functions, name);
            assert!(
                deepest <= LIMIT,
                "{name} and what it calls need {deepest} bytes"
            );
        }
    }
}

#[test]
fn depths_are_added_up_along_calls() {
    let functions = functions(crate::kernel::OBJECT);
    let Some(switch) = functions.get("on_switch") else {
        return println!("skipped: built without clang");
    };
    assert!(
        switch.calls.iter().any(|called| called == "share_out"),
        "{:?}",
        switch.calls
    );
    assert!(deepest(&functions, "on_switch") >= switch.depth + functions["share_out"].depth);
}
