//! Derives the dependences of a block's references and registers from its machine code (x86-64).
//! Constants and the stack pointer depend on nothing, because no program waits for them. Status
//! flags are followed only within the block, because hardly any code uses flags that another block
//! has set.

use iced_x86::{
    Decoder, DecoderOptions, Instruction, InstructionInfo, InstructionInfoFactory, OpAccess,
    OpKind, Register, RflagsBits,
};
use switchcost_trace::{Block, BlockDependences, ReferenceDependence, ShapeReference, Sources};

const FLAGS: u8 = 16;
const X87: u8 = 17;
const MASKS: u8 = 24;
const VECTORS: u8 = 32;
const REGISTERS: usize = 64;

const STATUS: u32 = RflagsBits::OF
    | RflagsBits::SF
    | RflagsBits::ZF
    | RflagsBits::AF
    | RflagsBits::CF
    | RflagsBits::PF;

/// Returns the number of a register in the trace's dependences; `None` if the register is not
/// followed.
fn number_of(register: Register) -> Option<u8> {
    let full = register.full_register();
    let number = full.number() as u8;
    match full {
        Register::RSP => None,
        _ if full.is_gpr64() => Some(number),
        _ if full.is_vector_register() => Some(VECTORS + number),
        _ if full.is_k() => Some(MASKS + number),
        _ if full.is_st() || full.is_mm() => Some(X87),
        _ => None,
    }
}

fn is_read(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

fn is_written(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

/// Returns the sources of a register's value at the start of a block.
fn initial(number: u8) -> Sources {
    Sources::register(number)
        .filter(|_| number != FLAGS)
        .unwrap_or(Sources::NONE)
}

/// Sources of the registers' values after some instructions of a block, and the number of its loads
/// so far.
struct Flow {
    registers: [Sources; REGISTERS],
    loads: u8,
}

/// Registers and memory that one instruction uses.
struct Used<'a> {
    instruction: &'a Instruction,
    info: &'a InstructionInfo,
}

impl Used<'_> {
    fn is_operand(&self, register: Register, is_asked: fn(OpAccess) -> bool) -> bool {
        (0..self.instruction.op_count()).any(|operand| {
            self.instruction.op_kind(operand) == OpKind::Register
                && self.instruction.op_register(operand).full_register() == register.full_register()
                && is_asked(self.info.op_access(operand))
        })
    }

    fn is_in_address(&self, register: Register) -> bool {
        self.info.used_memory().iter().any(|memory| {
            [memory.base(), memory.index()]
                .iter()
                .any(|part| part.full_register() == register.full_register())
        })
    }

    /// Whether the instruction only increments or decrements the register, like the stack pointer
    /// or the index registers of string instructions.
    fn is_stepped(&self, register: Register) -> bool {
        let is_count =
            self.instruction.is_string_instruction() && register.full_register() == Register::RCX;
        is_count || self.is_in_address(register) && !self.is_operand(register, is_written)
    }

    /// Whether a part of the register keeps its value, or may keep it.
    fn keeps_part(&self, register: Register, access: OpAccess) -> bool {
        access == OpAccess::CondWrite
            || register.is_gpr() && register.size() < 4
            || number_of(register) == Some(X87)
    }
}

impl Flow {
    fn value(&self, register: Register) -> Sources {
        number_of(register).map_or(Sources::NONE, |number| self.registers[usize::from(number)])
    }

    /// Returns the sources of the address that the instruction writes (if `is_store`) or reads;
    /// `None` if the instruction has no such access.
    fn address(&self, used: &Used<'_>, is_store: bool) -> Option<Sources> {
        let is_asked = if is_store { is_written } else { is_read };
        used.info
            .used_memory()
            .iter()
            .filter(|memory| is_asked(memory.access()))
            .map(|memory| self.value(memory.base()).and(self.value(memory.index())))
            .reduce(Sources::and)
    }

    /// Returns the sources of the instruction's results, except for what it loads.
    fn data(&self, used: &Used<'_>) -> Sources {
        let read = used.info.used_registers().iter().filter(|register| {
            let (register, access) = (register.register(), register.access());
            is_read(access) && (used.is_operand(register, is_read) || !used.is_in_address(register))
        });
        let flags = if used.instruction.rflags_read() & STATUS == 0 {
            Sources::NONE
        } else {
            self.registers[usize::from(FLAGS)]
        };
        read.map(|register| self.value(register.register()))
            .fold(flags, Sources::and)
    }

    /// Advances by one instruction, whose references are `own`. Appends the dependences of `own` to
    /// `into`. Returns `None` if `own` cannot be the instruction's references.
    fn step(
        &mut self,
        used: &Used<'_>,
        own: &[ShapeReference],
        into: &mut Vec<ReferenceDependence>,
    ) -> Option<()> {
        let mut data = self.data(used);
        let mut addresses = Vec::new();
        for form in own {
            let is_store = form.reference.is_store();
            addresses.push((self.address(used, is_store)?, is_store));
            if !is_store {
                data = data.and(Sources::load(self.loads)?);
                self.loads += 1;
            }
        }
        into.extend(addresses.into_iter().map(|(address, is_store)| {
            if is_store {
                ReferenceDependence::Store(address, data)
            } else {
                ReferenceDependence::Load(address)
            }
        }));
        for register in used.info.used_registers() {
            let (register, access) = (register.register(), register.access());
            let Some(number) = number_of(register).filter(|_| is_written(access)) else {
                continue;
            };
            if !used.is_stepped(register) {
                let kept = if used.keeps_part(register, access) {
                    self.value(register)
                } else {
                    Sources::NONE
                };
                self.registers[usize::from(number)] = data.and(kept);
            }
        }
        if used.instruction.rflags_modified() & STATUS != 0 {
            self.registers[usize::from(FLAGS)] = data;
        }
        Some(())
    }
}

/// Returns the dependences of a block; `None` if its code does not match its length, instructions
/// or references.
pub(super) fn find_dependences(
    block: &Block,
    references: &[ShapeReference],
    code: &[u8],
) -> Option<BlockDependences> {
    let mut decoder = Decoder::with_ip(64, code, block.address, DecoderOptions::NONE);
    let mut factory = InstructionInfoFactory::new();
    let mut flow = Flow {
        registers: std::array::from_fn(|number| initial(number as u8)),
        loads: 0,
    };
    let mut found = BlockDependences::default();
    let mut rest = references;
    let mut instructions = 0;
    while decoder.can_decode() {
        let instruction = decoder.decode();
        if instruction.is_invalid() {
            return None;
        }
        let through = decoder.position() as u16 - 1;
        let count = rest
            .iter()
            .take_while(|form| form.reference.through() == through)
            .count();
        let used = Used {
            instruction: &instruction,
            info: factory.info(&instruction),
        };
        flow.step(&used, rest.split_off(..count)?, &mut found.references)?;
        instructions += 1;
    }
    let changed = flow
        .registers
        .iter()
        .zip(0..)
        .filter(|&(&value, number)| number != FLAGS && value != initial(number));
    found.registers = changed.map(|(&value, number)| (number, value)).collect();
    (rest.is_empty() && instructions == block.instructions).then_some(found)
}

#[cfg(test)]
mod tests {
    use switchcost_trace::{AddressKind, Reference};

    use super::*;
    use ReferenceDependence::{Load, Store};

    const RAX: u8 = 0;
    const RCX: u8 = 1;
    const RBX: u8 = 3;
    const RSI: u8 = 6;
    const RDI: u8 = 7;

    /// Returns the dependences of a block. Each instruction is given by its bytes, and by whether
    /// each of its references is a store.
    fn found(instructions: &[(&[u8], &[bool])]) -> Option<BlockDependences> {
        let (mut code, mut references) = (Vec::new(), Vec::new());
        for (bytes, stores) in instructions {
            code.extend(*bytes);
            references.extend(stores.iter().map(|&is_store| ShapeReference {
                reference: Reference::new(0, 7, code.len() as u16 - 1, is_store),
                place: AddressKind::Explicit,
            }));
        }
        let block = Block {
            address: 0x1000,
            bytes: code.len() as u16,
            instructions: instructions.len() as u16,
            references: references.len() as u16,
            first_bytes: instructions[0].0.len() as u8,
            ..Block::default()
        };
        find_dependences(&block, &references, &code)
    }

    #[track_caller]
    fn assert_found(
        instructions: &[(&[u8], &[bool])],
        references: Vec<ReferenceDependence>,
        registers: Vec<(u8, Sources)>,
    ) {
        let expected = BlockDependences {
            references,
            registers,
        };
        assert_eq!(found(instructions), Some(expected));
    }

    fn register(number: u8) -> Sources {
        Sources::register(number).expect("it is followed")
    }

    fn load(number: u8) -> Sources {
        Sources::load(number).expect("it is followed")
    }

    const NONE: Sources = Sources::NONE;

    #[test]
    fn a_chase_waits_for_itself() {
        // mov rax,[rax]; test rax,rax; jne
        assert_found(
            &[
                (&[0x48, 0x8b, 0x00], &[false]),
                (&[0x48, 0x85, 0xc0], &[]),
                (&[0x75, 0xf8], &[]),
            ],
            vec![Load(register(RAX))],
            vec![(RAX, load(0))],
        );
    }

    #[test]
    fn an_index_is_loaded_and_a_sum_is_not_part_of_the_address() {
        // movsxd rcx,[rsi]; add rax,[rdi+rcx*8]; add rsi,4; dec ebx; jne
        assert_found(
            &[
                (&[0x48, 0x63, 0x0e], &[false]),
                (&[0x48, 0x03, 0x04, 0xcf], &[false]),
                (&[0x48, 0x83, 0xc6, 0x04], &[]),
                (&[0xff, 0xcb], &[]),
                (&[0x75, 0xf1], &[]),
            ],
            vec![Load(register(RSI)), Load(register(RDI).and(load(0)))],
            vec![(RAX, register(RAX).and(load(1))), (RCX, load(0))],
        );
    }

    #[test]
    fn the_stack_pointer_and_constants_are_nothing() {
        // push rbx; xor eax,eax; mov ecx,5; pop rsi; ret
        assert_found(
            &[
                (&[0x53], &[true]),
                (&[0x31, 0xc0], &[]),
                (&[0xb9, 5, 0, 0, 0], &[]),
                (&[0x5e], &[false]),
                (&[0xc3], &[false]),
            ],
            vec![Store(NONE, register(RBX)), Load(NONE), Load(NONE)],
            vec![(RAX, NONE), (RCX, NONE), (RSI, load(0))],
        );
    }

    #[test]
    fn a_part_of_a_register_keeps_the_rest() {
        // mov al,[rbx]; movzx ecx,byte [rbx]; cmove rsi,[rdi]
        assert_found(
            &[
                (&[0x8a, 0x03], &[false]),
                (&[0x0f, 0xb6, 0x0b], &[false]),
                (&[0x48, 0x0f, 0x44, 0x37], &[false]),
            ],
            vec![
                Load(register(RBX)),
                Load(register(RBX)),
                Load(register(RDI)),
            ],
            vec![
                (RAX, register(RAX).and(load(0))),
                (RCX, load(1)),
                (RSI, register(RSI).and(load(2))),
            ],
        );
    }

    #[test]
    fn a_copy_steps_its_registers_and_stores_what_it_loads() {
        // rep movsq; lea rax,[rsi+rdi]; add [rax],rbx
        let sum = register(RSI).and(register(RDI));
        let stored = register(RBX).and(load(1));
        assert_found(
            &[
                (&[0xf3, 0x48, 0xa5], &[false, true]),
                (&[0x48, 0x8d, 0x04, 0x3e], &[]),
                (&[0x48, 0x01, 0x18], &[false, true]),
            ],
            vec![
                Load(register(RSI)),
                Store(register(RDI), register(RCX).and(load(0))),
                Load(sum),
                Store(sum, stored),
            ],
            vec![(RAX, sum)],
        );
    }

    #[test]
    fn a_jump_waits_for_its_target_and_vectors_are_followed() {
        // movdqu xmm1,[rdi]; pxor xmm0,xmm0; movq rax,xmm1; jmp [rbx+rax*8]
        assert_found(
            &[
                (&[0xf3, 0x0f, 0x6f, 0x0f], &[false]),
                (&[0x66, 0x0f, 0xef, 0xc0], &[]),
                (&[0x66, 0x48, 0x0f, 0x7e, 0xc8], &[]),
                (&[0xff, 0x24, 0xc3], &[false]),
            ],
            vec![Load(register(RDI)), Load(register(RBX).and(load(0)))],
            vec![(RAX, load(0)), (VECTORS, NONE), (VECTORS + 1, load(0))],
        );
    }

    #[test]
    fn code_that_is_not_as_the_block_claims_is_unknown() {
        let nop: &[u8] = &[0x90];
        assert!(found(&[(nop, &[])]).is_some());
        assert_eq!(found(&[(nop, &[false])]), None, "it loads nothing");
        assert_eq!(found(&[(&[0x90, 0x90], &[])]), None, "two instructions");
        assert_eq!(found(&[(&[0x48, 0x8b], &[])]), None, "cut");
        let loads = vec![(&[0x48, 0x8b, 0x00][..], &[false][..]); 63];
        assert!(found(&loads[1..]).is_some());
        assert_eq!(found(&loads), None, "too many loads");
    }
}
