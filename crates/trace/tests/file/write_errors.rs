use std::io::{self, Write};

use switchcost_trace::testing::{self, seeded};
use switchcost_trace::{
    AddressKind, Block, Chunk, Mark, OwnWords, Placed, Recorder, Reference, ShapeReference, TaskId,
    TraceWriter, WriteTraceError,
};

use crate::shapes::head;
use crate::support::{header, read, records};

/// A simulated disk that is full after `room` bytes.
struct Disk {
    bytes: Vec<u8>,
    room: usize,
}

impl Write for Disk {
    fn write(&mut self, more: &[u8]) -> io::Result<usize> {
        let fits = more.len().min(self.room - self.bytes.len());
        if fits == 0 && !more.is_empty() {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        self.bytes.extend_from_slice(&more[..fits]);
        Ok(fits)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Starts a trace on a disk with room for `room` bytes.
fn writer(room: usize) -> TraceWriter<Disk> {
    TraceWriter::create(disk(room), &header()).expect("the header fits")
}

fn disk(room: usize) -> Disk {
    Disk {
        bytes: Vec::new(),
        room,
    }
}

#[test]
fn a_full_disk_says_what_is_whole_and_takes_nothing_behind_a_part_of_a_record() {
    let chunks = seeded(42, 3_000);
    let mut writer = writer(2_000);
    let error = chunks
        .iter()
        .find_map(|chunk| writer.write(chunk).err())
        .expect("is full");
    let done = writer.written();
    assert_eq!(
        error.to_string(),
        format!(
            "the trace cannot be continued after {} chunks of {} instructions, and is whole up to byte {}: {}; free some \
             space, or choose another place",
            done.chunks,
            done.instructions,
            done.bytes,
            io::Error::from(io::ErrorKind::StorageFull)
        )
    );
    let bytes = writer.get_ref().bytes.len();
    let error = writer
        .write(&chunks[0])
        .expect_err("stays broken")
        .to_string();
    assert!(
        error.contains(": an earlier chunk did not fit; "),
        "{error}"
    );
    assert_eq!(writer.get_ref().bytes.len(), bytes);
    assert!(writer.finish().is_err());
}

fn block_of(instructions: u16) -> Chunk {
    let block = Block {
        instructions,
        references: 1,
        ..testing::block(64)
    };
    Chunk {
        blocks: [block].into_iter().collect(),
        references: vec![Reference::new(8, 7, 3, false)],
        marks: Vec::new(),
    }
}

fn refusal(chunk: &Chunk) -> WriteTraceError {
    let mut writer = TraceWriter::create(Vec::new(), &header()).expect("memory takes it");
    let before = writer.written();
    let error = writer.write(chunk).expect_err("is refused");
    assert_eq!(writer.written(), before, "a refused chunk leaves nothing");
    error
}

#[test]
fn chunks_that_cannot_be_are_refused() {
    let changed = |change: fn(&mut Chunk)| {
        let mut chunk = block_of(1);
        change(&mut chunk);
        chunk
    };
    for (chunk, expected) in [
        (
            changed(|chunk| chunk.references.clear()),
            "a chunk has 0 references instead of 1; check the source of the trace",
        ),
        (
            block_of(0),
            "block 0 of a chunk cannot be executed (0 instructions in 4 bytes, the first of 4; a block has 1 to 1024 bytes); check \
             the source of the trace",
        ),
        (
            changed(|chunk| {
                chunk.marks.push(Placed {
                    before_block: 2,
                    mark: Mark::Exit { task: TaskId(1) },
                });
            }),
            "mark 0 stands before block 2, not between 0 and 1; check the source of the trace",
        ),
        (
            changed(|chunk| {
                chunk.mark(Mark::Exec {
                    task: TaskId(1),
                    process: switchcost_trace::ProcessId(1),
                    name: vec![b'a'; 70_000],
                });
            }),
            "a name or path in mark 0 has 70000 bytes, more than 65536; check the source of the trace",
        ),
    ] {
        assert_eq!(refusal(&chunk).to_string(), expected);
    }
}

#[test]
fn a_header_of_megabytes_is_refused() {
    let mut long = header();
    long.commands = vec![vec!["x".repeat(2 << 20)]];
    let error = TraceWriter::create(Vec::new(), &long)
        .err()
        .expect("is refused")
        .to_string();
    assert!(
        error.starts_with("the commands are too long for the header of a trace"),
        "{error}"
    );
    assert!(error.ends_with("trace fewer of them"), "{error}");
}

/// Number of chunks to write, more than may wait to be written.
const RECORDED: u64 = 12;

/// Records [`RECORDED`] chunks of one block each, some of which this thread writes itself. Returns
/// the results of the recording and of its end.
fn record(
    into: Disk,
) -> (
    Result<(), WriteTraceError>,
    Result<Vec<u8>, WriteTraceError>,
) {
    let mut recorder = Recorder::create(into, &header()).expect("the header fits");
    let Chunk {
        blocks, references, ..
    } = block_of(1);
    let form = ShapeReference {
        reference: Reference(references[0].0 & !0xffff_ffff_ffff),
        place: AddressKind::Explicit,
    };
    let shape = recorder
        .define(&[blocks[0]], &[form])
        .expect("a shape")
        .number();
    let numbers: Vec<u32> = (0..=shape).collect();
    let taken = (0..RECORDED).try_for_each(|address| {
        recorder.take::<OwnWords>(&[head(shape, 1), address], &numbers)?;
        recorder.cut()?;
        if address % 5 == 0 {
            recorder.write_one();
        }
        Ok(())
    });
    (taken, recorder.finish().map(|(disk, _)| disk.bytes))
}

#[test]
fn what_is_written_behind_is_whole_where_the_disk_is_full() {
    let (taken, finished) = record(disk(1 << 20));
    taken.expect("room for all");
    let whole = finished.expect("room for all");
    let (chunks, error) = read(&whole);
    let addresses: Vec<u64> = chunks
        .iter()
        .map(|chunk| chunk.references[0].address())
        .collect();
    assert_eq!(
        (addresses, error.is_none()),
        (Vec::from_iter(0..RECORDED), true)
    );
    // The room ends in the middle of the second chunk, which is reported at the latest when the
    // trace is finished.
    let ends = records(&whole);
    let room = (ends[2] + ends[3]) / 2;
    let (taken, finished) = record(disk(room));
    let error = taken
        .and(finished.map(|_| ()))
        .expect_err("is full")
        .to_string();
    assert!(
        error.starts_with("the trace cannot be continued after 1 chunks of 1 instructions"),
        "{error}"
    );
    assert!(
        error.contains(&io::Error::from(io::ErrorKind::StorageFull).to_string()),
        "{error}"
    );
}
