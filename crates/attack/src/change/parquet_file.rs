//! Rewrites the Parquet file of a simulation's record with one change.

use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, ZstdLevel};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use rand::Rng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;

const HEAD: &str = "switchcost.record.simulation";

/// Replaces the JSON object in the file's metadata by the result of `change`; `None` if this is
/// impossible.
pub(super) fn with_another_head(
    file: &[u8],
    change: impl FnOnce(&[u8]) -> Option<Vec<u8>>,
) -> Option<Vec<u8>> {
    let reader = SerializedFileReader::new(Bytes::copy_from_slice(file)).ok()?;
    let mut keys = reader
        .metadata()
        .file_metadata()
        .key_value_metadata()?
        .clone();
    let head = keys.iter_mut().find(|key| key.key == HEAD)?;
    let changed = change(head.value.as_ref()?.as_bytes())?;
    head.value = Some(String::from_utf8(changed).ok()?);
    write(&reader, keys, |_, _, _| None).ok()
}

/// Replaces a number or text in one row of one column; `None` if this is impossible.
pub(super) fn with_another_cell(file: &[u8], random: &mut ChaCha8Rng) -> Option<Vec<u8>> {
    let reader = SerializedFileReader::new(Bytes::copy_from_slice(file)).ok()?;
    let keys = reader
        .metadata()
        .file_metadata()
        .key_value_metadata()?
        .clone();
    let groups = reader.num_row_groups();
    let group = random.random_range(0..groups);
    let column = random.random_range(0..reader.metadata().row_group(group).num_columns());
    let draw: u64 = random.random();
    let number = *[
        0,
        1,
        -1,
        i64::MAX,
        i64::MIN,
        i64::from(i32::MAX),
        i64::from(u32::MAX),
        1 << 20,
    ]
    .choose(random)?;
    write(&reader, keys, |of_group, of_column, rows| {
        (of_group == group && of_column == column && rows > 0)
            .then(|| ((draw % rows as u64) as usize, number))
    })
    .ok()
}

fn write(
    reader: &SerializedFileReader<Bytes>,
    keys: Vec<KeyValue>,
    pick: impl Fn(usize, usize, usize) -> Option<(usize, i64)>,
) -> Result<Vec<u8>> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_key_value_metadata(Some(keys));
    let schema = reader
        .metadata()
        .file_metadata()
        .schema_descr()
        .root_schema_ptr();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties.build()))?;
    for group in 0..reader.num_row_groups() {
        let rows = reader.get_row_group(group)?;
        let mut out = writer.next_row_group()?;
        let mut number = 0;
        while let Some(column) = out.next_column()? {
            copy(rows.get_column_reader(number)?, column, |count| {
                pick(group, number, count)
            })?;
            number += 1;
        }
        out.close()?;
    }
    writer.into_inner()
}

fn copy(
    from: ColumnReader,
    to: SerializedColumnWriter<'_>,
    pick: impl Fn(usize) -> Option<(usize, i64)>,
) -> Result<()> {
    match from {
        ColumnReader::BoolColumnReader(from) => {
            copy_typed::<BoolType>(from, to, pick, |number| number % 2 != 0)
        }
        ColumnReader::Int32ColumnReader(from) => {
            copy_typed::<Int32Type>(from, to, pick, |number| number as i32)
        }
        ColumnReader::Int64ColumnReader(from) => {
            copy_typed::<Int64Type>(from, to, pick, |number| number)
        }
        ColumnReader::ByteArrayColumnReader(from) => {
            copy_typed::<ByteArrayType>(from, to, pick, |number| {
                ByteArray::from(format!("\u{1b}[{number}m").into_bytes())
            })
        }
        _ => Ok(()),
    }
}

fn copy_typed<T: DataType>(
    mut from: ColumnReaderImpl<T>,
    mut to: SerializedColumnWriter<'_>,
    pick: impl Fn(usize) -> Option<(usize, i64)>,
    of_number: impl Fn(i64) -> T::T,
) -> Result<()> {
    let (mut definitions, mut values) = (Vec::new(), Vec::new());
    while from
        .read_records(1 << 20, Some(&mut definitions), None, &mut values)?
        .0
        > 0
    {}
    if let Some((at, number)) = pick(values.len()) {
        values[at] = of_number(number);
    }
    let levels = (!definitions.is_empty()).then_some(definitions.as_slice());
    to.typed::<T>().write_batch(&values, levels, None)?;
    to.close()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_anew_has_the_same_head() {
        let path = crate::place::repository()
            .join("crates/simulation-record/tests/samples/simulation-1.parquet");
        let file = std::fs::read(path).expect("a sample");
        let mut head = Vec::new();
        let again = with_another_head(&file, |text| Some(text.to_vec())).expect("a record");
        with_another_head(&again, |text| {
            head = text.to_vec();
            None
        });
        assert!(head.starts_with(b"{\"schema\":\"switchcost.record.simulation/1\""));
    }
}
