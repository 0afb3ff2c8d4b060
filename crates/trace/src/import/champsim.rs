//! Imports ChampSim's records of 64 bytes, little-endian, one per instruction
//! (`inc/trace_instruction.h` there): address (8 bytes), whether it is a branch and whether the
//! branch is taken (1 each), registers written (2) and read (4), addresses of memory written (2 of
//! 8) and read (4 of 8), 0 if there is none. Other tracers write longer records, such as that of
//! CloudSuite (96 bytes, with four addresses written), without stating this: the start of each
//! record identifies the format.

use std::io::BufRead;

use super::assembler::Assembler;
use super::packed::Unpacked;
use super::{ImportError, ImportFormat, Imported, Location, Source};

const RECORD_BYTES: usize = 64;
/// Lengths in bytes of other tracers' records, with the tracers' names.
const OTHERS: [(usize, &str); 2] = [
    (72, "ChampSim's records of 72 bytes"),
    (96, "ChampSim's records of 96 bytes, as of CloudSuite"),
];
const NEEDED: &str = "ChampSim's record of 64 bytes, with flags of 0 or 1";
/// Length of the longest instruction of x86.
const LONGEST: u64 = 15;

const WITHOUT_SIZES: &str = "ChampSim's traces have no sizes: each reference has one byte, and so has each \
    instruction that is not followed by the next one in memory";

pub(super) struct ChampSim<R: BufRead> {
    records: Unpacked<R>,
    /// The last instruction. The length of an instruction is known once the address of the next
    /// instruction is known.
    last: Option<(Location, Instruction)>,
}

struct Instruction {
    address: u64,
    is_taken: bool,
    stores: [u64; 2],
    loads: [u64; 4],
}

impl<R: BufRead> ChampSim<R> {
    pub(super) fn new(from: R) -> Imported<Self> {
        let records = Unpacked::new(from, ImportFormat::ChampSim)?;
        let place = records.place();
        let are_of = |bytes| are_records(records.start(), bytes);
        if !are_of(RECORD_BYTES)
            && let Some((_, found)) = OTHERS.into_iter().find(|(bytes, _)| are_of(*bytes))
        {
            return Err(ImportError::Unknown {
                place,
                found: found.to_owned(),
                needed: NEEDED,
            });
        }
        Ok(ChampSim {
            records,
            last: None,
        })
    }

    fn next_record(&mut self) -> Imported<Option<(Location, Instruction)>> {
        let mut bytes = [0; RECORD_BYTES];
        let place = self.records.place();
        match self.records.fill(&mut bytes)? {
            0 => Ok(None),
            RECORD_BYTES => {
                Instruction::decode(place, &bytes).map(|instruction| Some((place, instruction)))
            }
            _ => Err(ImportError::Cut {
                place,
                needed: "a whole record of 64 bytes",
            }),
        }
    }
}

impl<R: BufRead> Source for ChampSim<R> {
    fn step(&mut self, into: &mut Assembler) -> Imported<bool> {
        let next = self.next_record();
        let following = next
            .as_ref()
            .ok()
            .and_then(Option::as_ref)
            .map(|(_, instruction)| instruction.address);
        if let Some((place, instruction)) = self.last.take() {
            instruction.put(place, following, into)?;
        }
        self.last = next?;
        Ok(self.last.is_some())
    }

    fn notes(&self) -> Vec<&'static str> {
        vec![WITHOUT_SIZES]
    }
}

/// Whether bytes can be records of `record_bytes` bytes each. Each record must have valid flags and
/// the address of an instruction.
fn are_records(start: &[u8], record_bytes: usize) -> bool {
    start.len() >= record_bytes
        && start
            .chunks_exact(record_bytes)
            .all(|record| record[..8] != [0; 8] && record[8] <= 1 && record[9] <= 1)
}

impl Instruction {
    fn decode(place: Location, bytes: &[u8; RECORD_BYTES]) -> Imported<Self> {
        let (words, _) = bytes.as_chunks();
        let word = |index: usize| u64::from_le_bytes(words[index]);
        let [is_branch, is_taken] = [bytes[8], bytes[9]];
        if is_branch > 1 || is_taken > 1 || word(0) == 0 {
            let found = format!(
                "an instruction at {:#x} with the flags {is_branch} and {is_taken}",
                word(0)
            );
            return Err(ImportError::Unknown {
                place,
                found,
                needed: NEEDED,
            });
        }
        Ok(Instruction {
            address: word(0),
            is_taken: is_taken == 1,
            stores: [word(2), word(3)],
            loads: [word(4), word(5), word(6), word(7)],
        })
    }

    /// Adds the instruction, then its loads, then its stores.
    fn put(&self, place: Location, following: Option<u64>, assembler: &mut Assembler) -> Imported {
        let distance = following
            .filter(|_| !self.is_taken)
            .map(|next| next.wrapping_sub(self.address));
        let bytes = distance
            .filter(|bytes| (1..=LONGEST).contains(bytes))
            .unwrap_or(1);
        assembler.instruction(place, self.address, bytes)?;
        for (addresses, is_store) in [(&self.loads[..], false), (&self.stores[..], true)] {
            for &address in addresses.iter().filter(|&&address| address != 0) {
                assembler.reference(place, address, 1, is_store)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{blocks, first, open, touched};
    use super::RECORD_BYTES;
    use crate::{Chunk, ImportFormat};

    fn record(address: u64, branch: [u8; 2], stores: [u64; 2], loads: [u64; 4]) -> Vec<u8> {
        let mut bytes = address.to_le_bytes().to_vec();
        bytes.extend(branch);
        bytes.extend([0; 6]);
        stores
            .iter()
            .chain(&loads)
            .for_each(|word| bytes.extend(word.to_le_bytes()));
        bytes
    }

    /// Makes records of a load and a store by a three-byte instruction, an untaken jump, a jump
    /// taken to four bytes further, and its target.
    fn four() -> Vec<u8> {
        [
            record(0x40_0000, [0, 0], [0x7f_0010, 0], [0, 0x7f_0020, 0, 0]),
            record(0x40_0003, [1, 0], [0, 0], [0; 4]),
            record(0x40_0005, [1, 1], [0, 0], [0; 4]),
            record(0x40_0009, [0, 0], [0, 0], [0x7f_0030, 0, 0, 0]),
        ]
        .concat()
    }

    #[test]
    fn lengths_are_those_to_the_next_instruction_and_loads_come_first() {
        let bytes = four();
        let mut importer = open(ImportFormat::ChampSim, &bytes).expect("no packed file");
        let chunk = first(&mut importer);
        assert_eq!(blocks(&chunk), [(0x40_0000, 6, 3, 2), (0x40_0009, 1, 1, 1)]);
        let references = [(0x7f_0020, false), (0x7f_0010, true), (0x7f_0030, false)];
        let found = touched(&chunk)
            .into_iter()
            .map(|(address, _, is_store)| (address, is_store));
        assert_eq!(found.collect::<Vec<_>>(), references);
        assert!(
            !importer
                .next_into(&mut Chunk::default())
                .expect("a whole file")
        );
        assert!(importer.notes()[0].starts_with("ChampSim's traces have no sizes"));
    }

    fn error(bytes: &[u8]) -> String {
        open(ImportFormat::ChampSim, bytes)
            .map_or_else(|error| error, crate::import::tests::failure)
            .to_string()
    }

    #[test]
    fn what_is_none_of_its_records_is_named_by_its_place() {
        let mut cut = four();
        cut.truncate(100);
        assert!(
            error(&cut)
                .starts_with("byte 64: the file is cut: a whole record of 64 bytes should follow")
        );
        let text = error(&[b'I'; 128]);
        assert!(
            text.contains("found an instruction at 0x4949494949494949 with the flags 73 and 73"),
            "{text}"
        );
        for longer in [72, 96] {
            let records = four();
            let bytes = records.chunks(RECORD_BYTES).flat_map(|record| {
                let mut record = record.to_vec();
                record.resize(longer, 0);
                record
            });
            let text = error(&bytes.collect::<Vec<_>>());
            let wanted = format!("found ChampSim's records of {longer} bytes");
            assert!(text.contains(&wanted), "{text}");
        }
        let mut tar = vec![0; 512];
        tar[257..262].copy_from_slice(b"ustar");
        let text = error(&tar);
        assert!(
            text.starts_with("this is a tar file") && text.contains("tar -xOf FILE | switchcost"),
            "{text}"
        );
        let packed = error(b"\xfd7zXZ\x00 and so on");
        assert!(
            packed.contains("xz -dc FILE | switchcost trace import --from champsim - -o TRACE"),
            "{packed}"
        );
    }
}
