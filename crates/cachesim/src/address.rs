//! Addresses, and the keys by which a level identifies its lines.

/// Number of the low bits of a virtual address that are used.
pub(crate) const VIRTUAL_BITS: u32 = 48;
pub(crate) const VIRTUAL_MASK: u64 = (1 << VIRTUAL_BITS) - 1;
/// Returns the address that the low 48 bits represent, with bit 47 copied to all higher bits.
pub(crate) const fn sign_extended(address: u64) -> u64 {
    (((address << (64 - VIRTUAL_BITS)) as i64) >> (64 - VIRTUAL_BITS)) as u64
}

/// Owner number of the kernel's half of all address spaces; no process has it.
pub(crate) const KERNEL: u32 = u32::MAX;

/// Returns the owner of an address; the upper half of all address spaces belongs to the kernel
/// (Documentation/arch/x86/x86_64/mm.rst; also on aarch64).
#[inline]
pub(crate) const fn owner(process: u32, address: u64) -> u32 {
    if address >> (VIRTUAL_BITS - 1) & 1 == 1 {
        KERNEL
    } else {
        process
    }
}

/// Bit that is set in every key, so that 0 means an empty way and fresh memory is an empty cache.
pub(crate) const VALID: u64 = 1 << 63;

/// A virtual address of one process, with its physical address, which is 0 unless a level needs it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) process: u32,
    pub(crate) virtual_address: u64,
    pub(crate) physical: u64,
}

/// Layout of the keys that identify a level's lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyFormat {
    pub(crate) line_bits: u32,
    pub(crate) is_physical: bool,
}

impl KeyFormat {
    /// Returns the part of the address that a key stores.
    #[inline]
    pub(crate) fn address_of(self, key: u64) -> Address {
        let key = key & !VALID;
        if self.is_physical {
            return Address {
                process: 0,
                virtual_address: 0,
                physical: key << self.line_bits,
            };
        }
        let process = (key >> (VIRTUAL_BITS - self.line_bits)) as u32;
        Address {
            process,
            virtual_address: key << self.line_bits & VIRTUAL_MASK,
            physical: 0,
        }
    }
}

impl Address {
    /// Returns the address of the next line. The result is valid only if both lines are in one
    /// page.
    pub(crate) fn next_line(&self, line_bits: u32) -> Address {
        let behind = |address: u64| ((address >> line_bits) + 1) << line_bits;
        Address {
            process: self.process,
            virtual_address: behind(self.virtual_address),
            physical: behind(self.physical),
        }
    }

    /// Returns the address of the line that is `lines` lines away. Both lines must be in one page.
    pub(crate) fn lines_away(&self, line_bits: u32, lines: i64) -> Address {
        let away = |address: u64| (address >> line_bits).wrapping_add_signed(lines) << line_bits;
        Address {
            process: self.process,
            virtual_address: away(self.virtual_address),
            physical: away(self.physical),
        }
    }
}
