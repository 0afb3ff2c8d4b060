use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::ColumnPath;

use switchcost_design::result::{Interval, Simulation};
use switchcost_record::{Readers, WriteRecordError};

use crate::checksum::{self, CHECKSUM_KEY, NO_CHECKSUM};
use crate::columns::{COLUMNS, Column, Content, Table, Width, schema};
use crate::error::WriteSimulationError;
use crate::footer::{FOOTER_LIMIT_BYTES, HEAD_KEY, footer_of};
use crate::spool::{Spool, SpoolReader};
use crate::unnamed::Draft;

/// Largest number of rows in a row group. All rows of a row group are in memory at the same time.
pub(crate) const ROW_GROUP_ROWS: u64 = 1 << 20;

/// Largest number of intervals in a batch of [`Returned`].
const RETURNED_AT_ONCE: u64 = 1 << 16;

/// Number of bytes of the footer that are reserved for the description of row groups. The head gets
/// the rest.
const FOOTER_RESERVE_BYTES: usize = FOOTER_LIMIT_BYTES / 2;

/// Writer of a simulation record. The complete file appears when [`finish`](Self::finish) returns
/// without an error; otherwise no file appears.
pub struct SimulationWriter {
    path: PathBuf,
    readers: Readers,
    spool: Spool,
    largest: Largest,
    row_group_rows: u64,
}

/// Largest index into each table of the head in the intervals so far.
#[derive(Default)]
struct Largest {
    design: Option<u16>,
    process: Option<u32>,
    cause: Option<u32>,
}

impl SimulationWriter {
    /// Returns a writer for the file at `path`, which must not exist yet.
    pub fn create(path: &Path) -> Result<Self, WriteSimulationError> {
        if path.symlink_metadata().is_ok() {
            return Err(WriteRecordError::Exists(path.to_owned()).into());
        }
        let spool = Spool::create_in(folder_of(path))
            .map_err(|source| WriteRecordError::new(path, source))?;
        Ok(SimulationWriter {
            path: path.to_owned(),
            readers: Readers::default(),
            spool,
            largest: Largest::default(),
            row_group_rows: ROW_GROUP_ROWS,
        })
    }

    /// Sets who may read the file.
    pub fn set_readers(self, readers: Readers) -> Self {
        SimulationWriter { readers, ..self }
    }

    /// Sets the number of rows in a row group, for tests of files with several row groups. The
    /// default is 1,048,576.
    #[doc(hidden)]
    pub fn with_row_group_rows(mut self, rows: u64) -> Self {
        self.row_group_rows = rows.clamp(1, ROW_GROUP_ROWS);
        self
    }

    /// Adds intervals to the record, in the order of the file.
    pub fn write(&mut self, intervals: &[Interval]) -> Result<(), WriteSimulationError> {
        for interval in intervals {
            self.largest.design = self.largest.design.max(Some(interval.design));
            self.largest.process = self.largest.process.max(Some(interval.process));
            self.largest.cause = self
                .largest
                .cause
                .max(Some(interval.cause.max(interval.end)));
        }
        self.spool
            .push(intervals)
            .map_err(|source| WriteSimulationError::Write {
                path: self.path.clone(),
                source,
            })
    }

    /// Writes the file with `head` and all intervals.
    pub fn finish(self, head: &Simulation) -> Result<(), WriteSimulationError> {
        self.finish_or_return(head)
            .map_err(|unwritten| unwritten.error)
    }

    /// Writes the file as [`finish`](Self::finish) does. If the file cannot be written, the error
    /// contains the intervals, if they are still available.
    pub fn finish_or_return(self, head: &Simulation) -> Result<(), Unwritten> {
        self.largest.check(head)?;
        let SimulationWriter {
            path,
            readers,
            spool,
            row_group_rows,
            ..
        } = self;
        let failed = |source| WriteSimulationError::Write {
            path: path.clone(),
            source,
        };
        let (mut spool, refused) = spool.rewind().map_err(failed)?;
        let written = match refused {
            Some(error) => Err(failed(error)),
            None => write(&path, readers, &mut spool, head, row_group_rows),
        };
        written.map_err(|error| Unwritten {
            error,
            intervals: spool.rewind().ok().map(|spool| Box::new(Returned(spool))),
        })
    }
}

/// Error of writing a record, with the intervals if they are still available.
pub struct Unwritten {
    /// Reason why the record could not be written.
    pub error: WriteSimulationError,
    /// Intervals of the unwritten record, if they are still available.
    pub intervals: Option<Box<Returned>>,
}

impl From<WriteSimulationError> for Unwritten {
    fn from(error: WriteSimulationError) -> Unwritten {
        Unwritten {
            error,
            intervals: None,
        }
    }
}

/// Iterator over the intervals of an unwritten record, batch by batch.
pub struct Returned(SpoolReader);

impl Iterator for Returned {
    type Item = io::Result<Vec<Interval>>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut intervals = Vec::new();
        match self.0.next(&mut intervals, RETURNED_AT_ONCE) {
            Ok(()) if intervals.is_empty() => None,
            read => Some(read.map(|()| intervals)),
        }
    }
}

fn write(
    path: &Path,
    readers: Readers,
    spool: &mut SpoolReader,
    head: &Simulation,
    rows: u64,
) -> Result<(), WriteSimulationError> {
    let failed = |source| WriteSimulationError::Write {
        path: path.to_owned(),
        source,
    };
    let json = serde_json::to_string(head)
        .map_err(io::Error::from)
        .map_err(failed)?;
    if json.len() > FOOTER_RESERVE_BYTES {
        let (found_bytes, limit_bytes) = (json.len(), FOOTER_RESERVE_BYTES);
        return Err(WriteSimulationError::Head {
            found_bytes,
            limit_bytes,
        });
    }
    let held = readers.held(path).map_err(failed)?;
    let draft = Draft::create_in(folder_of(held.as_ref()), readers).map_err(failed)?;
    write_file(draft.as_file(), spool, head, json, rows).map_err(failed)?;
    readers
        .own(draft.as_file(), held.as_ref())
        .map_err(failed)?;
    draft.as_file().sync_all().map_err(failed)?;
    match draft.keep(held.as_ref()) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(WriteRecordError::Exists(path.to_owned()).into())
        }
        done => done.map_err(failed),
    }
}

impl Largest {
    fn check(&self, head: &Simulation) -> Result<(), WriteSimulationError> {
        let tables = [
            ("design", self.design.map(u64::from), head.designs.len()),
            ("process", self.process.map(u64::from), head.processes.len()),
            ("cause", self.cause.map(u64::from), head.causes.len()),
        ];
        for (what, largest, count) in tables {
            if let Some(index) = largest.filter(|index| *index >= count as u64) {
                return Err(WriteSimulationError::Interval { what, index, count });
            }
        }
        Ok(())
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

fn write_file(
    file: &File,
    spool: &mut SpoolReader,
    head: &Simulation,
    json: String,
    rows: u64,
) -> io::Result<()> {
    let refused = AtomicI32::new(0);
    let watched = Watched {
        file,
        refused: &refused,
    };
    write_parquet(watched, spool, head, json, rows).map_err(|error| {
        match refused.load(Relaxed) {
            0 => io_error(error),
            number => io::Error::from_raw_os_error(number),
        }
    })?;
    let mut file = file;
    let (start, footer) = footer_of(&mut file)?.map_err(io::Error::other)?;
    let at = checksum::find(&footer)
        .ok_or_else(|| io::Error::other("the footer has no place for a checksum"))?;
    checksum::write(&mut file, start + at as u64)
}

/// A file that remembers the last error of the operating system, because the Parquet writer does
/// not pass errors on when it writes the footer.
struct Watched<'a> {
    file: &'a File,
    refused: &'a AtomicI32,
}

impl Write for Watched<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut file = self.file;
        file.write(bytes).inspect_err(|error| {
            self.refused
                .store(error.raw_os_error().unwrap_or(0), Relaxed)
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}

fn write_parquet(
    file: Watched<'_>,
    spool: &mut SpoolReader,
    head: &Simulation,
    json: String,
    rows: u64,
) -> Result<(), ParquetError> {
    let mut writer =
        SerializedFileWriter::new(BufWriter::new(file), schema()?, Arc::new(properties()?))?;
    let mut intervals = Vec::new();
    let texts = Texts::new(head);
    loop {
        spool.next(&mut intervals, rows)?;
        if intervals.is_empty() {
            break;
        }
        let mut group = writer.next_row_group()?;
        for column in &COLUMNS {
            let mut sink = group
                .next_column()?
                .ok_or(ParquetError::EOF("no column is left".to_owned()))?;
            write_column(column, &intervals, head, &texts, &mut sink)?;
            sink.close()?;
        }
        group.close()?;
    }
    writer.append_key_value_metadata(KeyValue::new(HEAD_KEY.to_owned(), json));
    writer.append_key_value_metadata(KeyValue::new(
        CHECKSUM_KEY.to_owned(),
        NO_CHECKSUM.to_owned(),
    ));
    writer.close()?;
    Ok(())
}

fn properties() -> Result<WriterProperties, ParquetError> {
    let mut builder = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_created_by(format!("switchcost {}", env!("CARGO_PKG_VERSION")))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true);
    for column in &COLUMNS {
        if matches!(
            column.content,
            Content::Number(..) | Content::Optional(..) | Content::Looked(_)
        ) {
            // This encoding is used when a column has too many distinct values for a dictionary.
            builder = builder
                .set_column_encoding(ColumnPath::from(column.name), Encoding::DELTA_BINARY_PACKED);
        }
    }
    Ok(builder.build())
}

/// Texts of all tables of the head, as Parquet values that rows share.
struct Texts {
    tables: [(Table, Vec<Option<ByteArray>>); 4],
}

impl Texts {
    fn new(head: &Simulation) -> Self {
        let tables = [
            Table::Designs,
            Table::ProcessNames,
            Table::CauseEntries,
            Table::CauseSyscalls,
        ];
        Texts {
            tables: tables.map(|table| {
                (
                    table,
                    table
                        .texts(head)
                        .into_iter()
                        .map(|text| text.map(ByteArray::from))
                        .collect(),
                )
            }),
        }
    }

    fn select(&self, wanted: Table) -> &[Option<ByteArray>] {
        self.tables
            .iter()
            .find(|(table, _)| *table == wanted)
            .map_or(&[], |(_, texts)| texts)
    }
}

fn write_column(
    column: &Column,
    intervals: &[Interval],
    head: &Simulation,
    texts: &Texts,
    sink: &mut SerializedColumnWriter<'_>,
) -> Result<(), ParquetError> {
    match column.content {
        Content::Number(Width::Bits64, get, _) => {
            let values: Vec<i64> = intervals
                .iter()
                .map(|interval| get(interval).cast_signed())
                .collect();
            sink.typed::<Int64Type>().write_batch(&values, None, None)?;
        }
        Content::Number(_, get, _) => {
            let values: Vec<i32> = intervals
                .iter()
                .map(|interval| (get(interval) as u32).cast_signed())
                .collect();
            sink.typed::<Int32Type>().write_batch(&values, None, None)?;
        }
        Content::Optional(get, _) => {
            let values: Vec<i64> = intervals
                .iter()
                .filter_map(get)
                .map(u64::cast_signed)
                .collect();
            let levels: Vec<i16> = intervals
                .iter()
                .map(|interval| i16::from(get(interval).is_some()))
                .collect();
            sink.typed::<Int64Type>()
                .write_batch(&values, Some(&levels), None)?;
        }
        Content::Looked(look) => {
            let values: Vec<i32> = intervals
                .iter()
                .map(|interval| look(head, interval).cast_signed())
                .collect();
            sink.typed::<Int32Type>().write_batch(&values, None, None)?;
        }
        Content::Voluntary(index) => {
            let is_voluntary = |interval| {
                head.causes
                    .get(index(interval))
                    .is_some_and(|cause| cause.is_voluntary)
            };
            let values: Vec<bool> = intervals.iter().map(is_voluntary).collect();
            sink.typed::<BoolType>().write_batch(&values, None, None)?;
        }
        Content::Text(table, index) => {
            let texts = texts.select(table);
            let text_of = |interval: &Interval| texts.get(index(interval)).and_then(Option::as_ref);
            let values: Vec<ByteArray> = intervals.iter().filter_map(text_of).cloned().collect();
            // Definition levels mark empty entries. The Parquet writer ignores them for required
            // columns.
            let levels: Vec<i16> = intervals
                .iter()
                .map(|interval| i16::from(text_of(interval).is_some()))
                .collect();
            sink.typed::<ByteArrayType>()
                .write_batch(&values, Some(&levels), None)?;
        }
    }
    Ok(())
}
