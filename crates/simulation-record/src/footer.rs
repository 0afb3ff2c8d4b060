//! The Parquet footer at the end of the file. The footer is checked before any other part of the
//! file is read.

use std::io::{self, Read, Seek, SeekFrom};

use crate::compact;
use crate::structures::{CHILDREN, FOOTER};

/// Key of the head in the footer's metadata.
pub(crate) const HEAD_KEY: &str = crate::SIMULATION_SCHEMA;

/// Largest length of the footer in bytes. A record with a longer footer is treated as damaged.
pub(crate) const FOOTER_LIMIT_BYTES: usize = 64 << 20;

const MAGIC: [u8; 4] = *b"PAR1";

/// Number of bytes after the footer: the footer's length and the magic number.
const TAIL_BYTES: u64 = 8;

/// Returns the offset of the footer in the file, and the footer's bytes.
///
/// # Errors
///
/// The outer error is one of reading; the inner one says why the file is not a Parquet file.
pub(crate) fn footer_of(
    file: &mut (impl Read + Seek),
) -> io::Result<Result<(u64, Vec<u8>), String>> {
    let length = file.seek(SeekFrom::End(0))?;
    if length < MAGIC.len() as u64 + TAIL_BYTES {
        return Ok(Err(format!("it has {length} bytes")));
    }
    if bytes_at::<4>(file, 0)? != MAGIC {
        return Ok(Err("it does not begin as a Parquet file does".to_owned()));
    }
    let tail = bytes_at::<{ TAIL_BYTES as usize }>(file, length - TAIL_BYTES)?;
    let [a, b, c, d, magic @ ..] = tail;
    if magic != MAGIC {
        return Ok(Err(
            "it does not end as a Parquet file does: it is cut off".to_owned()
        ));
    }
    let footer_bytes = u64::from(u32::from_le_bytes([a, b, c, d]));
    if footer_bytes > FOOTER_LIMIT_BYTES as u64
        || footer_bytes > length - TAIL_BYTES - MAGIC.len() as u64
    {
        return Ok(Err(format!(
            "it says that its footer has {footer_bytes} bytes"
        )));
    }
    let start = length - TAIL_BYTES - footer_bytes;
    let mut footer = vec![0; footer_bytes as usize];
    file.seek(SeekFrom::Start(start))?;
    file.read_exact(&mut footer)?;
    Ok(Ok((start, footer)))
}

/// Checks that a footer is exactly one structure with a flat schema. The check is necessary because
/// the Parquet reader recurses into nested groups until its stack overflows.
pub(crate) fn check_shape(footer: &[u8]) -> Result<(), String> {
    let mut groups = 0;
    let length = compact::walk(footer, FOOTER, &mut |path, value| {
        groups += u32::from(path == CHILDREN && value != 0)
    });
    match length {
        Ok(_) if groups > 1 => Err("columns inside columns".to_owned()),
        Ok(length) if length == footer.len() => Ok(()),
        Ok(length) => Err(format!("it ends after {length} of {} bytes", footer.len())),
        Err(fault) => Err(fault.to_owned()),
    }
}

fn bytes_at<const N: usize>(file: &mut (impl Read + Seek), at: u64) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}
