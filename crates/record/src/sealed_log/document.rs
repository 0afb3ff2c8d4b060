//! Files that contain a single JSON object.

use std::io::{self, Read};

use serde::Serialize;
use serde::de::DeserializeOwned;
use switchcost_units::Bytes;

use super::Form;
use super::chain::Chain;
use super::error::{Origin, ReadRecordError, describe_json, too_long};
use crate::Source;

/// Largest file that is read, in bytes. An observation of ten thousand tasks is smaller.
const LIMIT: Bytes = Bytes::mib(256);

/// Serializes a document as JSON, with a checksum of all bytes before it as the last field.
pub(crate) fn seal_document<D: Serialize>(document: &D) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec(document)?;
    Chain::default().seal(&mut text);
    text.push(b'\n');
    Ok(text)
}

/// Reads a file whose last field is a checksum of all bytes before it. `flaw` returns the reason
/// why the content is invalid.
pub(crate) fn read_sealed_document<D: Form + DeserializeOwned>(
    source: &Source,
    flaw: impl FnOnce(&D) -> Option<String>,
) -> Result<D, ReadRecordError> {
    let (origin, mut text) = read::<D>(source)?;
    text.pop_if(|last| *last == b'\n');
    Chain::default()
        .open(&mut text)
        .map_err(|broken| origin.damaged(1, broken.describe(1)))?;
    parse(&origin, &text, flaw)
}

/// Reads a JSON file without a checksum, in any layout. `flaw` returns the reason why the content
/// is invalid.
pub(crate) fn read_document<D: Form + DeserializeOwned>(
    source: &Source,
    flaw: impl FnOnce(&D) -> Option<String>,
) -> Result<D, ReadRecordError> {
    let (origin, text) = read::<D>(source)?;
    parse(&origin, &text, flaw)
}

fn read<D: Form>(source: &Source) -> Result<(Origin<'_>, Vec<u8>), ReadRecordError> {
    let origin = Origin::new::<D>(source.path());
    let mut text = Vec::new();
    source
        .open()
        .and_then(|file| file.take(LIMIT.0 + 1).read_to_end(&mut text))
        .map_err(|source| origin.unread(source))?;
    match text.len() as u64 {
        0 => Err(origin.foreign("it is empty")),
        length if length > LIMIT.0 => Err(origin.foreign(too_long(LIMIT))),
        _ => origin.check_form(&text).map(|()| (origin, text)),
    }
}

fn parse<D: DeserializeOwned>(
    origin: &Origin<'_>,
    text: &[u8],
    flaw: impl FnOnce(&D) -> Option<String>,
) -> Result<D, ReadRecordError> {
    let document = serde_json::from_slice(text)
        .map_err(|error| origin.damaged(error.line() as u64, describe_json(&error)))?;
    match flaw(&document) {
        Some(why) => Err(origin.damaged(1, why)),
        None => Ok(document),
    }
}
