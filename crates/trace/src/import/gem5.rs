//! Imports gem5's packet traces (`src/proto/packet.proto` there), written by `CommMonitor` and
//! `MemTraceProbe`: the word `gem5`, then protobuf messages, each after its length: a header, and a
//! packet for each request.

use std::io::BufRead;

use super::assembler::Assembler;
use super::packed::Unpacked;
use super::{ImportError, ImportFormat, Imported, Location, Source};

const MAGIC: &[u8; 4] = b"gem5";
const NEEDED_MAGIC: &str = "gem5's packet trace, which begins with the word gem5";
const NEEDED_MESSAGE: &str = "a message of gem5's packet.proto";
/// Maximum length in bytes of a message that is read. The header lists requestors; a packet has
/// about forty bytes.
const LONGEST_MESSAGE: u64 = 1 << 20;
/// Numbers of the commands (gem5's `MemCmd`) that load: reads, and the reads of atomic
/// instructions. Numbers above 29 belong to release 22.1 and later.
const LOADS: [u64; 3] = [1, 26, 30];
/// Numbers of the commands (gem5's `MemCmd`) that store: writes, writes of a whole line, and the
/// writes of atomic instructions.
const STORES: [u64; 4] = [4, 16, 27, 32];
/// Number of the command (gem5's `MemCmd`) that loads and stores: a swap.
const SWAP: u64 = 34;
/// Numbers of the commands (gem5's `MemCmd`) with which a cache requests a line: exclusive, clean,
/// or shared.
const LINES: [u64; 3] = [22, 24, 25];
/// Flag of a request that fetches an instruction.
const IS_FETCH: u64 = 0x100;
/// Longest fetch that becomes one instruction, in bytes.
const LONGEST_FETCH: u64 = 255;

const BETWEEN_CACHES: &str = "the trace was taken after a cache: its packets are the lines that missed there, not the program's \
    references";
const PACKETS: &str = "the trace has gem5's packets: addresses are physical, in one process, and each fetched packet counts as \
    one instruction, so the CPI is meaningless";
const WITHOUT_FETCHES: &str = "the trace has no instruction fetches: the instructions are those that its data packets name (one \
    byte each), or were added";

pub(super) struct Gem5<R: BufRead> {
    records: Unpacked<R>,
    has_header: bool,
    has_fetches: bool,
    has_lines: bool,
    last_pc: Option<u64>,
}

/// Fields of a packet that the importer reads.
#[derive(Debug, Default, PartialEq, Eq)]
struct Packet {
    command: u64,
    address: u64,
    size: u64,
    flags: u64,
    pc: Option<u64>,
}

impl<R: BufRead> Gem5<R> {
    pub(super) fn new(from: R) -> Imported<Self> {
        Ok(Gem5 {
            records: Unpacked::new(from, ImportFormat::Gem5)?,
            has_header: false,
            has_fetches: false,
            has_lines: false,
            last_pc: None,
        })
    }

    fn read_magic(&mut self) -> Imported {
        let (place, mut magic) = (self.records.place(), [0; MAGIC.len()]);
        let filled = self.records.fill(&mut magic)?;
        if filled < magic.len() || magic != *MAGIC {
            let found = format!("the bytes {:02x?}", &magic[..filled]);
            return Err(ImportError::Unknown {
                place,
                found,
                needed: NEEDED_MAGIC,
            });
        }
        Ok(())
    }

    fn next_message(&mut self) -> Imported<Option<Vec<u8>>> {
        let place = self.records.place();
        let Some(length) = self.next_length(place)? else {
            return Ok(None);
        };
        if length > LONGEST_MESSAGE {
            return Err(unknown(place, &format!("a message of {length} bytes")));
        }
        let mut message = vec![0; length as usize];
        if self.records.fill(&mut message)? < message.len() {
            return Err(ImportError::Cut {
                place,
                needed: "a whole message",
            });
        }
        Ok(Some(message))
    }

    fn next_length(&mut self, place: Location) -> Imported<Option<u64>> {
        let mut length = 0;
        for shift in (0..64).step_by(7) {
            let mut byte = [0];
            match (self.records.fill(&mut byte)?, shift) {
                (0, 0) => return Ok(None),
                (0, _) => {
                    return Err(ImportError::Cut {
                        place,
                        needed: "a whole message",
                    });
                }
                _ => length |= u64::from(byte[0] & 0x7f) << shift,
            }
            if byte[0] & 0x80 == 0 {
                return Ok(Some(length));
            }
        }
        Err(unknown(place, "a length without end"))
    }

    fn put(&mut self, place: Location, packet: &Packet, assembler: &mut Assembler) -> Imported {
        self.has_lines |= LINES.contains(&packet.command);
        if packet.flags & IS_FETCH != 0 {
            self.has_fetches = true;
            return assembler.instruction(place, packet.address, packet.size.min(LONGEST_FETCH));
        }
        match packet.pc.filter(|_| !self.has_fetches) {
            Some(pc) if self.last_pc.replace(pc) != Some(pc) => {
                assembler.instruction(place, pc, 1)?
            }
            _ => assembler.make_up_instruction(),
        }
        if packet.loads() {
            assembler.reference(place, packet.address, packet.size, false)?;
        }
        if packet.stores() {
            assembler.reference(place, packet.address, packet.size, true)?;
        }
        Ok(())
    }
}

impl<R: BufRead> Source for Gem5<R> {
    fn notes(&self) -> Vec<&'static str> {
        let between_caches = self.has_lines.then_some(BETWEEN_CACHES);
        let without_fetches = (!self.has_fetches).then_some(WITHOUT_FETCHES);
        [Some(PACKETS), between_caches, without_fetches]
            .into_iter()
            .flatten()
            .collect()
    }

    fn step(&mut self, into: &mut Assembler) -> Imported<bool> {
        if !self.has_header {
            self.read_magic()?;
        }
        let place = self.records.place();
        let Some(message) = self.next_message()? else {
            return Ok(false);
        };
        let fields = fields(&message).ok_or_else(|| unknown(place, "bytes that are no fields"))?;
        if !std::mem::replace(&mut self.has_header, true) {
            return Ok(true);
        }
        let packet = Packet::new(&fields);
        if packet.size > 0 && (packet.loads() || packet.stores()) {
            self.put(place, &packet, into)?;
        } else {
            into.ignored += 1;
        }
        Ok(true)
    }
}

impl Packet {
    fn loads(&self) -> bool {
        self.command == SWAP || LOADS.contains(&self.command) || LINES.contains(&self.command)
    }

    fn stores(&self) -> bool {
        self.command == SWAP || STORES.contains(&self.command)
    }

    fn new(fields: &[(u64, u64)]) -> Packet {
        let field = |number: u64| {
            fields
                .iter()
                .rev()
                .find(|(other, _)| *other == number)
                .map(|(_, value)| *value)
        };
        let number = |of: u64| field(of).unwrap_or(0);
        Packet {
            command: number(2),
            address: number(3),
            size: number(4),
            flags: number(5),
            pc: field(7),
        }
    }
}

fn unknown(place: Location, found: &str) -> ImportError {
    ImportError::Unknown {
        place,
        found: found.to_owned(),
        needed: NEEDED_MESSAGE,
    }
}

/// Returns the number and the value of each field of a message. A field that is not an integer has
/// value 0. Returns `None` if the bytes are not a message.
fn fields(mut bytes: &[u8]) -> Option<Vec<(u64, u64)>> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes)?;
        let value = match key & 7 {
            0 => varint(&mut bytes)?,
            wire @ (1 | 2 | 5) => {
                let length = match wire {
                    1 => 8,
                    5 => 4,
                    _ => usize::try_from(varint(&mut bytes)?).ok()?,
                };
                bytes = bytes.get(length..)?;
                0
            }
            _ => return None,
        };
        fields.push((key >> 3, value));
    }
    Some(fields)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::tests::{blocks, first, open, touched};
    use crate::{Chunk, ImportFormat};

    fn put_varint(bytes: &mut Vec<u8>, mut value: u64) {
        while value >= 0x80 {
            bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
    }

    /// Creates a message of integer fields, each given by number and value. The message's length
    /// precedes it.
    fn message(fields: &[(u64, u64)]) -> Vec<u8> {
        let mut body = Vec::new();
        for &(number, value) in fields {
            put_varint(&mut body, number << 3);
            put_varint(&mut body, value);
        }
        let mut bytes = Vec::new();
        put_varint(&mut bytes, body.len() as u64);
        bytes.extend(body);
        bytes
    }

    /// Creates a header as gem5's code writes it: the monitor's name, a tick frequency, and
    /// requestors.
    fn header() -> Vec<u8> {
        let body = [
            &[0x0a, 3][..],
            b"mon",
            &[0x18, 0x80, 0x08],
            &[0x22, 6, 0x08, 1, 0x12, 2],
            b"cp",
        ]
        .concat();
        [&b"gem5"[..], &[body.len() as u8], &body].concat()
    }

    fn packet(command: u64, address: u64, size: u64, rest: &[(u64, u64)]) -> Vec<u8> {
        message(
            &[
                &[(1, 1_000_000), (2, command), (3, address), (4, size)],
                rest,
            ]
            .concat(),
        )
    }

    type Read = (
        Vec<(u64, u16, u16, u16)>,
        Vec<(u64, bool)>,
        u64,
        Vec<String>,
    );

    fn read(packets: &[Vec<u8>]) -> Read {
        let bytes = [header(), packets.concat()].concat();
        let mut importer = open(ImportFormat::Gem5, &bytes).expect("no packed file");
        let chunk = first(&mut importer);
        assert!(
            !importer
                .next_into(&mut Chunk::default())
                .expect("a whole file")
        );
        let references = touched(&chunk).into_iter();
        (
            blocks(&chunk),
            references
                .map(|(address, _, is_store)| (address, is_store))
                .collect(),
            importer.ignored_lines(),
            importer.notes(),
        )
    }

    const FETCH: (u64, u64) = (5, 0x100);

    #[test]
    fn fetches_are_instructions_and_requests_of_theirs_follow_them() {
        let (blocks, references, ignored, notes) = read(&[
            packet(1, 0x8000_0000, 4, &[FETCH]),
            packet(1, 0x9000_0010, 8, &[(7, 0x40_0000)]),
            packet(1, 0x8000_0004, 4, &[FETCH]),
            packet(4, 0x9000_0020, 8, &[]),
            // A write-back, which belongs to no instruction.
            packet(7, 0x9000_0040, 64, &[]),
        ]);
        assert_eq!(blocks, [(0x8000_0000, 8, 2, 2)]);
        assert_eq!(
            (references, ignored),
            (vec![(0x9000_0010, false), (0x9000_0020, true)], 1)
        );
        assert!(
            notes.len() == 1 && notes[0].contains("physical"),
            "{notes:?}"
        );
    }

    #[test]
    fn without_fetches_instructions_are_those_that_packets_name() {
        let named = [(7, 0x40_0000)];
        let (blocks, ..) = read(&[
            packet(1, 0x9000_0010, 8, &named),
            packet(4, 0x9000_0010, 8, &named),
            packet(1, 0x9000_0010, 8, &[(7, 0x40_0010)]),
        ]);
        assert_eq!(blocks, [(0x40_0000, 1, 1, 2), (0x40_0010, 1, 1, 1)]);
        let (blocks, .., notes) = read(&[packet(1, 0x9000_0010, 8, &[])]);
        assert_eq!(
            (blocks.len(), notes.len()),
            (1, 3),
            "one made up: {notes:?}"
        );
    }

    #[test]
    fn atomic_commands_load_and_store_and_those_between_caches_are_lines() {
        // Load-locked, store-conditional, a locked read and write, a swap; a write of a line, then an upgrade, which moves nothing.
        let commands = [26, 27, 30, 32, 34, 16, 17];
        let packets = commands.map(|command| packet(command, 64, 8, &[]));
        let (_, references, ignored, notes) = read(&packets);
        let stores: Vec<bool> = references.iter().map(|(_, is_store)| *is_store).collect();
        assert_eq!(
            (stores, ignored),
            (vec![false, true, false, true, false, true, true], 1)
        );
        let is_of_lines =
            |notes: &[String]| notes.iter().any(|note| note.contains("are the lines"));
        assert!(!is_of_lines(&notes), "{notes:?}");
        for command in [22, 24, 25] {
            let (_, references, _, notes) = read(&[packet(command, 64, 64, &[])]);
            assert_eq!(references, [(64, false)]);
            assert!(is_of_lines(&notes), "{notes:?}");
        }
    }

    fn error(bytes: &[u8]) -> String {
        let importer = open(ImportFormat::Gem5, bytes).expect("no packed file");
        crate::import::tests::failure(importer).to_string()
    }

    #[test]
    fn what_is_no_such_trace_or_was_cut_is_named_by_its_place() {
        let text = error(b"gem4");
        assert!(
            text.starts_with("byte 0: expected gem5's packet trace"),
            "{text}"
        );
        let whole = [header(), packet(1, 64, 8, &[])].concat();
        let at = header().len();
        let text = error(&whole[..whole.len() - 2]);
        assert!(
            text.starts_with(&format!(
                "byte {at}: the file is cut: a whole message should follow"
            )),
            "{text}"
        );
        let text = error(&[header(), vec![2, 0x0f, 0]].concat());
        assert!(text.contains("found bytes that are no fields"), "{text}");
        let text = error(&[header(), vec![0xff; 12]].concat());
        assert!(text.contains("found a length without end"), "{text}");
        let text = error(&[header(), vec![0xff, 0xff, 0xff, 0x7f]].concat());
        assert!(
            text.contains("found a message of 268435455 bytes"),
            "{text}"
        );
    }
}
