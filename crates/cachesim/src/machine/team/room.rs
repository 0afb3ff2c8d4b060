//! Whether a reference lies in one line, told by one comparison.

use trace::{Reference, SIZES};

use super::front::ANY;

/// For lines of 2^`BITS` bytes.
pub(super) struct Room<const BITS: u32>;

/// The bits of a reference above all but its size and kind.
const CODE_SHIFT: u32 = 58;
const CODES: usize = 1 << (u64::BITS - CODE_SHIFT);

impl<const BITS: u32> Room<BITS> {
    /// The last place in a line that a reference may begin at without reaching the next one; -1 where there is none.
    const LAST: [i8; CODES] = {
        let mut last = [-1; CODES];
        let mut code = 0;
        while code < CODES && BITS != ANY {
            let room = (1 << BITS) - SIZES[code % SIZES.len()] as i32;
            last[code] = if room < 0 { -1 } else { room as i8 };
            code += 1;
        }
        last
    };

    #[inline(always)]
    pub(super) fn fits(reference: Reference, line_bits: u32) -> bool {
        let offset = reference.0 & ((1 << line_bits) - 1);
        if BITS == ANY {
            return offset + u64::from(reference.bytes()) <= 1 << line_bits;
        }
        offset as i8 <= Self::LAST[(reference.0 >> CODE_SHIFT) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<const BITS: u32>(line_bits: u32) {
        for code in 0..SIZES.len() as u8 {
            for address in 0..1 << line_bits {
                for is_store in [false, true] {
                    let reference = Reference::new(address, code, 0, is_store);
                    let last = address + u64::from(reference.bytes()) - 1;
                    assert_eq!(Room::<BITS>::fits(reference, line_bits), last >> line_bits == 0, "{reference:?}");
                }
            }
        }
    }

    #[test]
    fn a_reference_fits_where_its_last_byte_lies_in_the_line_of_its_first() {
        check::<4>(4);
        check::<6>(6);
        [3, 5, 7].into_iter().for_each(check::<ANY>);
    }
}
