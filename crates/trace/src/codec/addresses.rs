//! Encodes explicit addresses: a prediction for each explicit reference of each shape, and the
//! residual.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::__m256i;

#[cfg(target_arch = "x86_64")]
use super::wide::V3;
use super::wide::Wide;

/// Mask of addresses, which are 48 bits wide and wrap at that width.
pub(super) const ADDRESS_MASK: u64 = (1 << 48) - 1;

/// Number of bits by which addresses are shifted up in a word. In the upper 48 bits, sums wrap as
/// 48-bit addresses do.
pub(super) const SHIFT: u32 = 16;

/// Maximum number of bits of a residual that fits into five bytes.
pub(super) const NEAR_BITS: u32 = 39;
/// Value of a five-byte residual that announces the whole residual in six more bytes.
pub(super) const FAR: u64 = 0xff_ffff_ffff;
pub(super) const FAR_BYTES: usize = 11;

/// Number of bytes of a residual for each width code, one byte per code.
const BYTES: u32 = 0x05_02_01_00;

/// Returns the number of bytes of a residual with a width code of 0 to 3.
#[inline(always)]
pub(super) const fn bytes_of(code: u32) -> usize {
    (BYTES >> (8 * (code & 3)) & 7) as usize
}

/// Number of bytes of a residual, and mask of the bits that they hold, for each width code.
pub(super) const WIDTHS: [(usize, u64); 4] = {
    let mut widths = [(0, 0); 4];
    let mut code = 0;
    while code < 4 {
        let bytes = BYTES >> (8 * code) & 7;
        widths[code] = (bytes as usize, (1 << (8 * bytes)) - 1);
        code += 1;
    }
    widths
};

/// Returns the shortest width code for a residual.
#[inline(always)]
pub(super) fn code_of(residual: u64) -> u32 {
    u32::from(residual > 0) + u32::from(residual > 0xff) + u32::from(residual > 0xffff)
}

/// Whether a residual needs [`FAR_BYTES`].
#[inline(always)]
pub(super) fn is_far(residual: u64) -> bool {
    residual >> NEAR_BITS != 0
}

/// The state of the prediction for one explicit reference of one shape.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slot {
    /// Last address of the reference.
    last: u64,
    /// Distance from the last address to the address that is expected next.
    stride: u64,
    /// Distance between the last two addresses.
    moved: u64,
}

impl Slot {
    /// Decodes the next residual. Returns the reference's address in the upper 48 bits, and updates
    /// the prediction.
    #[inline(always)]
    pub(super) fn decode(&mut self, residual: u64) -> u64 {
        let difference = ((residual >> 1) ^ (residual & 1).wrapping_neg()) << SHIFT;
        let moved = difference.wrapping_add(self.stride);
        let address = self.last.wrapping_add(moved);
        let is_steady = (moved == self.moved) | (moved == 0);
        self.stride = if is_steady { moved } else { self.stride };
        (self.moved, self.last) = (moved, address);
        address
    }
}

/// Number of explicit references of one shape that are encoded together: as many addresses as an
/// AVX2 register holds. Shapes with more are encoded outside the fast loop, so frontends should
/// avoid them.
pub const LANES: usize = 4;

/// State of the prediction for [`LANES`] consecutive explicit references of one shape: as many
/// [`Slot`]s, field by field.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Row {
    last: [u64; LANES],
    stride: [u64; LANES],
    moved: [u64; LANES],
}

impl Row {
    /// Returns the distance of each address from the expected one, in the upper 48 bits. Only the
    /// lower 48 bits of the addresses count. There is no branch, because no CPU can predict whether
    /// an address was expected.
    #[inline(always)]
    pub(super) fn encode(&mut self, wide: Wide, addresses: [u64; LANES]) -> [u64; LANES] {
        #[cfg(target_arch = "x86_64")]
        if let Some(v3) = wide.v3 {
            return self.encode_at_once(v3, addresses);
        }
        let _ = wide;
        self.encode_each(addresses)
    }

    /// Does the same as [`Row::encode_each`] with wide instructions. They are written out, because
    /// compilers turn the loop over lanes into instructions for single numbers, which take twice as
    /// long.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn encode_at_once(
        &mut self,
        v3: V3,
        [first, second, third, fourth]: [u64; LANES],
    ) -> [u64; LANES] {
        let [last, stride, before]: [__m256i; 3] =
            [self.last, self.stride, self.moved].map(pulp::cast);
        // Words of shared memory are read one by one. An array of them would be written to the
        // stack, and reading it as a whole would wait until all are stored.
        let addresses =
            v3.avx
                ._mm256_set_epi64x(fourth as i64, third as i64, second as i64, first as i64);
        let addresses = v3.avx2._mm256_slli_epi64::<{ SHIFT as i32 }>(addresses);
        let moved = v3.avx2._mm256_sub_epi64(addresses, last);
        let is_equal = |other| v3.avx2._mm256_cmpeq_epi64(moved, other);
        let is_steady = v3
            .avx2
            ._mm256_or_si256(is_equal(before), is_equal(v3.avx._mm256_setzero_si256()));
        *self = Row {
            last: pulp::cast(addresses),
            stride: pulp::cast(v3.avx2._mm256_blendv_epi8(stride, moved, is_steady)),
            moved: pulp::cast(moved),
        };
        pulp::cast(v3.avx2._mm256_sub_epi64(moved, stride))
    }

    #[inline(always)]
    fn encode_each(&mut self, addresses: [u64; LANES]) -> [u64; LANES] {
        let Row {
            last,
            stride,
            moved: before,
        } = *self;
        let addresses = addresses.map(|address| address << SHIFT);
        let moved: [u64; LANES] =
            std::array::from_fn(|lane| addresses[lane].wrapping_sub(last[lane]));
        let is_steady: [bool; LANES] =
            std::array::from_fn(|lane| (moved[lane] == before[lane]) | (moved[lane] == 0));
        *self = Row {
            last: addresses,
            stride: std::array::from_fn(|lane| {
                if is_steady[lane] {
                    moved[lane]
                } else {
                    stride[lane]
                }
            }),
            moved,
        };
        std::array::from_fn(|lane| moved[lane].wrapping_sub(stride[lane]))
    }
}

/// Returns the residuals (zigzag numbers) for distances from the expected addresses.
#[inline(always)]
pub(super) fn residuals_of(differences: [u64; LANES]) -> [u64; LANES] {
    differences.map(|difference| (difference << 1 ^ ((difference as i64) >> 63) as u64) >> SHIFT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_as_before_leaves_nothing_to_say() {
        let (wide, mut row) = (Wide::detect(), Row::default());
        let residuals: Vec<_> = (0..5)
            .map(|step| residuals_of(row.encode(wide, [0x1000 + step * 8, 0x50, 0, 7])))
            .collect();
        assert_eq!(residuals[0], [0x2000, 0xa0, 0, 14]);
        assert_eq!(residuals[1], [16, 0, 0, 0]);
        assert_eq!(residuals[4], [0; LANES]);
    }

    #[test]
    fn rows_do_not_depend_on_what_the_machine_has() {
        let [mut at_once, mut each] = [Row::default(); 2];
        let steps = [8, 8, 8, 0, 8, 0, 0, 1 << 47, u64::MAX, 3, 3];
        let mut addresses = [0, 1 << 63, u64::MAX, 0xffff_ffff_fff8];
        for (number, step) in steps.into_iter().cycle().take(1000).enumerate() {
            addresses[number % 3] = addresses[number % 3].wrapping_add(step);
            assert_eq!(
                at_once.encode(Wide::detect(), addresses),
                each.encode_each(addresses)
            );
        }
    }
}
