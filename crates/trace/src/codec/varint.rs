//! Variable-length numbers (LEB128): seven bits per byte, the lowest first, bit 7 set in all bytes
//! but the last.

use super::{BadBody, Unpacked};

/// Appends a number to a column.
#[inline]
pub(crate) fn put(column: &mut Vec<u8>, mut value: u64) {
    while value > 0x7f {
        column.push(value as u8 | 0x80);
        value >>= 7;
    }
    column.push(value as u8);
}

/// Maps signed numbers to unsigned ones: 0, -1, 1, -2, 2 ... become 0, 1, 2, 3, 4 ...
#[inline]
pub(crate) const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// Reverses the encoding of [`zigzag`].
#[inline]
pub(crate) const fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Reads numbers from the front of a column.
pub(crate) struct Numbers<'a> {
    name: &'static str,
    rest: &'a [u8],
}

impl<'a> Numbers<'a> {
    pub(crate) fn new(name: &'static str, column: &'a [u8]) -> Self {
        Numbers { name, rest: column }
    }

    #[inline]
    pub(super) fn take(&mut self) -> Unpacked<u64> {
        if let [first, rest @ ..] = self.rest
            && *first < 0x80
        {
            self.rest = rest;
            return Ok(u64::from(*first));
        }
        self.take_long()
    }

    fn take_long(&mut self) -> Unpacked<u64> {
        let mut value = 0;
        for (place, &byte) in self.rest.iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * place);
            if byte < 0x80 {
                self.rest = &self.rest[place + 1..];
                return Ok(value);
            }
        }
        Err(BadBody::Short { column: self.name })
    }

    /// Returns the next number, which must be at most `most`.
    pub(crate) fn next_at_most(&mut self, most: u64) -> Unpacked<u64> {
        let found = self.take()?;
        if found > most {
            return Err(BadBody::Large {
                what: self.name,
                found,
                most,
            });
        }
        Ok(found)
    }

    /// Checks that no byte of the column is left.
    pub(super) fn end(&self) -> Unpacked {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(BadBody::Long {
                column: self.name,
                bytes: self.rest.len(),
            })
        }
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(super) fn skip_to(&mut self, rest: &'a [u8]) {
        self.rest = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_back_what_was_put() {
        for value in [
            0,
            1,
            127,
            128,
            16_383,
            16_384,
            u64::from(u32::MAX),
            u64::MAX,
        ] {
            let mut column = Vec::new();
            put(&mut column, value);
            let mut numbers = Numbers::new("test", &column);
            assert_eq!(numbers.take(), Ok(value));
            assert_eq!(numbers.end(), Ok(()));
        }
        for value in [0, -1, 1, i64::MIN, i64::MAX] {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
        assert_eq!([0, -1, 1, -2, 2].map(zigzag), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn refuses_what_has_no_end() {
        assert_eq!(
            Numbers::new("test", &[0x80; 20]).take(),
            Err(BadBody::Short { column: "test" })
        );
        assert_eq!(
            Numbers::new("test", &[]).take(),
            Err(BadBody::Short { column: "test" })
        );
    }
}
