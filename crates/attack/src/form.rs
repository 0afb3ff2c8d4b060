//! Corrects the checksums of each file format (docs/formats) after a change.

use xxhash_rust::xxh3::{Xxh3, xxh3_64, xxh3_64_with_seed};

/// Beginning of the last field of a record's line, which has the checksum.
const CHECK: &[u8] = b",\"check\":\"";
/// Key of the checksum in the footer of a simulation's record, and the prefix that Thrift writes
/// before a text of 16 bytes.
const SIMULATION_CHECK: &[u8] = b"switchcost.record.checksum.xxh3\x18\x10";
const DIGITS: usize = 16;

/// Returns the text of each line of a record, without its checksum and closing bracket.
pub(crate) fn bodies(file: &[u8]) -> Vec<Vec<u8>> {
    let lines = file
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    lines
        .map(|line| line[..last(line, CHECK).unwrap_or(line.len().saturating_sub(1))].to_vec())
        .collect()
}

/// Returns a record's lines, each with a checksum over all lines up to it.
pub(crate) fn sealed_lines(bodies: &[Vec<u8>]) -> Vec<u8> {
    let (mut file, mut check) = (Vec::new(), 0);
    for body in bodies {
        check = xxh3_64_with_seed(body, check);
        file.extend_from_slice(body);
        file.extend_from_slice(CHECK);
        file.extend_from_slice(format!("{check:016x}\"}}\n").as_bytes());
    }
    file
}

/// Returns the record of a simulation with a corrected checksum. A record without a checksum stays
/// unchanged.
pub(crate) fn sealed_simulation(mut file: Vec<u8>) -> Vec<u8> {
    let Some(at) = last(&file, SIMULATION_CHECK).map(|at| at + SIMULATION_CHECK.len()) else {
        return file;
    };
    let Some(place) = file.get_mut(at..at + DIGITS) else {
        return file;
    };
    place.fill(b'0');
    let mut hasher = Xxh3::new();
    hasher.update(&file);
    let check = format!("{:016x}", hasher.digest());
    file[at..at + DIGITS].copy_from_slice(check.as_bytes());
    file
}

fn last(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes
        .windows(wanted.len())
        .rposition(|window| window == wanted)
}

/// A trace file as a list of records: kind and flags, and body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Records {
    magic: Vec<u8>,
    pub(crate) records: Vec<([u8; 4], Vec<u8>)>,
}

const MAGIC_BYTES: usize = 8;
const HEAD_BYTES: usize = 32;
const CHUNK: u8 = 2;
const INDEX: u8 = 3;
const FOOTER: u8 = 4;
/// Length in bytes of the six sums at the beginning of the index. An entry for each chunk follows,
/// which begins with the position of the chunk in the file.
const INDEX_SUMS: usize = 48;
const INDEX_ENTRY: usize = 32;

impl Records {
    pub(crate) fn parse(file: &[u8]) -> Records {
        let (magic, mut rest) = file.split_at(MAGIC_BYTES);
        let mut records = Vec::new();
        while let Some((head, behind)) = rest.split_at_checked(HEAD_BYTES) {
            let length = u32::from_le_bytes(head[12..16].try_into().expect("four bytes")) as usize;
            records.push((
                head[4..8].try_into().expect("four bytes"),
                behind[..length].to_vec(),
            ));
            rest = &behind[length..];
        }
        Records {
            magic: magic.to_vec(),
            records,
        }
    }

    /// Returns the file with corrected lengths, record numbers, checksums, and positions of chunks.
    pub(crate) fn sealed(mut self) -> Vec<u8> {
        self.place();
        let mut file = self.magic;
        for (number, (kind, body)) in self.records.iter().enumerate() {
            let start = file.len();
            file.extend_from_slice(b"SCtr");
            file.extend_from_slice(kind);
            file.extend_from_slice(&(number as u32).to_le_bytes());
            file.extend_from_slice(&(body.len() as u32).to_le_bytes());
            file.extend_from_slice(&xxh3_64(body).to_le_bytes());
            let check = xxh3_64(&file[start..]);
            file.extend_from_slice(&check.to_le_bytes());
            file.extend_from_slice(body);
        }
        file
    }

    /// Corrects the positions of the chunks and of the index.
    fn place(&mut self) {
        let begins: Vec<u64> = self
            .records
            .iter()
            .scan(MAGIC_BYTES, |at, (_, body)| {
                let begin = *at as u64;
                *at += HEAD_BYTES + body.len();
                Some(begin)
            })
            .collect();
        let of_kind = |kind| {
            self.records
                .iter()
                .zip(&begins)
                .filter(move |((is, _), _)| is[0] == kind)
                .map(|(_, begin)| *begin)
        };
        let (chunks, index): (Vec<u64>, Option<u64>) =
            (of_kind(CHUNK).collect(), of_kind(INDEX).next());
        for (kind, body) in &mut self.records {
            let starts = if kind[0] == INDEX {
                chunks.clone()
            } else {
                Vec::new()
            };
            for (entry, begin) in starts.into_iter().enumerate() {
                write(body, INDEX_SUMS + INDEX_ENTRY * entry, begin);
            }
            if let (FOOTER, Some(begin)) = (kind[0], index) {
                write(body, 0, begin);
            }
        }
    }
}

fn write(body: &mut [u8], at: usize, number: u64) {
    if let Some(place) = body.get_mut(at..at + 8) {
        place.copy_from_slice(&number.to_le_bytes());
    }
}

/// A chunk of a trace: its head, and its unpacked columns.
pub(crate) struct Columns {
    head: Vec<u8>,
    pub(crate) columns: Vec<Vec<u8>>,
}

const CHUNK_HEAD: usize = 48;
const COLUMNS: usize = 8;
const ENTRY: usize = 12;
const MOST_UNPACKED: usize = 64 << 20;

impl Columns {
    /// Unpacks the columns of a record's body; `None` if the record is not a chunk.
    pub(crate) fn new(kind: [u8; 4], body: &[u8]) -> Option<Columns> {
        let (head, rest) = body
            .split_at_checked(CHUNK_HEAD)
            .filter(|_| kind[0] == CHUNK)?;
        let (directory, mut packed) = rest.split_at_checked(COLUMNS * ENTRY)?;
        let columns = directory.chunks(ENTRY).map(|entry| {
            let length = u32::from_le_bytes(entry[8..].try_into().ok()?) as usize;
            let (column, behind) = packed.split_at_checked(length)?;
            packed = behind;
            if entry[1] == 0 {
                Some(column.to_vec())
            } else {
                zstd::bulk::decompress(column, MOST_UNPACKED).ok()
            }
        });
        Some(Columns {
            head: head.to_vec(),
            columns: columns.collect::<Option<_>>()?,
        })
    }

    /// Returns the chunk as the body of a record, with all columns unpacked.
    pub(crate) fn body(&self) -> Vec<u8> {
        let mut body = self.head.clone();
        for (number, column) in self.columns.iter().enumerate() {
            body.extend_from_slice(&[number as u8, 0, 0, 0]);
            let length = (column.len() as u32).to_le_bytes();
            body.extend_from_slice(&length);
            body.extend_from_slice(&length);
        }
        self.columns
            .iter()
            .for_each(|column| body.extend_from_slice(column));
        body
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(name: &str) -> Vec<u8> {
        std::fs::read(crate::place::repository().join(name)).expect("a sample")
    }

    #[test]
    fn what_was_not_changed_is_sealed_as_it_was() {
        let lines = sample("crates/record/tests/samples/measure-2.jsonl");
        assert_eq!(sealed_lines(&bodies(&lines)), lines);
        let simulation = sample("crates/simulation-record/tests/samples/simulation-1.parquet");
        assert_eq!(sealed_simulation(simulation.clone()), simulation);
        for name in ["trace-3-shapes.sctrace", "trace-3-marks.sctrace"] {
            let trace = sample(&format!("crates/trace/tests/samples/{name}"));
            assert_eq!(Records::parse(&trace).sealed(), trace);
        }
    }

    #[test]
    fn what_was_changed_has_another_checksum() {
        let mut bodies = bodies(&sample("crates/record/tests/samples/measure-2.jsonl"));
        let before = sealed_lines(&bodies);
        bodies[1].push(b' ');
        assert_ne!(
            sealed_lines(&bodies)
                .split(|byte| *byte == b'\n')
                .next_back(),
            before.split(|byte| *byte == b'\n').nth_back(1)
        );
    }

    #[test]
    fn a_chunk_has_eight_columns() {
        let trace = Records::parse(&sample("crates/trace/tests/samples/trace-3-shapes.sctrace"));
        let chunk = trace
            .records
            .iter()
            .find_map(|(kind, body)| Columns::new(*kind, body))
            .expect("a chunk");
        assert_eq!(
            chunk.columns.iter().map(Vec::len).collect::<Vec<_>>(),
            [230, 186, 253, 750, 1254, 1360, 26710, 0]
        );
        let again = Columns::new([CHUNK, 0, 0, 0], &chunk.body()).expect("a chunk");
        assert_eq!(again.columns, chunk.columns);
    }
}
