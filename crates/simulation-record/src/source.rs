//! Passes the bytes of a record's file to the Parquet reader. The pages are checked here, so that
//! the reader gets no bytes outside the file and no page that is too large.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::reader::{ChunkReader, Length};

use crate::compact;
use crate::structures::PAGE_HEADER;

/// Largest size of a page that is read, in bytes. The writer ends pages at 1 MiB, and a row group
/// has at most 1 Mi rows of 8 bytes.
const PAGE_LIMIT_BYTES: i64 = 32 << 20;

/// Largest size of a page header that is read, in bytes. Typical headers have a few dozen bytes,
/// and more if they contain statistics.
const HEADER_LIMIT_BYTES: u64 = 64 << 10;

pub(crate) struct Source {
    file: File,
    length: u64,
}

impl Source {
    pub(crate) fn new(file: File) -> std::io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(Source { file, length })
    }

    fn open(&self, start: u64, length: u64) -> Result<File, ParquetError> {
        if start
            .checked_add(length)
            .is_none_or(|end| end > self.length)
        {
            return Err(ParquetError::EOF(format!(
                "bytes {start} to {start} + {length} of {}",
                self.length
            )));
        }
        let mut file = self.file.try_clone()?;
        file.seek(SeekFrom::Start(start))?;
        Ok(file)
    }

    /// Checks the headers of all pages of these columns in a row group, before the pages are
    /// decoded.
    pub(crate) fn check_pages(
        &self,
        metadata: &ParquetMetaData,
        group: usize,
        columns: &[usize],
    ) -> Result<(), String> {
        let group = metadata.row_group(group);
        for column in columns {
            let chunk = group.column(*column);
            self.check_chunk(chunk, group.num_rows())
                .map_err(|why| format!("column {}: {why}", chunk.column_path().string()))?;
        }
        Ok(())
    }

    fn check_chunk(&self, chunk: &ColumnChunkMetaData, rows: i64) -> Result<(), String> {
        let start = chunk
            .dictionary_page_offset()
            .unwrap_or(chunk.data_page_offset());
        let (Ok(mut at), Ok(length)) =
            (u64::try_from(start), u64::try_from(chunk.compressed_size()))
        else {
            return Err("a place before the file".to_owned());
        };
        let end = at
            .checked_add(length)
            .filter(|end| *end <= self.length)
            .ok_or("a place behind the file")?;
        while at < end {
            let page = self.page_at(at, end)?;
            if page.is_unlikely(rows) {
                return Err(format!(
                    "a page of {} bytes and {} values",
                    page.bytes, page.values
                ));
            }
            at += page.header_bytes + page.stored_bytes.unsigned_abs();
        }
        if at == end {
            Ok(())
        } else {
            Err("a page that goes beyond its column".to_owned())
        }
    }

    fn page_at(&self, at: u64, end: u64) -> Result<Page, String> {
        let window = (end - at).min(HEADER_LIMIT_BYTES);
        let bytes = self
            .get_bytes(at, window as usize)
            .map_err(|error| error.to_string())?;
        let mut page = Page::default();
        let header = compact::walk(&bytes, PAGE_HEADER, &mut |path, value| {
            page.take(path, value)
        });
        page.header_bytes =
            header.map_err(|fault| format!("the header of a page is {fault}"))? as u64;
        Ok(page)
    }
}

/// Sizes from a page header in bytes, and the number of values in the page. The sizes are the
/// fields 2 and 3.
#[derive(Default)]
struct Page {
    header_bytes: u64,
    bytes: i64,
    stored_bytes: i64,
    values: i64,
}

impl Page {
    fn take(&mut self, path: &[i16], value: i64) {
        match path {
            [2] => self.bytes = value,
            [3] => self.stored_bytes = value,
            [5 | 7 | 8, 1] => self.values = value,
            _ => (),
        }
    }

    fn is_unlikely(&self, rows: i64) -> bool {
        let sizes = 0..=PAGE_LIMIT_BYTES;
        !sizes.contains(&self.bytes)
            || !sizes.contains(&self.stored_bytes)
            || !(0..=rows).contains(&self.values)
    }
}

impl Length for Source {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for Source {
    type T = BufReader<File>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Ok(BufReader::new(self.open(start, 0)?))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let file = self.open(start, length as u64)?;
        let mut bytes = Vec::with_capacity(length);
        file.take(length as u64).read_to_end(&mut bytes)?;
        if bytes.len() == length {
            Ok(bytes.into())
        } else {
            Err(ParquetError::EOF("the file became shorter".to_owned()))
        }
    }
}
