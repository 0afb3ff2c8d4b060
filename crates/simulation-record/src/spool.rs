//! Temporary storage of intervals until the record is written. An interval refers to names by
//! index, and the names are known only at the end of a simulation. Until then the intervals are in
//! an unnamed file, which disappears with the program. If the disk is full, further intervals are
//! kept in memory. Then no record can be written, but the results can still be shown.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Cursor, Read, Seek, SeekFrom, Write};
use std::path::Path;

use switchcost_design::result::{ByView, Interval, OfOthers};

/// Number of bytes of an interval in the spool, before compression.
const ROW_BYTES: usize = 87;
const ARE_OTHERS_KNOWN: usize = ROW_BYTES - 1;

/// Level of zstd compression: the fastest, because a spool exists for minutes only.
const ZSTD_LEVEL: i32 = 1;

/// Largest number of bytes of a spool that are kept in memory.
const MOST_IN_MEMORY: usize = 256 << 20;

pub(crate) struct Spool {
    encoder: zstd::Encoder<'static, BufWriter<SpoolFile>>,
}

impl Spool {
    /// Creates an empty spool, as an unnamed file in `folder`.
    pub(crate) fn create_in(folder: &Path) -> io::Result<Self> {
        let file = SpoolFile::new(tempfile::tempfile_in(folder)?);
        Ok(Spool {
            encoder: zstd::Encoder::new(BufWriter::with_capacity(1 << 20, file), ZSTD_LEVEL)?,
        })
    }

    pub(crate) fn push(&mut self, intervals: &[Interval]) -> io::Result<()> {
        intervals
            .iter()
            .try_for_each(|interval| self.encoder.write_all(&packed(interval)))
    }

    /// Returns a reader of all intervals from the first on, and the disk's error if some intervals
    /// are in memory instead.
    pub(crate) fn rewind(self) -> io::Result<(SpoolReader, Option<io::Error>)> {
        let mut file = self
            .encoder
            .finish()?
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        let refused = file.refused.take();
        Ok((SpoolReader::read_from_start(file)?, refused))
    }
}

/// The compressed bytes of a spool: an unnamed file, and in memory the bytes that the disk did not
/// take.
struct SpoolFile {
    file: File,
    rest: Cursor<Vec<u8>>,
    refused: Option<io::Error>,
}

impl SpoolFile {
    fn new(file: File) -> SpoolFile {
        SpoolFile {
            file,
            rest: Cursor::default(),
            refused: None,
        }
    }
}

impl Write for SpoolFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.refused.is_none() {
            match self.file.write(bytes) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                    self.refused = Some(error)
                }
                done => return done,
            }
        }
        if self.rest.get_ref().len() + bytes.len() > MOST_IN_MEMORY {
            return Err(self
                .refused
                .take()
                .unwrap_or_else(|| io::ErrorKind::StorageFull.into()));
        }
        self.rest.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for SpoolFile {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self.file.read(bytes)? {
            0 => self.rest.read(bytes),
            count => Ok(count),
        }
    }
}

pub(crate) struct SpoolReader {
    decoder: zstd::Decoder<'static, BufReader<SpoolFile>>,
}

impl SpoolReader {
    fn read_from_start(mut file: SpoolFile) -> io::Result<SpoolReader> {
        file.file.seek(SeekFrom::Start(0))?;
        file.rest.set_position(0);
        Ok(SpoolReader {
            decoder: zstd::Decoder::new(file)?,
        })
    }

    /// Returns a reader of the same intervals that begins at the first again.
    pub(crate) fn rewind(self) -> io::Result<SpoolReader> {
        SpoolReader::read_from_start(self.decoder.finish().into_inner())
    }

    /// Replaces the content of `intervals` by the next `count` intervals, or fewer at the end of
    /// the spool.
    pub(crate) fn next(&mut self, intervals: &mut Vec<Interval>, count: u64) -> io::Result<()> {
        intervals.clear();
        let mut row = [0; ROW_BYTES];
        for _ in 0..count {
            match self.decoder.read_exact(&mut row) {
                Ok(()) => intervals.push(unpacked(&row)),
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn packed(interval: &Interval) -> [u8; ROW_BYTES] {
    let mut row = [0; ROW_BYTES];
    row[..2].copy_from_slice(&interval.design.to_le_bytes());
    let small = [
        interval.segment,
        interval.segments,
        interval.task,
        interval.process,
        interval.cause,
        interval.end,
        interval.number,
    ];
    for (bytes, value) in row[2..30].chunks_exact_mut(4).zip(small) {
        bytes.copy_from_slice(&value.to_le_bytes());
    }
    let OfOthers {
        lost,
        gained,
        first_touches,
    } = interval.of_others.unwrap_or_default();
    let ByView {
        shared,
        private,
        flushed,
    } = interval.cycles;
    let large = [
        interval.instructions,
        shared,
        private,
        flushed,
        lost,
        gained,
        first_touches,
    ];
    for (bytes, value) in row[30..].chunks_exact_mut(8).zip(large) {
        bytes.copy_from_slice(&value.to_le_bytes());
    }
    row[ARE_OTHERS_KNOWN] = interval.of_others.is_some().into();
    row
}

fn unpacked(row: &[u8; ROW_BYTES]) -> Interval {
    let bytes = |at: usize, count: usize| {
        row[at..at + count]
            .iter()
            .rev()
            .fold(0, |sum, byte| sum << 8 | u64::from(*byte))
    };
    let small = |i: usize| bytes(2 + 4 * i, 4) as u32;
    let large = |i: usize| bytes(30 + 8 * i, 8);
    Interval {
        design: bytes(0, 2) as u16,
        segment: small(0),
        segments: small(1),
        task: small(2),
        process: small(3),
        cause: small(4),
        end: small(5),
        number: small(6),
        instructions: large(0),
        cycles: ByView {
            shared: large(1),
            private: large(2),
            flushed: large(3),
        },
        of_others: (row[ARE_OTHERS_KNOWN] != 0).then(|| OfOthers {
            lost: large(4),
            gained: large(5),
            first_touches: large(6),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tests of whole records have few designs, processes and causes.
    #[test]
    fn large_numbers_of_designs_processes_and_causes_fit() {
        let interval = Interval {
            design: 0xfedc,
            process: u32::MAX,
            cause: u32::MAX - 1,
            end: u32::MAX - 2,
            ..unpacked(&[0; ROW_BYTES])
        };
        assert_eq!(unpacked(&packed(&interval)), interval);
    }

    #[test]
    fn what_a_full_disk_does_not_take_waits_in_memory() {
        // One file has no room at all, and one takes the first bytes: each write either succeeds
        // completely or fails.
        let full = File::options()
            .read(true)
            .write(true)
            .open("/dev/full")
            .expect("a device");
        let mut file = SpoolFile::new(full);
        file.write_all(b"all of it").expect("in memory");
        assert_eq!(
            file.refused.as_ref().map(io::Error::kind),
            Some(io::ErrorKind::StorageFull)
        );
        assert_eq!(file.rest.get_ref(), b"all of it");
        let mut halved = SpoolFile::new(tempfile::tempfile().expect("room"));
        halved.write_all(b"on disk, ").expect("room");
        halved.refused = Some(io::ErrorKind::StorageFull.into());
        halved.write_all(b"in memory").expect("in memory");
        halved.file.seek(SeekFrom::Start(0)).expect("a file");
        halved.rest.set_position(0);
        assert_eq!(
            io::read_to_string(&mut halved).expect("both"),
            "on disk, in memory"
        );
        let too_much = halved.write_all(&vec![0; MOST_IN_MEMORY]);
        assert_eq!(
            too_much.expect_err("a bound").kind(),
            io::ErrorKind::StorageFull
        );
    }
}
