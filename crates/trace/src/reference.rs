use std::fmt;

/// Sizes in bytes that a [`Reference`] can store, ascending. Other sizes are rounded up. All plain,
/// string, x87, SSE and AVX accesses of x86-64 and all accesses of aarch64 have one of these sizes.
pub const SIZES: [u16; 32] = [
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 108, 112,
    128, 160, 192, 256, 512, 832, 1024,
];

/// A data reference of an instruction, in 64 bits:
///
/// | bits | |
/// |---|---|
/// | 0..48 | virtual address, to be sign-extended from bit 47 |
/// | 48..58 | offset of its instruction's last byte from the start of the block |
/// | 58..63 | size, as an index into [`SIZES`] |
/// | 63 | set for a store |
///
/// A read-modify-write is a load followed by a store.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Reference(pub u64);

const ADDRESS_BITS: u32 = 48;
const THROUGH_BITS: u32 = 10;
const STORE: u64 = 1 << 63;

impl Reference {
    /// Largest offset of an instruction's last byte that a reference can store.
    pub const LAST_OFFSET: u16 = (1 << THROUGH_BITS) - 1;

    /// Packs a reference. `through` is the offset in the block of the last byte of the reference's
    /// instruction.
    ///
    /// # Panics
    /// In debug builds, if `through` is larger than [`Reference::LAST_OFFSET`] or `size_code` is no index of
    /// [`SIZES`].
    pub const fn new(address: u64, size_code: u8, through: u16, is_store: bool) -> Reference {
        debug_assert!(through <= Self::LAST_OFFSET && (size_code as usize) < SIZES.len());
        let address = address & ((1 << ADDRESS_BITS) - 1);
        let store = if is_store { STORE } else { 0 };
        Reference(
            address
                | (through as u64) << ADDRESS_BITS
                | (size_code as u64) << (ADDRESS_BITS + THROUGH_BITS)
                | store,
        )
    }

    /// Returns the index in [`SIZES`] of the least size that is at least `bytes`; `None` for 0 and
    /// for more than 1024.
    pub fn size_code(bytes: u64) -> Option<u8> {
        if bytes == 0 {
            return None;
        }
        SIZES
            .iter()
            .position(|&size| u64::from(size) >= bytes)
            .map(|code| code as u8)
    }

    /// Returns the virtual address of the first byte touched.
    #[inline]
    pub const fn address(self) -> u64 {
        (((self.0 << (64 - ADDRESS_BITS)) as i64) >> (64 - ADDRESS_BITS)) as u64
    }

    /// Returns the number of bytes touched.
    #[inline]
    pub const fn bytes(self) -> u16 {
        SIZES[((self.0 >> (ADDRESS_BITS + THROUGH_BITS)) & 31) as usize]
    }

    /// Returns the index of the size in [`SIZES`].
    #[inline]
    pub const fn code(self) -> u8 {
        ((self.0 >> (ADDRESS_BITS + THROUGH_BITS)) & 31) as u8
    }

    /// Returns the offset of the last byte of the reference's instruction from the start of the
    /// block.
    #[inline]
    pub const fn through(self) -> u16 {
        ((self.0 >> ADDRESS_BITS) & Self::LAST_OFFSET as u64) as u16
    }

    /// Whether the reference is a store.
    #[inline]
    pub const fn is_store(self) -> bool {
        self.0 & STORE != 0
    }
}

impl fmt::Debug for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_store() { "store" } else { "load" };
        write!(
            f,
            "{kind} {:#x} {} B @{}",
            self.address(),
            self.bytes(),
            self.through()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_back_what_was_packed() {
        for address in [0, 0x7fff_ffff_fff8, 0xffff_8880_0000_1000] {
            for (code, &size) in SIZES.iter().enumerate() {
                let reference = Reference::new(address, code as u8, 1023, code % 2 == 0);
                assert_eq!(reference.address(), address);
                assert_eq!(reference.bytes(), size);
                assert_eq!(reference.through(), 1023);
                assert_eq!(reference.is_store(), code % 2 == 0);
            }
        }
    }

    #[test]
    fn rounds_an_unlisted_size_up() {
        assert!(SIZES.is_sorted());
        let rounded = |bytes| Reference::size_code(bytes).map(|code| SIZES[usize::from(code)]);
        assert_eq!(rounded(8), Some(8));
        assert_eq!(rounded(11), Some(12));
        assert_eq!(rounded(1024), Some(1024));
        assert_eq!(rounded(0), None);
        assert_eq!(rounded(1025), None);
    }
}
