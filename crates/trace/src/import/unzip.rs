//! Joins the members of a zip file to one stream. drmemtrace divides a trace into members so that a
//! reader can begin in the middle.

use std::io::{self, BufReader, Read, Seek, SeekFrom, Take};

use flate2::CrcReader;
use flate2::bufread::DeflateDecoder;
use zip::{CompressionMethod, ZipArchive};

/// The contents of a zip file's members, as one stream.
pub struct Unzipped<F> {
    /// Members that remain to be read, the next one last.
    members: Vec<Member>,
    at: At<F>,
}

#[derive(Clone, Copy)]
struct Member {
    start: u64,
    packed_bytes: u64,
    is_packed: bool,
    checksum: u32,
}

enum At<F> {
    /// The reader is between two members.
    Between(F),
    Within(CrcReader<Content<F>>, u32),
    /// The file was lost because of an error.
    Nowhere,
}

enum Content<F> {
    Stored(BufReader<Take<F>>),
    Deflated(Box<DeflateDecoder<BufReader<Take<F>>>>),
}

impl<F: Read + Seek> Unzipped<F> {
    /// Reads the list of members.
    ///
    /// # Errors
    ///
    /// If the file is no zip file, or has a member that is encrypted or packed in another way than by deflate.
    pub fn new(file: F) -> io::Result<Self> {
        let mut archive = ZipArchive::new(file)?;
        let numbers = (0..archive.len()).rev();
        let members = numbers
            .filter_map(|number| member(&mut archive, number).transpose())
            .collect::<Result<_, _>>()?;
        Ok(Unzipped {
            members,
            at: At::Between(archive.into_inner()),
        })
    }

    fn open(&mut self, mut file: F, member: Member) -> io::Result<()> {
        file.seek(SeekFrom::Start(member.start))?;
        let packed = BufReader::new(file.take(member.packed_bytes));
        let content = if member.is_packed {
            Content::Deflated(Box::new(DeflateDecoder::new(packed)))
        } else {
            Content::Stored(packed)
        };
        self.at = At::Within(CrcReader::new(content), member.checksum);
        Ok(())
    }
}

fn member<F: Read + Seek>(
    archive: &mut ZipArchive<F>,
    number: usize,
) -> io::Result<Option<Member>> {
    let file = archive.by_index_raw(number)?;
    if file.is_dir() {
        return Ok(None);
    }
    let is_packed = match file.compression() {
        CompressionMethod::Stored => false,
        CompressionMethod::Deflated => true,
        other => {
            return Err(io::Error::other(format!(
                "a member of the zip file is packed by {other}, not by deflate"
            )));
        }
    };
    let Some(start) = file.data_start().filter(|_| !file.encrypted()) else {
        return Err(io::Error::other("a member of the zip file is encrypted"));
    };
    Ok(Some(Member {
        start,
        packed_bytes: file.compressed_size(),
        is_packed,
        checksum: file.crc32(),
    }))
}

impl<F: Read + Seek> Read for Unzipped<F> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        loop {
            match std::mem::replace(&mut self.at, At::Nowhere) {
                At::Nowhere => return Ok(0),
                At::Between(file) => match self.members.pop() {
                    None => return Ok(0),
                    Some(member) => self.open(file, member)?,
                },
                At::Within(mut content, checksum) => {
                    let read = content.read(into)?;
                    if read > 0 {
                        self.at = At::Within(content, checksum);
                        return Ok(read);
                    }
                    self.at = At::Between(closed(content, checksum)?);
                }
            }
        }
    }
}

fn closed<F>(content: CrcReader<Content<F>>, checksum: u32) -> io::Result<F> {
    if content.crc().sum() != checksum {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "the checksum of a member of the zip file differs",
        ));
    }
    let packed = match content.into_inner() {
        Content::Stored(packed) => packed,
        Content::Deflated(decoder) => decoder.into_inner(),
    };
    Ok(packed.into_inner().into_inner())
}

impl<F: Read> Read for Content<F> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Content::Stored(from) => from.read(into),
            Content::Deflated(from) => from.read(into),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};

    use zip::write::{SimpleFileOptions, ZipWriter};

    use super::*;

    fn zipped(members: &[(&str, &[u8])], method: CompressionMethod) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, content) in members {
            writer
                .start_file(
                    *name,
                    SimpleFileOptions::default().compression_method(method),
                )
                .expect("memory");
            writer.write_all(content).expect("memory");
        }
        writer.finish().expect("memory").into_inner()
    }

    #[test]
    fn members_are_one_stream_in_their_order() {
        for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
            let file = zipped(
                &[("b", b"one"), ("none", b""), ("a", &[7; 100_000])],
                method,
            );
            let mut content = Vec::new();
            Unzipped::new(Cursor::new(file))
                .expect("a zip")
                .read_to_end(&mut content)
                .expect("whole");
            assert_eq!(content, [&b"one"[..], &[7; 100_000]].concat(), "{method}");
        }
    }

    #[test]
    fn a_damaged_member_is_an_error() {
        let mut file = zipped(&[("a", b"some bytes")], CompressionMethod::Stored);
        let at = file
            .windows(4)
            .position(|part| part == b"some")
            .expect("stored");
        file[at] = b'S';
        let error = Unzipped::new(Cursor::new(file))
            .expect("a list")
            .read_to_end(&mut Vec::new())
            .expect_err("damaged");
        assert_eq!(
            error.to_string(),
            "the checksum of a member of the zip file differs"
        );
    }

    #[test]
    fn what_is_no_zip_is_an_error() {
        for file in [&b""[..], b"PK\x03\x04", &[b'P'; 100]] {
            assert!(Unzipped::new(Cursor::new(file)).is_err(), "{file:?}");
        }
    }
}
