//! Reads numbered lines of bounded length.

use std::io::{self, BufRead, Read};

use super::assembler::Assembler;
use super::packed::refuse_packed;
use super::{ImportError, ImportFormat, Imported, Location, Source};

/// Maximum length of a line in bytes, more than the formats of lackey and Dinero and Valgrind's
/// messages need.
const LONGEST: usize = 4096;

/// Content of a parsed line.
pub(super) enum Parsed {
    /// An instruction: its address and its length in bytes.
    Instruction { address: u64, bytes: u64 },
    /// A load, a store, or a load followed by a store.
    Data {
        address: u64,
        bytes: u64,
        loads: bool,
        stores: bool,
    },
    /// A line that does not belong to the trace.
    Noise,
    /// A message of the tracer about the process with this number.
    Message(u64),
    /// A line that the format does not allow.
    Unknown,
}

/// A format of text, of which each line is parsed alone.
pub(super) struct Text<R, P> {
    from: R,
    format: ImportFormat,
    /// Description of a valid line.
    needed: &'static str,
    parse: P,
    number: u64,
    line: Vec<u8>,
    /// Process of the tracer's first message.
    process: Option<u64>,
}

impl<R: BufRead, P: Fn(&[u8]) -> Parsed> Text<R, P> {
    pub(super) fn new(from: R, format: ImportFormat, needed: &'static str, parse: P) -> Self {
        Text {
            from,
            format,
            needed,
            parse,
            number: 0,
            line: Vec::new(),
            process: None,
        }
    }

    /// Reads the next line; returns false at the end.
    fn read_line(&mut self) -> Imported<bool> {
        self.line.clear();
        self.number += 1;
        let place = Location::Line(self.number);
        if self.number == 1 {
            match self.from.fill_buf() {
                Ok(start) => refuse_packed(start, self.format)?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(ImportError::Io { place, source }),
            }
        }
        let mut bounded = (&mut self.from).take(LONGEST as u64 + 1);
        let read = bounded
            .read_until(b'\n', &mut self.line)
            .map_err(|source| ImportError::Io { place, source })?;
        if read > LONGEST {
            return Err(ImportError::LongLine {
                place,
                most: LONGEST,
            });
        }
        // Editors put a byte order mark before the first line.
        if self.number == 1 && self.line.starts_with(b"\xef\xbb\xbf") {
            self.line.drain(..3);
        }
        Ok(read > 0)
    }
}

impl<R: BufRead, P: Fn(&[u8]) -> Parsed> Source for Text<R, P> {
    fn step(&mut self, into: &mut Assembler) -> Imported<bool> {
        if !self.read_line()? {
            return Ok(false);
        }
        let (place, text) = (Location::Line(self.number), self.line.trim_ascii_end());
        match (self.parse)(text) {
            Parsed::Instruction { address, bytes } => into.instruction(place, address, bytes)?,
            Parsed::Data {
                address,
                bytes,
                loads,
                stores,
            } => {
                into.make_up_instruction();
                if loads {
                    into.reference(place, address, bytes, false)?;
                }
                if stores {
                    into.reference(place, address, bytes, true)?;
                }
            }
            Parsed::Noise => into.ignored += 1,
            Parsed::Message(number) => {
                into.ignored += 1;
                let first = *self.process.get_or_insert(number);
                if first != number {
                    return Err(ImportError::Processes {
                        place,
                        first,
                        number,
                    });
                }
            }
            Parsed::Unknown => {
                return Err(ImportError::Unknown {
                    place,
                    found: format!("'{}'", harmless(text)),
                    needed: self.needed,
                });
            }
        }
        Ok(true)
    }
}

/// Parses a hexadecimal number, with or without `0x`.
pub(super) fn hexadecimal(word: &[u8]) -> Option<u64> {
    let digits = word
        .strip_prefix(b"0x")
        .or_else(|| word.strip_prefix(b"0X"))
        .unwrap_or(word);
    // Dinero reads a prefix without digits as 0. `from_str_radix` would accept a sign.
    match digits {
        [] if !word.is_empty() => Some(0),
        [first, ..] if first.is_ascii_hexdigit() => {
            u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
        }
        _ => None,
    }
}

/// Makes a line safe to print: shortened, on one line, without control characters.
pub(super) fn harmless(line: &[u8]) -> String {
    let shown: String = String::from_utf8_lossy(line).chars().take(60).collect();
    shown.escape_debug().to_string()
}
