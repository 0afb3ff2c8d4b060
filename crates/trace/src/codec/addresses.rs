//! Told addresses: a prediction for each told reference of each shape, and what is left to say.

/// Addresses are 48 bits wide, and counted modulo that.
pub(super) const ADDRESS_MASK: u64 = (1 << 48) - 1;

/// Addresses stand in the upper bits here, so that what is added to them wraps by itself.
const SHIFT: u32 = 16;

/// Residuals of more bits do not go into five bytes.
const NEAR_BITS: u32 = 39;
/// In five bytes: the residual follows whole, in six bytes more.
pub(super) const FAR: u64 = 0xff_ffff_ffff;
pub(super) const FAR_BYTES: usize = 11;

/// Bytes of a residual with each width code, a byte each.
const BYTES: u32 = 0x05_02_01_00;

/// Bytes of a residual with a width code of 0 to 3.
#[inline(always)]
pub(super) fn bytes_of(code: u32) -> usize {
    (BYTES >> (8 * (code & 3)) & 7) as usize
}

/// Bytes of a residual, and the bits that these hold.
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

/// The shortest width code for a residual.
#[inline(always)]
pub(super) fn code_of(residual: u64) -> u32 {
    u32::from(residual > 0) + u32::from(residual > 0xff) + u32::from(residual > 0xffff)
}

/// Whether a residual needs [`FAR_BYTES`].
#[inline(always)]
pub(super) fn is_far(residual: u64) -> bool {
    residual >> NEAR_BITS != 0
}

/// What is known of one told reference of one shape.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slot {
    /// Its address last time.
    last: u64,
    /// How far it is expected to move.
    stride: u64,
    /// How far it moved last time.
    moved: u64,
}

impl Slot {
    #[inline(always)]
    fn learn(&mut self, address: u64, moved: u64) {
        let is_steady = (moved == self.moved) | (moved == 0);
        self.stride = if is_steady { moved } else { self.stride };
        self.moved = moved;
        self.last = address;
    }

    /// What is left to say of an address, of which only the lower 48 bits count; nothing where it was expected.
    #[inline(always)]
    pub(super) fn encode(&mut self, address: u64) -> Option<u64> {
        let address = address << SHIFT;
        let moved = address.wrapping_sub(self.last);
        let difference = moved.wrapping_sub(self.stride);
        if difference == 0 {
            (self.last, self.moved) = (address, moved);
            return None;
        }
        self.learn(address, moved);
        Some((difference << 1 ^ ((difference as i64) >> 63) as u64) >> SHIFT)
    }

    /// The address that is left to say so much of, in the upper bits.
    #[inline(always)]
    pub(super) fn decode(&mut self, residual: u64) -> u64 {
        let difference = ((residual >> 1) ^ (residual & 1).wrapping_neg()) << SHIFT;
        let moved = difference.wrapping_add(self.stride);
        let address = self.last.wrapping_add(moved);
        self.learn(address, moved);
        address
    }
}
