//! Walks through Thrift's compact encoding without building anything from it, so that a length that cannot be is found
//! before the Parquet reader sets memory aside for it.
//! The encoding: thrift/doc/specs/thrift-compact-protocol.md of Apache Thrift.

/// Structures inside each other: Parquet has about six.
const DEPTH_LIMIT: u32 = 24;

/// Why bytes are no structure.
pub(crate) type Fault = &'static str;

const CUT: Fault = "a structure that does not end";

/// Kinds of values, as the encoding numbers them.
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const SHORT: u8 = 4;
const LONG: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
const STRUCT: u8 = 12;

/// Called with the numbers of the fields on the way to an integer, outermost first, and the integer.
pub(crate) type Visit<'a> = &'a mut dyn FnMut(&[i16], i64);

/// Walks one structure and returns how many bytes it takes.
pub(crate) fn walk(bytes: &[u8], visit: Visit<'_>) -> Result<usize, Fault> {
    let mut walker = Walker { rest: bytes, path: Vec::new(), visit };
    walker.structure(0)?;
    Ok(bytes.len() - walker.rest.len())
}

struct Walker<'a> {
    rest: &'a [u8],
    path: Vec<i16>,
    visit: Visit<'a>,
}

impl Walker<'_> {
    fn structure(&mut self, depth: u32) -> Result<(), Fault> {
        if depth > DEPTH_LIMIT {
            return Err("structures too deep inside each other");
        }
        self.path.push(0);
        loop {
            let header = self.byte()?;
            if header == 0 {
                break;
            }
            let id = match header >> 4 {
                0 => self.integer()? as i16,
                delta => self.path.last().copied().unwrap_or(0).wrapping_add(i16::from(delta)),
            };
            if let Some(last) = self.path.last_mut() {
                *last = id;
            }
            self.value(header & 0xf, depth)?;
        }
        self.path.pop();
        Ok(())
    }

    fn value(&mut self, kind: u8, depth: u32) -> Result<(), Fault> {
        match kind {
            TRUE | FALSE => Ok(()),
            BYTE => self.byte().map(drop),
            SHORT..=LONG => {
                let integer = self.integer()?;
                (self.visit)(&self.path, integer);
                Ok(())
            }
            DOUBLE => self.skip(8),
            BINARY => {
                let length = self.varint()?;
                self.skip(length)
            }
            LIST | SET => self.list(depth),
            MAP => self.map(depth),
            STRUCT => self.structure(depth + 1),
            _ => Err("a value of no kind"),
        }
    }

    fn list(&mut self, depth: u32) -> Result<(), Fault> {
        let header = self.byte()?;
        let count = if header >> 4 == 15 { self.varint()? } else { u64::from(header >> 4) };
        self.elements(count, &[header & 0xf], depth)
    }

    fn map(&mut self, depth: u32) -> Result<(), Fault> {
        let count = self.varint()?;
        if count == 0 {
            return Ok(());
        }
        let kinds = self.byte()?;
        self.elements(count, &[kinds >> 4, kinds & 0xf], depth)
    }

    fn elements(&mut self, count: u64, kinds: &[u8], depth: u32) -> Result<(), Fault> {
        // Each takes a byte at least.
        if count > self.rest.len() as u64 {
            return Err("a list longer than what follows");
        }
        for _ in 0..count {
            for kind in kinds {
                // Inside a list a boolean takes a byte.
                let kind = if matches!(*kind, TRUE | FALSE) { BYTE } else { *kind };
                self.value(kind, depth)?;
            }
        }
        Ok(())
    }

    fn byte(&mut self) -> Result<u8, Fault> {
        let (first, rest) = self.rest.split_first().ok_or(CUT)?;
        self.rest = rest;
        Ok(*first)
    }

    fn skip(&mut self, count: u64) -> Result<(), Fault> {
        let count = usize::try_from(count).map_err(|_| CUT)?;
        self.rest = self.rest.get(count..).ok_or(CUT)?;
        Ok(())
    }

    fn varint(&mut self) -> Result<u64, Fault> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err("a number of more than 64 bits")
    }

    /// A signed number, which is written zigzag.
    fn integer(&mut self) -> Result<i64, Fault> {
        let value = self.varint()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An integer, and the fields on the way to it.
    type Found = (Vec<i16>, i64);

    fn walked(bytes: &[u8]) -> Result<(usize, Vec<Found>), Fault> {
        let mut found = Vec::new();
        let length = walk(bytes, &mut |path, value| found.push((path.to_vec(), value)))?;
        Ok((length, found))
    }

    #[test]
    fn integers_are_found_with_their_fields() {
        // Field 1: i32 -2; field 3: a structure with field 1: i64 150; the end of both; a byte behind.
        let bytes = [0x15, 0x03, 0x2c, 0x16, 0xac, 0x02, 0x00, 0x00, 0xff];
        assert_eq!(walked(&bytes), Ok((8, vec![(vec![1], -2), (vec![3, 1], 150)])));
    }

    #[test]
    fn lists_texts_and_booleans_are_passed() {
        // Field 1: true; field 2: "ab"; field 3: a list of two booleans; field 4: an empty map; field 5: i16 1.
        let bytes = [0x11, 0x18, 2, b'a', b'b', 0x19, 0x21, 1, 2, 0x1b, 0, 0x14, 2, 0];
        assert_eq!(walked(&bytes), Ok((bytes.len(), vec![(vec![5], 1)])));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        assert_eq!(walked(&[]), Err(CUT));
        assert_eq!(walked(&[0x15]), Err(CUT));
        assert_eq!(walked(&[0x18, 5, b'a']), Err(CUT));
        assert_eq!(walked(&[0x19, 0xfc, 0xff, 0xff, 0xff, 0x7f, 0]), Err("a list longer than what follows"));
        assert_eq!(walked(&[0x1d, 0]), Err("a value of no kind"));
        assert_eq!(walked(&[0x1c; 100]), Err("structures too deep inside each other"));
        assert_eq!(walked(&[[0x16].as_slice(), &[0x80; 12]].concat()), Err("a number of more than 64 bits"));
    }
}
