//! The checksum of the whole file, which the file itself contains: a value in its footer that
//! counts as zeros while it is computed.

use std::io::{self, Read, Seek, SeekFrom, Write};

use xxhash_rust::xxh3::Xxh3;

/// Key of the checksum in the footer, where it is the last key.
pub(crate) const CHECKSUM_KEY: &str = "switchcost.record.checksum.xxh3";

/// Value of the checksum while it is not yet known.
pub(crate) const NO_CHECKSUM: &str = "0000000000000000";

/// Bytes between the key and the value in the footer: Thrift's field header and the length of the
/// value.
const VALUE_HEADER: [u8; 2] = [0x18, NO_CHECKSUM.len() as u8];

/// Returns the position of the checksum in a footer, from the footer's beginning.
pub(crate) fn find(footer: &[u8]) -> Option<usize> {
    let marker = [CHECKSUM_KEY.as_bytes(), &VALUE_HEADER].concat();
    let at = footer
        .windows(marker.len())
        .rposition(|window| window == marker)?
        + marker.len();
    (at + NO_CHECKSUM.len() <= footer.len()).then_some(at)
}

/// Returns the checksum of a file whose checksum is at position `at`, as text.
pub(crate) fn compute(file: &mut (impl Read + Seek), at: u64) -> io::Result<String> {
    file.seek(SeekFrom::Start(0))?;
    let mut hasher = Xxh3::new();
    add(file, at, &mut hasher)?;
    hasher.update(NO_CHECKSUM.as_bytes());
    file.seek(SeekFrom::Start(at + NO_CHECKSUM.len() as u64))?;
    add(file, u64::MAX, &mut hasher)?;
    Ok(format!("{:016x}", hasher.digest()))
}

/// Writes the checksum into a file whose checksum is still zeros.
pub(crate) fn write(file: &mut (impl Read + Write + Seek), at: u64) -> io::Result<()> {
    let checksum = compute(file, at)?;
    file.seek(SeekFrom::Start(at))?;
    file.write_all(checksum.as_bytes())
}

/// Adds at most `limit` bytes from the current position to the hash.
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
