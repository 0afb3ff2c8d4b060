//! Tests traces of other tools, in files that those tools wrote.

use std::io::{BufRead, BufReader, Read};

use switchcost_trace::{
    Chunk, DinExporter, Exporter, ImportError, ImportFormat, Importer, Mark, PieceSize,
};

/// Output of `valgrind --tool=lackey --trace-mem=yes` of Valgrind 3.19.0 for `tiny.s` in the same
/// folder.
const LACKEY: &[u8] = include_bytes!("../samples/tiny.lackey");

fn all(format: ImportFormat, from: impl BufRead) -> Result<(Vec<Chunk>, u64), ImportError> {
    let mut importer = Importer::new(format, from, 4)?;
    let mut chunks = Vec::new();
    loop {
        let mut chunk = Chunk::default();
        if !importer.next_into(&mut chunk)? {
            return Ok((chunks, importer.ignored_lines()));
        }
        chunks.push(chunk);
    }
}

/// A reader that returns one byte at a time.
struct Drops<'a>(&'a [u8]);

impl Read for Drops<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(&mut into[..1])
    }
}

#[test]
fn counts_what_valgrind_counts() {
    let (chunks, ignored) = all(ImportFormat::Lackey, LACKEY).expect("as lackey wrote it");
    let [chunk] = chunks.as_slice() else {
        panic!("one chunk")
    };
    // Lackey reports 45 guest instructions. Cachegrind reports 45, and 20 reads and 12 writes; it
    // counts a read-modify-write, of which there are 4, as a read.
    assert_eq!(chunk.instructions(), 45);
    let stores = chunk
        .references
        .iter()
        .filter(|reference| reference.is_store())
        .count();
    assert_eq!((chunk.references.len() - stores, stores), (20, 12 + 4));
    assert_eq!(ignored, 24, "lines of ==pid==");
    // The shapes end at the first jump, after three iterations of the loop, and after five of the
    // repeated instruction (the last does nothing). The code before and after a jump that is not
    // taken is one block.
    let shapes: Vec<_> = chunk
        .blocks
        .iter()
        .map(|block| (block.address, block.instructions))
        .collect();
    let mut expected = vec![(0x40_1000, 10)];
    expected.extend([(0x40_100c, 8); 2]);
    expected.push((0x40_100c, 12));
    expected.extend([(0x40_1031, 1); 3]);
    expected.push((0x40_1031, 4));
    assert_eq!(shapes, expected);
    assert!(matches!(&chunk.marks[0].mark, Mark::Birth { name, .. } if name == b"imported"));
}

#[test]
fn reads_the_same_through_any_buffer() {
    let whole = all(ImportFormat::Lackey, LACKEY).expect("as lackey wrote it");
    for capacity in [1, 2, 7, 64] {
        let from = BufReader::with_capacity(capacity, Drops(LACKEY));
        assert_eq!(
            all(ImportFormat::Lackey, from).expect("the same"),
            whole,
            "a buffer of {capacity}"
        );
    }
    let mut din = Vec::new();
    let mut exporter = DinExporter::new(&mut din, None, PieceSize::default());
    whole
        .0
        .iter()
        .for_each(|chunk| exporter.chunk(chunk).expect("memory"));
    exporter.finish().expect("memory");
    let straight = all(ImportFormat::Din, din.as_slice()).expect("din");
    let dropped = BufReader::with_capacity(1, Drops(&din));
    assert_eq!(all(ImportFormat::Din, dropped).expect("din"), straight);
}

/// Endless text that repeats `line`.
struct Endless(&'static [u8], usize);

impl Read for Endless {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        for byte in into.iter_mut() {
            *byte = self.0[self.1 % self.0.len()];
            self.1 += 1;
        }
        Ok(into.len())
    }
}

#[test]
fn takes_no_more_memory_for_a_longer_trace() {
    for line in [
        &b"I  400000,4\n L 10,8\n"[..],
        b"I  400000,4\n L 10,1048576\n",
    ] {
        let endless = BufReader::new(Endless(line, 0));
        let mut importer = Importer::new(ImportFormat::Lackey, endless, 4).expect("text");
        let mut chunk = Chunk::default();
        let mut largest = 0;
        for _ in 0..6 {
            assert!(importer.next_into(&mut chunk).expect("well-formed"));
            assert!(!chunk.blocks.is_empty() && chunk.blocks.len() <= Chunk::BLOCKS);
            largest = largest.max(chunk.references.len());
        }
        assert!(
            largest <= 4 * Chunk::BLOCKS + usize::from(u16::MAX),
            "{largest} references in a chunk"
        );
    }
}
