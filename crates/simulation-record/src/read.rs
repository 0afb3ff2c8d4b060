use std::fs::File;
use std::path::Path;

use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};

use switchcost_design::result::{ByView, HierarchyCounts, Interval, LevelCounts, Simulation};
use switchcost_record::{ReadRecordError, printable};

use crate::checksum;
use crate::columns::{COLUMNS, Column, Content, Width};
use crate::error::ReadSimulationError;
use crate::footer::{HEAD_KEY, check_shape, footer_of};
use crate::guarded::guarded;
use crate::source::Source;
use crate::write::ROW_GROUP_ROWS;
use crate::{SIMULATION_FORM, SIMULATION_SCHEMA};

/// Command that writes simulation records, for error messages.
const WRITER: &str = "switchcost simulate";

/// Largest number of intervals in a batch that a reader returns.
const BATCH_ROWS: usize = 1 << 16;

/// An interval with all fields zero, which a reader fills column by column.
const BLANK: Interval = Interval {
    design: 0,
    segment: 0,
    segments: 0,
    task: 0,
    process: 0,
    cause: 0,
    end: 0,
    number: 0,
    instructions: 0,
    cycles: ByView {
        shared: 0,
        private: 0,
        flushed: 0,
    },
    of_others: None,
};

/// A simulation record: its head, and the file from which intervals are read on demand.
#[derive(Debug)]
pub struct SimulationRecord {
    /// All values of the record except the intervals.
    pub head: Simulation,
    file: RecordFile,
}

impl SimulationRecord {
    /// Reads the head of a record, after the checksum of the whole file was verified.
    pub fn read(source: impl Into<switchcost_record::Source>) -> Result<Self, ReadSimulationError> {
        let file = RecordFile(source.into());
        file.check_whole()?;
        let reader = file.reader()?;
        let head = file.head(reader.metadata())?;
        Ok(SimulationRecord { head, file })
    }

    /// Returns the path of the record's file.
    pub fn path(&self) -> &Path {
        self.file.0.path()
    }

    /// Returns an iterator over all intervals, in batches. Only one batch is in memory at a time.
    pub fn intervals(&self) -> Result<Intervals<'_>, ReadSimulationError> {
        let place = &self.file;
        let source = Source::new(place.open()?).map_err(|source| place.cannot_read(source))?;
        let reader = place.reader()?;
        let numbers = place.numbers(reader.metadata())?;
        Ok(Intervals {
            record: self,
            source,
            reader,
            numbers,
            group: 0,
            columns: Vec::new(),
            row: 0,
            left: 0,
        })
    }
}

/// Iterator over the intervals of a record, batch by batch. The iterator ends after an error.
pub struct Intervals<'a> {
    record: &'a SimulationRecord,
    source: Source,
    reader: SerializedFileReader<Source>,
    /// Columns from which intervals are filled, each with its position in the file.
    numbers: Vec<(usize, &'static Column)>,
    group: usize,
    columns: Vec<ColumnReader>,
    row: u64,
    left: usize,
}

impl Intervals<'_> {
    fn next_batch(&mut self) -> Result<Option<Vec<Interval>>, ReadSimulationError> {
        while self.left == 0 {
            if self.group == self.reader.metadata().num_row_groups() {
                return Ok(None);
            }
            self.open_group()?;
        }
        let rows = self.left.min(BATCH_ROWS);
        let mut batch = vec![BLANK; rows];
        for (reader, (_, column)) in self.columns.iter_mut().zip(&self.numbers) {
            let filled = guarded(|| fill(reader, column, &mut batch));
            filled.map_err(|why| {
                self.record.damaged(
                    &format!("column {} from row {}", column.name, self.row),
                    why,
                )
            })?;
        }
        for (i, interval) in batch.iter().enumerate() {
            self.record.check(interval, self.row + i as u64)?;
        }
        self.left -= rows;
        self.row += rows as u64;
        Ok(Some(batch))
    }

    fn open_group(&mut self) -> Result<(), ReadSimulationError> {
        let place = format!("row group {}", self.group);
        let damaged = |why| self.record.damaged(&place, why);
        let rows = self.reader.metadata().row_group(self.group).num_rows();
        let rows = usize::try_from(rows)
            .ok()
            .filter(|rows| *rows as u64 <= ROW_GROUP_ROWS);
        self.left = rows.ok_or_else(|| damaged("its number of rows cannot be".to_owned()))?;
        let indices: Vec<usize> = self.numbers.iter().map(|(index, _)| *index).collect();
        let (source, reader, group) = (&self.source, &self.reader, self.group);
        guarded(|| source.check_pages(reader.metadata(), group, &indices)).map_err(damaged)?;
        let columns = guarded(|| {
            let group = reader.get_row_group(group).map_err(shorten)?;
            indices
                .iter()
                .map(|index| group.get_column_reader(*index).map_err(shorten))
                .collect()
        });
        self.columns = columns.map_err(damaged)?;
        self.group += 1;
        Ok(())
    }
}

impl Iterator for Intervals<'_> {
    type Item = Result<Vec<Interval>, ReadSimulationError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.next_batch();
        if batch.is_err() {
            self.left = 0;
            self.group = self.reader.metadata().num_row_groups();
        }
        batch.transpose()
    }
}

impl SimulationRecord {
    fn damaged(&self, place: &str, why: String) -> ReadSimulationError {
        self.file.damaged(place, why)
    }

    /// Checks that every index of the interval is valid for the head. `row` is the interval's row
    /// in the file, for the error.
    fn check(&self, interval: &Interval, row: u64) -> Result<(), ReadSimulationError> {
        let head = &self.head;
        let tables = [
            ("design", u32::from(interval.design), head.designs.len()),
            ("process", interval.process, head.processes.len()),
            ("cause", interval.cause, head.causes.len()),
            ("end", interval.end, head.causes.len()),
        ];
        match tables
            .into_iter()
            .find(|(_, index, count)| *index as usize >= *count)
        {
            None => Ok(()),
            Some((what, index, count)) => {
                let why = format!("{what} {index}, of which the head has {count}");
                Err(self.damaged(&format!("row {row}"), why))
            }
        }
    }
}

/// Reads one value of a column for each interval of the batch, and stores the value in the
/// interval's field.
fn fill(reader: &mut ColumnReader, column: &Column, batch: &mut [Interval]) -> Result<(), String> {
    let (width, set) = match column.content {
        Content::Number(width, _, set) => (width, set),
        Content::Optional(_, set) => return fill_optional(reader, set, batch),
        _ => return Err("not a number".to_owned()),
    };
    let values: Vec<u64> = match reader {
        ColumnReader::Int64ColumnReader(reader) => take::<Int64Type>(reader, batch.len())?
            .into_iter()
            .map(i64::cast_unsigned)
            .collect(),
        ColumnReader::Int32ColumnReader(reader) => {
            let values = take::<Int32Type>(reader, batch.len())?.into_iter();
            values.map(|value| value.cast_unsigned().into()).collect()
        }
        _ => return Err("another type".to_owned()),
    };
    if values.len() != batch.len() {
        return Err(format!(
            "{} values instead of {}",
            values.len(),
            batch.len()
        ));
    }
    if let Some(value) = values
        .iter()
        .find(|value| width == Width::Bits16 && **value > u64::from(u16::MAX))
    {
        return Err(format!("{value}, more than {}", u16::MAX));
    }
    batch
        .iter_mut()
        .zip(values)
        .for_each(|(interval, value)| set(interval, value));
    Ok(())
}

/// Reads one value or null of a column for each interval of the batch, and stores it with `set`.
fn fill_optional(
    reader: &mut ColumnReader,
    set: fn(&mut Interval, Option<u64>),
    batch: &mut [Interval],
) -> Result<(), String> {
    let ColumnReader::Int64ColumnReader(reader) = reader else {
        return Err("another type".to_owned());
    };
    let (mut values, mut levels) = (
        Vec::with_capacity(batch.len()),
        Vec::with_capacity(batch.len()),
    );
    reader
        .read_records(batch.len(), Some(&mut levels), None, &mut values)
        .map_err(shorten)?;
    let known = levels.iter().filter(|level| **level != 0).count();
    if levels.len() != batch.len() || values.len() != known {
        let found = format!("{} values, {} of them not null", levels.len(), values.len());
        return Err(format!(
            "{found}, instead of {}, and {known} not null",
            batch.len()
        ));
    }
    let mut values = values.into_iter().map(i64::cast_unsigned);
    for (interval, level) in batch.iter_mut().zip(levels) {
        set(interval, if level == 0 { None } else { values.next() });
    }
    Ok(())
}

fn take<T: DataType>(reader: &mut ColumnReaderImpl<T>, count: usize) -> Result<Vec<T::T>, String> {
    let mut values = Vec::with_capacity(count);
    reader
        .read_records(count, None, None, &mut values)
        .map_err(shorten)?;
    Ok(values)
}

/// File of a record, with the checks before the record is read.
#[derive(Debug)]
struct RecordFile(switchcost_record::Source);

impl RecordFile {
    fn open(&self) -> Result<File, ReadSimulationError> {
        self.0.open().map_err(|source| self.cannot_read(source))
    }

    /// Checks that the file's checksum is right and that its footer is valid.
    fn check_whole(&self) -> Result<(), ReadSimulationError> {
        let mut file = self.open()?;
        let footer = footer_of(&mut file).map_err(|source| self.cannot_read(source))?;
        let (start, footer) = footer.map_err(|why| self.read_failure(why))?;
        let Some(at) = checksum::find(&footer) else {
            return Err(self.read_failure("its footer has no checksum of ours".to_owned()));
        };
        let computed = checksum::compute(&mut file, start + at as u64)
            .map_err(|source| self.cannot_read(source))?;
        if computed.as_bytes() != &footer[at..at + computed.len()] {
            return Err(self.damaged(
                "some byte",
                "the checksum of the file is another".to_owned(),
            ));
        }
        check_shape(&footer).map_err(|why| self.damaged("its footer", why))
    }

    fn reader(&self) -> Result<SerializedFileReader<Source>, ReadSimulationError> {
        let source = Source::new(self.open()?).map_err(|source| self.cannot_read(source))?;
        guarded(|| SerializedFileReader::new(source).map_err(shorten))
            .map_err(|why| self.damaged("its footer", why))
    }

    fn head(&self, metadata: &ParquetMetaData) -> Result<Simulation, ReadSimulationError> {
        let pairs = metadata.file_metadata().key_value_metadata();
        let pair = pairs.and_then(|pairs| pairs.iter().find(|pair| pair.key == HEAD_KEY));
        let Some(json) = pair.and_then(|pair| pair.value.as_ref()) else {
            return Err(self.read_failure(format!("its footer has no {HEAD_KEY}")));
        };
        let damaged =
            |error: serde_json::Error| self.damaged("its head", describe_json_error(&error));
        let value: serde_json::Value = serde_json::from_str(json).map_err(damaged)?;
        self.check_version(
            value
                .get("schema")
                .and_then(|schema| schema.as_str())
                .unwrap_or_default(),
        )?;
        let head: Simulation = serde_json::from_value(value).map_err(damaged)?;
        match uncountable(&head) {
            Some(design) => Err(self.damaged(
                "its head",
                format!("a cache or TLB of {design} was asked more often than 64 bits can count"),
            )),
            None => Ok(head),
        }
    }

    fn check_version(&self, schema: &str) -> Result<(), ReadSimulationError> {
        match schema.split_once('/') {
            _ if schema == SIMULATION_FORM => Ok(()),
            Some((SIMULATION_SCHEMA, _)) => Err(ReadRecordError::Version {
                path: self.0.path().to_owned(),
                found: printable(schema),
                form: SIMULATION_FORM,
            }
            .into()),
            _ => Err(self.read_failure(format!(
                "its schema is {}, not {SIMULATION_SCHEMA}",
                printable(&format!("{schema:?}"))
            ))),
        }
    }

    /// Returns the columns from which intervals are filled, found by name, with their positions in
    /// the file. The file may have further columns.
    fn numbers(
        &self,
        metadata: &ParquetMetaData,
    ) -> Result<Vec<(usize, &'static Column)>, ReadSimulationError> {
        let schema = metadata.file_metadata().schema_descr();
        let find = |column: &'static Column, width: Width, is_optional: bool| {
            let is_it = |i: &usize| schema.column(*i).path().string() == column.name;
            let index = (0..schema.num_columns())
                .find(is_it)
                .ok_or("it is not there")?;
            let found = schema.column(index);
            let is_fit =
                found.max_def_level() == i16::from(is_optional) && found.max_rep_level() == 0;
            if is_fit && found.physical_type() == width.physical() {
                Ok((index, column))
            } else {
                Err("it is of another type")
            }
        };
        let named =
            |column: &'static Column| {
                let found = match column.content {
                    Content::Number(width, ..) => find(column, width, false),
                    Content::Optional(..) => find(column, Width::Bits64, true),
                    _ => return None,
                };
                Some(found.map_err(|why| {
                    self.damaged(&format!("column {}", column.name), why.to_owned())
                }))
            };
        COLUMNS.iter().filter_map(named).collect()
    }

    fn cannot_read(&self, source: std::io::Error) -> ReadSimulationError {
        let path = self.0.path().to_owned();
        let writer = WRITER;
        ReadRecordError::Open {
            path,
            source,
            writer,
        }
        .into()
    }

    fn read_failure(&self, why: String) -> ReadSimulationError {
        let path = self.0.path().to_owned();
        let writer = WRITER;
        ReadRecordError::Foreign { path, why, writer }.into()
    }

    fn damaged(&self, place: &str, why: String) -> ReadSimulationError {
        ReadSimulationError::Damaged {
            path: self.0.path().to_owned(),
            place: place.to_owned(),
            why,
        }
    }
}

/// Returns the message of the JSON error without the line number, which is always 1.
fn describe_json_error(error: &serde_json::Error) -> String {
    printable(
        &error
            .to_string()
            .replace(" at line 1 column ", " at column "),
    )
}

/// Returns the message of the Parquet error, shortened to one printable line.
fn shorten(error: ParquetError) -> String {
    printable(&error.to_string()).chars().take(200).collect()
}

/// Returns the name of a design whose counters have a sum of more than 64 bits; `None` if there is
/// no such design.
fn uncountable(head: &Simulation) -> Option<String> {
    let is_countable = |counts: &HierarchyCounts| {
        counts
            .levels
            .iter()
            .chain(&counts.tlbs)
            .all(LevelCounts::is_countable)
    };
    let is_sound = |views: &ByView<HierarchyCounts>| {
        [&views.shared, &views.private, &views.flushed]
            .into_iter()
            .all(is_countable)
    };
    let found = head
        .designs
        .iter()
        .find(|design| !is_sound(&design.hierarchies));
    found.map(|design| printable(&design.design.name))
}
