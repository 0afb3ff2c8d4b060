//! Encodes distances from the expected addresses as two columns: width codes and residuals.

use super::addresses::{FAR, FAR_BYTES, LANES, bytes_of, code_of, is_far, residuals_of};
use super::open::{Counts, Open, RESIDUALS, WIDTHS, zeroed};
use super::wide::Wide;

/// Distances that wait to be written, so that the loop over shapes and the loop over residuals are
/// both short.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) differences: Box<[u64; Waiting::ROOM + LANES]>,
    pub(super) length: usize,
    pub(super) wide: Wide,
}

impl Waiting {
    pub(super) const MOST: usize = 1024;
    /// Size of the buffer: room for [`Waiting::MOST`] distances, and for those that predicted
    /// shapes add before the next check. A power of two, so that a masked index needs no bounds
    /// check.
    pub(super) const ROOM: usize = 2048;

    pub(super) fn new() -> Waiting {
        Waiting {
            differences: zeroed(),
            length: 0,
            wide: Wide::detect(),
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.length >= Waiting::MOST
    }

    /// Writes the waiting distances, except for up to three that do not fill a byte of width codes.
    pub(super) fn put(&mut self, open: &mut Open) {
        let (groups, rest) = self.differences[..self.length].as_chunks();
        self.wide.call(
            #[inline(always)]
            || put(self.wide, groups, open),
        );
        let (done, rest) = (groups.len() * LANES, rest.len());
        self.differences.copy_within(done..done + rest, 0);
        self.length = rest;
    }

    /// Writes all waiting distances. Called at the end of a chunk.
    pub(super) fn put_all(&mut self, open: &mut Open) {
        let explicit = open.counts.explicit + self.length;
        self.differences[self.length..self.length + LANES].fill(0);
        self.length = self.length.next_multiple_of(LANES);
        self.put(open);
        open.counts.explicit = explicit;
    }
}

#[inline(always)]
fn put(wide: Wide, groups: &[[u64; LANES]], open: &mut Open) {
    let Open {
        counts: Counts {
            explicit,
            residual_bytes,
            ..
        },
        widths,
        residuals,
        ..
    } = open;
    let (widths, residuals) = (&mut **widths, &mut **residuals);
    let (first, mut place) = (*explicit / LANES, *residual_bytes);
    for (number, &differences) in (first..).zip(groups) {
        let width = &mut widths[number & (WIDTHS - 1)];
        let start = place & (RESIDUALS - 1);
        let (codes, bytes) = match pack(wide, differences) {
            Some(packed) => packed.put(&mut residuals[start..]),
            None => put_each(residuals_of(differences), &mut residuals[start..]),
        };
        *width = codes;
        place += bytes;
    }
    (*explicit, *residual_bytes) = ((first + groups.len()) * LANES, place);
}

/// Writes the residuals of a group one by one. Returns the byte of width codes and the number of
/// bytes written.
#[cold]
#[inline(never)]
fn put_each(group: [u64; LANES], into: &mut [u8]) -> (u8, usize) {
    let (mut codes, mut bytes) = (0, 0);
    for (lane, residual) in group.into_iter().enumerate() {
        let code = code_of(residual);
        codes |= (code as u8) << (2 * lane);
        if is_far(residual) {
            into[bytes..bytes + FAR_BYTES].copy_from_slice(&far(residual));
            bytes += FAR_BYTES;
        } else {
            into[bytes..bytes + 8].copy_from_slice(&residual.to_le_bytes());
            bytes += bytes_of(code);
        }
    }
    (codes, bytes)
}

/// Returns the bytes of a far residual, which does not fit five bytes.
fn far(residual: u64) -> [u8; FAR_BYTES] {
    let mut bytes = [0; FAR_BYTES];
    bytes[..5].copy_from_slice(&FAR.to_le_bytes()[..5]);
    bytes[5..].copy_from_slice(&residual.to_le_bytes()[..6]);
    bytes
}

/// Bytes of a group of residuals, as two parts of two residuals each.
struct Packed {
    codes: u8,
    parts: [[u8; 16]; 2],
    /// Number of bytes in the first part that are used.
    first_bytes: u8,
    /// Number of bytes in both parts together that are used.
    bytes: u8,
}

impl Packed {
    #[inline(always)]
    fn put(self, into: &mut [u8]) -> (u8, usize) {
        let Packed {
            codes,
            parts: [first, second],
            first_bytes,
            bytes,
        } = self;
        // Both parts are copied whole, and the next group overwrites the excess, because a copy of
        // variable length would be a call. A first part has at most ten bytes, so the mask has no
        // effect except to let the compiler drop the bounds check of the second part.
        let first_bytes = usize::from(first_bytes & 15);
        if let Some(into) = into.first_chunk_mut::<32>() {
            into[..16].copy_from_slice(&first);
            into[first_bytes..first_bytes + 16].copy_from_slice(&second);
        }
        (codes, bytes.into())
    }
}

/// Packs the residuals of a group of distances in one step. Returns `None` if the machine lacks the
/// instructions, or if a residual is far.
#[inline(always)]
fn pack(wide: Wide, differences: [u64; LANES]) -> Option<Packed> {
    #[cfg(target_arch = "x86_64")]
    if let Some(v3) = wide.v3 {
        return pack_at_once::pack(v3, differences);
    }
    let _ = (wide, differences);
    None
}

#[cfg(target_arch = "x86_64")]
mod pack_at_once {
    use std::arch::x86_64::{__m128i, __m256i};

    use super::super::addresses::{LANES, NEAR_BITS, SHIFT, bytes_of};
    use super::super::wide::V3;
    use super::Packed;

    #[repr(align(16))]
    struct Moves([[u8; 16]; 16]);

    /// For each pair of width codes, the index of the source byte for each of the 16 bytes that are
    /// written for two residuals; 0x80 for a byte of 0.
    static MOVES: Moves = {
        let mut moves = [[0x80; 16]; 16];
        let mut codes = 0;
        while codes < 16 {
            let first = bytes_of(codes as u32 & 3);
            let mut byte = 0;
            while byte < first + bytes_of(codes as u32 >> 2) {
                moves[codes][byte] = if byte < first { byte } else { 8 + byte - first } as u8;
                byte += 1;
            }
            codes += 1;
        }
        Moves(moves)
    };

    /// Width codes of a group of four residuals, and the numbers of bytes that follow from them.
    #[derive(Clone, Copy)]
    #[repr(align(4))]
    struct Group {
        codes: u8,
        first_bytes: u8,
        bytes: u8,
    }

    /// Properties of groups, indexed by the lower bits of the four width codes plus 16 times their
    /// upper bits.
    static GROUPS: [Group; 256] = {
        let mut groups = [Group {
            codes: 0,
            first_bytes: 0,
            bytes: 0,
        }; 256];
        let mut bits = 0;
        while bits < 256 {
            let mut lane = 0;
            while lane < LANES {
                let code = bits >> lane & 1 | (bits >> (4 + lane) & 1) << 1;
                let bytes = bytes_of(code as u32) as u8;
                groups[bits].codes |= (code << (2 * lane)) as u8;
                groups[bits].bytes += bytes;
                if lane < LANES / 2 {
                    groups[bits].first_bytes += bytes;
                }
                lane += 1;
            }
            bits += 1;
        }
        groups
    };

    /// Returns the same as [`residuals_of`](super::residuals_of).
    #[inline(always)]
    fn residuals_of(v3: V3, differences: __m256i) -> __m256i {
        let signs = v3
            .avx2
            ._mm256_cmpgt_epi64(v3.avx._mm256_setzero_si256(), differences);
        let twice = v3.avx2._mm256_slli_epi64::<1>(differences);
        v3.avx2
            ._mm256_srli_epi64::<{ SHIFT as i32 }>(v3.avx2._mm256_xor_si256(twice, signs))
    }

    #[inline(always)]
    pub(super) fn pack(v3: V3, differences: [u64; LANES]) -> Option<Packed> {
        let all = residuals_of(v3, pulp::cast(differences));
        if v3
            .avx
            ._mm256_testz_si256(all, v3.avx._mm256_set1_epi64x(-1 << NEAR_BITS))
            == 0
        {
            return None;
        }
        // The instruction set has only signed comparisons. Signed comparisons are right, because
        // residuals that are not far have the sign bit clear.
        let above = |limit| {
            v3.avx2
                ._mm256_cmpgt_epi64(all, v3.avx._mm256_set1_epi64x(limit))
        };
        let [above_none, above_one, above_two] = [above(0), above(0xff), above(0xffff)];
        // The width code is the number of limits, of three, that the residual exceeds. The lower
        // bit of the width code is the parity of the comparisons, and the upper bit is the second
        // comparison.
        let is_odd = v3
            .avx2
            ._mm256_xor_si256(v3.avx2._mm256_xor_si256(above_none, above_one), above_two);
        let bits = |all| v3.avx._mm256_movemask_pd(v3.avx._mm256_castsi256_pd(all)) as usize & 15;
        let Group {
            codes,
            first_bytes,
            bytes,
        } = GROUPS[bits(is_odd) | bits(above_one) << 4];
        let halves: [__m128i; 2] = [
            v3.avx._mm256_castsi256_si128(all),
            v3.avx2._mm256_extracti128_si256::<1>(all),
        ];
        let part = |half: usize| {
            let moves = MOVES.0[usize::from(codes >> (4 * half) & 15)];
            pulp::cast(v3.ssse3._mm_shuffle_epi8(halves[half], pulp::cast(moves)))
        };
        Some(Packed {
            codes,
            parts: [part(0), part(1)],
            first_bytes,
            bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::addresses::SHIFT;
    use super::super::varint::unzigzag;
    use super::*;

    fn difference_of(residual: u64) -> u64 {
        (unzigzag(residual) as u64) << SHIFT
    }

    fn columns(wide: Wide, residuals: &[u64]) -> (Vec<u8>, Vec<u8>) {
        let (mut open, mut waiting) = (
            Open::new(),
            Waiting {
                wide,
                ..Waiting::new()
            },
        );
        for some in residuals.chunks(256) {
            waiting.differences[waiting.length..]
                .iter_mut()
                .zip(some)
                .for_each(|(into, &some)| *into = difference_of(some));
            waiting.length += some.len();
            if waiting.is_full() {
                waiting.put(&mut open);
            }
        }
        waiting.put_all(&mut open);
        assert_eq!(open.counts.explicit, residuals.len());
        (open.widths().to_vec(), open.residuals().to_vec())
    }

    #[test]
    fn residuals_take_as_many_bytes_as_their_codes_say() {
        let (widths, bytes) = columns(
            Wide::detect(),
            &[
                0,
                0x12,
                0x3456,
                0x789a_bcde,
                1,
                0,
                0x7f_ffff_ffff,
                1 << 47,
                9,
            ],
        );
        assert_eq!(widths, [0b11_10_01_00, 0b11_11_00_01, 0b01]);
        let far = [0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0x80];
        let near = [
            0x12, 0x56, 0x34, 0xde, 0xbc, 0x9a, 0x78, 0, 1, 0xff, 0xff, 0xff, 0xff, 0x7f,
        ];
        assert_eq!(bytes, [&near[..], &far, &[9]].concat());
    }

    #[test]
    fn it_does_not_matter_what_the_machine_has() {
        let edge = [
            0,
            1,
            0xff,
            0x100,
            0xffff,
            0x1_0000,
            (1 << 39) - 1,
            1 << 39,
            (1 << 48) - 1,
        ];
        let residuals: Vec<u64> = (0..10_007_usize)
            .map(|number| edge[number * number / 7 % 8 + usize::from(number % 97 == 0)])
            .collect();
        let none = Wide {
            #[cfg(target_arch = "x86_64")]
            v3: None,
        };
        assert_eq!(
            columns(Wide::detect(), &residuals),
            columns(none, &residuals)
        );
    }
}
