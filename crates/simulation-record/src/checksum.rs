//! The checksum over the whole file, which is stored in the file's own footer. The digits of the
//! checksum count as zeros when it is computed.

use std::io::{self, Read, Seek, SeekFrom, Write};

use xxhash_rust::xxh3::Xxh3;

/// Key of the checksum in the footer's metadata; the last key.
pub(crate) const CHECKSUM_KEY: &str = "switchcost.record.checksum.xxh3";

/// Placeholder for the checksum until it is computed.
pub(crate) const NO_CHECKSUM: &str = "0000000000000000";

/// Bytes between the key and the value in the footer: Thrift's field header and the value's length.
const VALUE_HEADER: [u8; 2] = [0x18, NO_CHECKSUM.len() as u8];

/// Returns the offset of the checksum within the footer; `None` if the footer has no checksum.
pub(crate) fn find(footer: &[u8]) -> Option<usize> {
    let marker = [CHECKSUM_KEY.as_bytes(), &VALUE_HEADER].concat();
    let at = footer
        .windows(marker.len())
        .rposition(|window| window == marker)?
        + marker.len();
    (at + NO_CHECKSUM.len() <= footer.len()).then_some(at)
}

/// Returns the checksum of a file as 16 hexadecimal digits. `at` is the offset in the file where
/// the checksum is stored.
pub(crate) fn compute(file: &mut (impl Read + Seek), at: u64) -> io::Result<String> {
    file.seek(SeekFrom::Start(0))?;
    let mut hasher = Xxh3::new();
    add(file, at, &mut hasher)?;
    hasher.update(NO_CHECKSUM.as_bytes());
    file.seek(SeekFrom::Start(at + NO_CHECKSUM.len() as u64))?;
    add(file, u64::MAX, &mut hasher)?;
    Ok(format!("{:016x}", hasher.digest()))
}

/// Computes the checksum of a file and writes it at offset `at`, where the file has zeros.
pub(crate) fn write(file: &mut (impl Read + Write + Seek), at: u64) -> io::Result<()> {
    let checksum = compute(file, at)?;
    file.seek(SeekFrom::Start(at))?;
    file.write_all(checksum.as_bytes())
}

/// Adds bytes of the file to the hash, at most `limit` bytes from the current position on.
fn add(file: &mut impl Read, limit: u64, hasher: &mut Xxh3) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 20];
    let mut limited = file.take(limit);
    loop {
        match limited.read(&mut buffer)? {
            0 => return Ok(()),
            count => hasher.update(&buffer[..count]),
        }
    }
}
