//! Checks data in Thrift's compact encoding without decoding it, so that an impossible length is
//! found before the Parquet reader allocates memory for it.
//!
//! Each encoded field states its type. The Parquet reader ignores the stated type and goes by the
//! field's number. So the reader would read a list in a field that is marked as text. Therefore
//! this check requires that the stated type is the expected one. The encoding is defined in
//! doc/specs/thrift-compact-protocol.md of Apache Thrift.

/// Largest nesting depth of structures. Parquet's own structures are about six deep.
const DEPTH_LIMIT: u32 = 24;

/// Reason why bytes are not a valid structure, as a text for the error.
pub(crate) type Fault = &'static str;

const CUT: Fault = "a structure that does not end";

/// Type code of a true value in the encoding. The constants below are the codes of the other types.
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const SHORT: u8 = 4;
const INT: u8 = 5;
const LONG: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
const STRUCT: u8 = 12;

/// Type of a field that the Parquet reader expects.
#[derive(Debug)]
pub(crate) enum Kind {
    Boolean,
    Byte,
    I16,
    I32,
    I64,
    Binary,
    List(&'static Kind),
    Struct(Shape),
    /// A field of Parquet's format that this program never writes.
    Unused,
}

/// Types of the fields of a structure, starting with field 1. The Parquet reader skips fields that
/// are not in the list by their stated type.
pub(crate) type Shape = &'static [Kind];

impl Kind {
    fn is(&self, kind: u8) -> bool {
        match self {
            Kind::Boolean => matches!(kind, TRUE | FALSE),
            Kind::Byte => kind == BYTE,
            Kind::I16 => kind == SHORT,
            Kind::I32 => kind == INT,
            Kind::I64 => kind == LONG,
            Kind::Binary => kind == BINARY,
            Kind::List(_) => kind == LIST,
            Kind::Struct(_) => kind == STRUCT,
            Kind::Unused => false,
        }
    }
}

/// Function that is called with each integer, and with the field numbers on the path to the
/// integer, outermost first.
pub(crate) type Visit<'a> = &'a mut dyn FnMut(&[i16], i64);

/// Number of input bytes for each structure that lists may contain. The limit is necessary because
/// the Parquet reader allocates some hundred bytes for each structure before reading any.
const STRUCTURE_BYTES: u64 = 16;

/// Checks one structure, calls `visit` for each integer, and returns the length of the structure in
/// bytes.
pub(crate) fn walk(bytes: &[u8], shape: Shape, visit: Visit<'_>) -> Result<usize, Fault> {
    let structures = bytes.len() as u64 / STRUCTURE_BYTES;
    let mut walker = Walker {
        rest: bytes,
        structures,
        path: Vec::new(),
        visit,
    };
    walker.structure(shape, 0)?;
    Ok(bytes.len() - walker.rest.len())
}

struct Walker<'a> {
    rest: &'a [u8],
    /// Number of structures that lists may still contain.
    structures: u64,
    path: Vec<i16>,
    visit: Visit<'a>,
}

impl Walker<'_> {
    fn structure(&mut self, shape: Shape, depth: u32) -> Result<(), Fault> {
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
                delta => self
                    .path
                    .last()
                    .copied()
                    .unwrap_or(0)
                    .wrapping_add(i16::from(delta)),
            };
            if let Some(last) = self.path.last_mut() {
                *last = id;
            }
            let expected = usize::try_from(id)
                .ok()
                .and_then(|id| shape.get(id.checked_sub(1)?));
            self.value(header & 0xf, expected, depth)?;
        }
        self.path.pop();
        Ok(())
    }

    fn value(
        &mut self,
        kind: u8,
        expected: Option<&'static Kind>,
        depth: u32,
    ) -> Result<(), Fault> {
        if expected.is_some_and(|expected| !expected.is(kind)) {
            return Err("a field of a kind that it has in no record");
        }
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
            LIST | SET => self.list(expected, depth),
            MAP => self.map(depth),
            STRUCT => self.structure(
                if let Some(Kind::Struct(shape)) = expected {
                    shape
                } else {
                    &[]
                },
                depth + 1,
            ),
            _ => Err("a value of no kind"),
        }
    }

    fn list(&mut self, expected: Option<&'static Kind>, depth: u32) -> Result<(), Fault> {
        let header = self.byte()?;
        let count = if header >> 4 == 15 {
            self.varint()?
        } else {
            u64::from(header >> 4)
        };
        let of = if let Some(Kind::List(of)) = expected {
            Some(*of)
        } else {
            None
        };
        if matches!(of, Some(Kind::Struct(_))) {
            self.structures = self
                .structures
                .checked_sub(count)
                .ok_or("a list of more structures than its bytes hold")?;
        }
        self.elements(count, &[header & 0xf], of, depth)
    }

    fn map(&mut self, depth: u32) -> Result<(), Fault> {
        let count = self.varint()?;
        if count == 0 {
            return Ok(());
        }
        let kinds = self.byte()?;
        self.elements(count, &[kinds >> 4, kinds & 0xf], None, depth)
    }

    fn elements(
        &mut self,
        count: u64,
        kinds: &[u8],
        of: Option<&'static Kind>,
        depth: u32,
    ) -> Result<(), Fault> {
        // The length of a list is limited by the remaining bytes, because each element takes at
        // least one.
        if count > self.rest.len() as u64 {
            return Err("a list longer than what follows");
        }
        for _ in 0..count {
            for kind in kinds {
                // In a list, each boolean is encoded as a byte.
                let kind = if matches!(*kind, TRUE | FALSE) {
                    BYTE
                } else {
                    *kind
                };
                self.value(kind, of, depth)?;
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

    /// Reads a signed integer in zigzag encoding.
    fn integer(&mut self) -> Result<i64, Fault> {
        let value = self.varint()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Field numbers on the path to an integer, and the integer.
    type Found = (Vec<i16>, i64);

    fn walked(bytes: &[u8]) -> Result<(usize, Vec<Found>), Fault> {
        walked_as(&[], bytes)
    }

    fn walked_as(shape: Shape, bytes: &[u8]) -> Result<(usize, Vec<Found>), Fault> {
        let mut found = Vec::new();
        let length = walk(bytes, shape, &mut |path, value| {
            found.push((path.to_vec(), value))
        })?;
        Ok((length, found))
    }

    #[test]
    fn integers_are_found_with_their_fields() {
        // Field 1: i32 -2; field 3: a structure with field 1: i64 150; the end of both; a byte
        // behind.
        let bytes = [0x15, 0x03, 0x2c, 0x16, 0xac, 0x02, 0x00, 0x00, 0xff];
        assert_eq!(
            walked(&bytes),
            Ok((8, vec![(vec![1], -2), (vec![3, 1], 150)]))
        );
    }

    #[test]
    fn lists_texts_and_booleans_are_passed() {
        // Field 1: true; field 2: "ab"; field 3: a list of two booleans; field 4: an empty map;
        // field 5: i16 1.
        let bytes = [
            0x11, 0x18, 2, b'a', b'b', 0x19, 0x21, 1, 2, 0x1b, 0, 0x14, 2, 0,
        ];
        assert_eq!(walked(&bytes), Ok((bytes.len(), vec![(vec![5], 1)])));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        assert_eq!(walked(&[]), Err(CUT));
        assert_eq!(walked(&[0x15]), Err(CUT));
        assert_eq!(walked(&[0x18, 5, b'a']), Err(CUT));
        assert_eq!(
            walked(&[0x19, 0xfc, 0xff, 0xff, 0xff, 0x7f, 0]),
            Err("a list longer than what follows")
        );
        assert_eq!(walked(&[0x1d, 0]), Err("a value of no kind"));
        assert_eq!(
            walked(&[0x1c; 100]),
            Err("structures too deep inside each other")
        );
        assert_eq!(
            walked(&[[0x16].as_slice(), &[0x80; 12]].concat()),
            Err("a number of more than 64 bits")
        );
    }

    #[test]
    fn a_field_is_of_the_kind_that_its_number_has() {
        const SHAPE: Shape = &[
            Kind::I32,
            Kind::Unused,
            Kind::List(&Kind::Struct(&[Kind::Binary])),
        ];
        let other = Err("a field of a kind that it has in no record");
        // An additional unknown field: a text of 16 bytes.
        let padded = |fields: &[u8]| [fields, &[0x08, 0x14, 16], &[b' '; 16], &[0]].concat();
        // An i32; a list of one structure with a text.
        assert!(walked_as(SHAPE, &padded(&[0x15, 2, 0x29, 0x1c, 0x18, 1, b'a', 0])).is_ok());
        // Each variant has a wrong kind: an i64 or a text for the first field; the second field; a
        // text for the structure in the list, a number for its text.
        for fields in [
            [0x16, 2].as_slice(),
            &[0x18, 1, 0x15],
            &[0x25, 2],
            &[0x39, 0x18, 1, b'a'],
            &[0x39, 0x1c, 0x15, 2, 0],
        ] {
            let bytes = padded(fields);
            assert_eq!(walked_as(SHAPE, &bytes), other, "{fields:?}");
            assert!(walked_as(&[], &bytes).is_ok(), "{fields:?} is well-formed");
        }
    }
}
