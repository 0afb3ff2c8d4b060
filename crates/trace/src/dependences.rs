//! Dependences of code: on which loads and registers the addresses, stored data and registers of
//! each block depend.
//!
//! The input is rules that a frontend has derived from the code of blocks; the output is the rules
//! of each block, read from the end of a trace. This module does not know instructions;
//! docs/formats/trace.md has the encoding.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;
use xxhash_rust::xxh3::xxh3_64;

use crate::codec::{Numbers, put, unzigzag, zigzag};
use crate::{Block, Reference};

/// Set of what a value depends on: registers at the start of a block, and loads of the block. One
/// bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sources(u128);

/// Number of registers. In rules, the loads of a block are numbered after them.
const REGISTERS: u8 = 64;
/// Maximum number of loads of a block that has dependences.
const LOADS: u8 = STORE - REGISTERS;
/// Byte of the rules that precedes the sources of a store.
const STORE: u8 = 126;
/// Byte of the rules that stands for an empty set of sources.
const NOTHING: u8 = 127;
/// Bit set in every byte of a set of sources except the last.
const CONTINUES: u8 = 128;

impl Sources {
    /// The empty set, for a constant or the stack pointer.
    pub const NONE: Sources = Sources(0);

    /// Returns the set of register `number` alone; `None` if there is no such register.
    #[inline]
    pub fn register(number: u8) -> Option<Sources> {
        (number < REGISTERS).then(|| Sources(1 << number))
    }

    /// Returns the set of load `number` of the block alone, counted from 0; `None` if the number is
    /// not below [`LOADS`].
    #[inline]
    pub fn load(number: u8) -> Option<Sources> {
        (number < LOADS).then(|| Sources(1 << (REGISTERS + number)))
    }

    /// Returns the union of two sets.
    #[inline]
    #[must_use]
    pub fn and(self, other: Sources) -> Sources {
        Sources(self.0 | other.0)
    }

    fn put(self, into: &mut Vec<u8>) {
        if self.0 == 0 {
            into.push(NOTHING);
        }
        let mut left = self.0;
        while left != 0 {
            let source = left.trailing_zeros() as u8;
            left &= left - 1;
            into.push(if left == 0 {
                source
            } else {
                source | CONTINUES
            });
        }
    }
}

/// Dependences of one load or store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceDependence {
    /// A load, with the sources of its address.
    Load(Sources),
    /// A store, with the sources of its address and of its data.
    Store(Sources, Sources),
}

/// Dependences of a block, as a frontend collects them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockDependences {
    /// Dependences of each reference of the block, in order.
    pub references: Vec<ReferenceDependence>,
    /// Registers whose value changes, ascending, each with the sources of the new value.
    pub registers: Vec<(u8, Sources)>,
}

impl BlockDependences {
    fn encode(&self) -> Vec<u8> {
        let mut rules = Vec::new();
        for reference in &self.references {
            match reference {
                ReferenceDependence::Load(address) => address.put(&mut rules),
                ReferenceDependence::Store(address, data) => {
                    rules.push(STORE);
                    address.put(&mut rules);
                    data.put(&mut rules);
                }
            }
        }
        rules.push(self.registers.len() as u8);
        for (register, sources) in &self.registers {
            rules.push(*register);
            sources.put(&mut rules);
        }
        rules
    }
}

/// Value of each register at the start of a block, and of each load of the block. The caller
/// defines what a value is.
#[derive(Clone, Copy, Debug)]
pub struct Values<T>([T; 128]);

impl<T: Copy + Default + Ord> Default for Values<T> {
    fn default() -> Self {
        Values([T::default(); 128])
    }
}

impl<T: Copy + Default + Ord> Values<T> {
    /// Sets the value of a register.
    pub fn set_register(&mut self, register: u8, value: T) {
        if register < REGISTERS {
            self.0[usize::from(register)] = value;
        }
    }

    /// Removes a set of sources from the front of `rules`, and returns the largest value in the
    /// set.
    #[inline]
    fn largest(&self, rules: &mut &[u8]) -> T {
        let mut largest = T::default();
        while let [source, rest @ ..] = *rules {
            *rules = rest;
            largest = largest.max(self.0[usize::from(source & !CONTINUES)]);
            if source & CONTINUES == 0 {
                break;
            }
        }
        largest
    }
}

/// A load or store that is executed, with the values on which it depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Followed<T> {
    /// A load, with the largest value on which its address depends.
    Load(Reference, T),
    /// A store, with the largest values on which its address and its data depend.
    Store(Reference, T, T),
}

/// Encoded dependences of one block's references and registers.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a>(&'a [u8]);

impl Rules<'_> {
    /// Follows an execution of the block. Calls `take` with each load and store. For a load, `take`
    /// returns the value that is loaded.
    #[inline]
    pub fn follow<T: Copy + Default + Ord>(
        self,
        values: &mut Values<T>,
        references: &[Reference],
        mut take: impl FnMut(Followed<T>) -> T,
    ) {
        let mut rules = self.0;
        let mut load = usize::from(REGISTERS);
        for &reference in references {
            if reference.is_store() {
                rules.split_off_first();
                let address = values.largest(&mut rules);
                let data = values.largest(&mut rules);
                take(Followed::Store(reference, address, data));
            } else {
                let address = values.largest(&mut rules);
                let value = take(Followed::Load(reference, address));
                if load < usize::from(STORE) {
                    values.0[load] = value;
                    load += 1;
                }
            }
        }
        let count = rules.split_off_first().copied().unwrap_or_default();
        let mut changed = [(0, T::default()); REGISTERS as usize];
        let changed = &mut changed[..usize::from(count.min(REGISTERS))];
        for (register, value) in &mut *changed {
            *register = rules.split_off_first().copied().unwrap_or_default();
            *value = values.largest(&mut rules);
        }
        for &mut (register, value) in changed {
            values.set_register(register, value);
        }
    }
}

/// Identity of a block: address, length in bytes, and number of references.
type Key = (u64, u16, u16);

fn key_of(block: &Block) -> Key {
    (block.address, block.bytes, block.references)
}

/// Position of a block's rules.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// Checksum of the block's code; used only while a trace is written.
    code: u64,
    first: u32,
    /// Length of the rules in bytes; 0 if the block's dependences are unknown.
    length: u32,
}

/// Maximum number of blocks for which dependences are stored.
const MOST: usize = 1 << 20;
const MOST_BYTES: usize = 64 << 20;

/// Dependences of all blocks of a trace. Two processes may have different code at one address: if
/// blocks with the same key have different dependences, they count as unknown.
#[derive(Clone, Default)]
pub struct Dependences {
    known: FxHashMap<Key, Known>,
    rules: Vec<u8>,
}

/// Prints the number of blocks instead of their rules.
impl std::fmt::Debug for Dependences {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Dependences({})", self.known.len())
    }
}

impl Dependences {
    /// Whether the dependences of all blocks are unknown.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Adds a block, if there is room. Calls `find` for the dependences if the code is new.
    pub fn learn(
        &mut self,
        block: &Block,
        code: &[u8],
        find: impl FnOnce() -> Option<BlockDependences>,
    ) {
        let code = xxh3_64(code);
        let has_room = self.known.len() < MOST && self.rules.len() < MOST_BYTES;
        match self.known.entry(key_of(block)) {
            Entry::Vacant(place) if has_room => {
                let rules = find().map_or(Vec::new(), |found| found.encode());
                place.insert(Known {
                    code,
                    first: self.rules.len() as u32,
                    length: rules.len() as u32,
                });
                self.rules.extend(rules);
            }
            Entry::Occupied(mut known) if known.get().code != code => {
                let known = known.get_mut();
                let rules = &self.rules[known.first as usize..][..known.length as usize];
                if find().is_none_or(|found| found.encode() != rules) {
                    known.length = 0;
                }
                known.code = code;
            }
            _ => {}
        }
    }

    /// Returns the rules of a block; `None` if they are not known.
    pub fn rules(&self, block: &Block) -> Option<Rules<'_>> {
        let known = self.known.get(&key_of(block))?;
        let rules = &self.rules[known.first as usize..][..known.length as usize];
        (!rules.is_empty()).then_some(Rules(rules))
    }

    /// Encodes the body of a record: a zstd frame of the blocks by ascending address.
    pub(crate) fn encode(&self) -> std::io::Result<Vec<u8>> {
        let mut blocks: Vec<(&Key, &Known)> = self
            .known
            .iter()
            .filter(|(_, known)| known.length > 0)
            .collect();
        blocks.sort_unstable_by_key(|(key, _)| **key);
        // Stored column by column, because similar numbers compress better.
        let mut columns: [Vec<u8>; 4] = Default::default();
        put(&mut columns[0], blocks.len() as u64);
        let mut end = 0u64;
        for (&(address, bytes, references), known) in blocks {
            put(
                &mut columns[0],
                zigzag(address.wrapping_sub(end).cast_signed()),
            );
            put(&mut columns[1], bytes.into());
            put(&mut columns[2], references.into());
            columns[3].extend(&self.rules[known.first as usize..][..known.length as usize]);
            end = address.wrapping_add(bytes.into());
        }
        zstd::bulk::compress(&columns.concat(), 0)
    }

    /// Decodes the body of a record, the reverse of `encode`.
    pub(crate) fn decode(body: &[u8]) -> Result<Dependences, &'static str> {
        const CUT: &str = "it ends too early";
        let length = zstd::zstd_safe::get_frame_content_size(body).ok().flatten();
        let most = length.unwrap_or(0).min(2 * MOST_BYTES as u64) as usize;
        let bytes =
            zstd::bulk::decompress(body, most).map_err(|_| "it is no zstd frame, or too long")?;
        let mut numbers = Numbers::new("dependences", &bytes);
        let mut column = |count: u64, most: u64| -> Result<Vec<u64>, &'static str> {
            (0..count)
                .map(|_| numbers.next_at_most(most).map_err(|_| CUT))
                .collect()
        };
        let count = column(1, MOST as u64)?[0];
        let addresses = column(count, u64::MAX)?;
        let lengths = column(count, u16::MAX.into())?;
        let references = column(count, u16::MAX.into())?;
        let mut found = Dependences {
            known: FxHashMap::default(),
            rules: numbers.rest().to_vec(),
        };
        let (mut rest, mut end) = (&found.rules[..], 0u64);
        for ((moved, bytes), references) in addresses.into_iter().zip(lengths).zip(references) {
            let address = end.wrapping_add(unzigzag(moved).cast_unsigned());
            let key = (address, bytes as u16, references as u16);
            end = address.wrapping_add(bytes);
            let first = found.rules.len() - rest.len();
            let length = length_of(rest, key.2).ok_or(CUT)?;
            rest = &rest[length..];
            let known = Known {
                code: 0,
                first: first as u32,
                length: length as u32,
            };
            found.known.insert(key, known);
        }
        if rest.is_empty() {
            Ok(found)
        } else {
            Err("something follows its last block")
        }
    }
}

/// Returns the length in bytes of the rules at the front of `bytes`, for a block with `references`
/// references; `None` if the rules are incomplete.
fn length_of(bytes: &[u8], references: u16) -> Option<usize> {
    let mut rest = bytes;
    let sources = |rest: &mut &[u8]| {
        let length = 1 + rest.iter().position(|source| source & CONTINUES == 0)?;
        *rest = &rest[length..];
        Some(())
    };
    for _ in 0..references {
        if rest.first() == Some(&STORE) {
            rest = &rest[1..];
            sources(&mut rest)?;
        }
        sources(&mut rest)?;
    }
    let count = *rest.split_off_first()?;
    for _ in 0..count {
        rest.split_off_first()
            .filter(|&&register| register < REGISTERS)?;
        sources(&mut rest)?;
    }
    (count <= REGISTERS).then(|| bytes.len() - rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ReferenceDependence::{Load, Store};

    fn register(number: u8) -> Sources {
        Sources::register(number).expect("it is followed")
    }

    fn load(number: u8) -> Sources {
        Sources::load(number).expect("it is followed")
    }

    fn block(address: u64, references: u16) -> Block {
        Block {
            address,
            bytes: 8,
            instructions: 2,
            references,
            first_bytes: 4,
            ..Block::default()
        }
    }

    /// Returns the dependences of a block: a load from the address in register 3, a load from
    /// register 5 plus the first load, and a store of both loads to the address in register 3.
    /// Registers 0 and 3 are exchanged, and register 7 becomes a constant.
    fn example() -> BlockDependences {
        BlockDependences {
            references: vec![
                Load(register(3)),
                Load(register(5).and(load(0))),
                Store(register(3), load(0).and(load(1))),
            ],
            registers: vec![(0, register(3)), (3, register(0)), (7, Sources::NONE)],
        }
    }

    fn learned() -> Dependences {
        let mut all = Dependences::default();
        all.learn(&block(0x2000, 3), b"code", || Some(example()));
        all.learn(&block(0x1000, 0), b"other", || {
            Some(BlockDependences::default())
        });
        all.learn(&block(0x3000, 0), b"unknown", || None);
        all
    }

    fn rules(all: &Dependences, block: &Block) -> Option<Vec<u8>> {
        all.rules(block).map(|rules| rules.0.to_vec())
    }

    #[test]
    fn what_is_written_is_read_again() {
        let body = learned().encode().expect("memory does not fail");
        let read = Dependences::decode(&body).expect("it was written");
        for (block, is_known) in [
            (block(0x2000, 3), true),
            (block(0x1000, 0), true),
            (block(0x1000, 1), false),
            (block(0x3000, 0), false),
        ] {
            assert_eq!(rules(&read, &block), rules(&learned(), &block));
            assert_eq!(rules(&read, &block).is_some(), is_known, "{block:?}");
        }
        for end in 0..body.len() {
            assert!(Dependences::decode(&body[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn every_cut_of_what_is_packed_is_refused() {
        let body = learned().encode().expect("memory does not fail");
        let bytes = zstd::bulk::decompress(&body, 1 << 10).expect("a frame");
        let packed = |bytes: &[u8]| zstd::bulk::compress(bytes, 0).expect("memory does not fail");
        for end in 0..bytes.len() {
            assert!(
                Dependences::decode(&packed(&bytes[..end])).is_err(),
                "{end}"
            );
        }
        let longer = [&bytes[..], &[NOTHING]].concat();
        assert_eq!(
            Dependences::decode(&packed(&longer)).map(|_| ()),
            Err("something follows its last block")
        );
    }

    #[test]
    fn a_block_with_two_codes_is_known_only_if_they_depend_alike() {
        let mut all = learned();
        let (both, one) = (block(0x2000, 3), block(0x1000, 0));
        all.learn(&both, b"code", || unreachable!("it was seen"));
        all.learn(&both, b"alike", || Some(example()));
        assert!(all.rules(&both).is_some());
        all.learn(&one, b"another", || {
            Some(BlockDependences {
                registers: vec![(1, register(2))],
                ..BlockDependences::default()
            })
        });
        assert!(all.rules(&one).is_none());
        all.learn(&one, b"other", || Some(BlockDependences::default()));
        assert!(all.rules(&one).is_none(), "it stays unknown");
    }

    #[test]
    fn values_follow_a_block() {
        let all = learned();
        let mut values = Values::default();
        for (number, value) in [(0, 10), (3, 30), (5, 50), (7, 70)] {
            values.set_register(number, value);
        }
        let [first, second, third] =
            [false, false, true].map(|is_store| Reference::new(0x100, 8, 3, is_store));
        let mut seen = Vec::new();
        let rules = all.rules(&block(0x2000, 3)).expect("known");
        rules.follow(&mut values, &[first, second, third], |followed| {
            seen.push(followed);
            match followed {
                Followed::Load(_, address) | Followed::Store(_, address, _) => address + 1,
            }
        });
        assert_eq!(
            seen,
            [
                Followed::Load(first, 30),
                Followed::Load(second, 50),
                Followed::Store(third, 30, 51),
            ]
        );
        assert_eq!(
            [0, 3, 5, 7].map(|number: usize| values.0[number]),
            [30, 10, 50, 0]
        );
    }
}
