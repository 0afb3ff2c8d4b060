//! Addresses, and the parts of them that levels compare.

use switchcost_design::AddressKind;

use super::shape::Shape;

/// A place in memory, by its virtual and physical address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Address {
    pub(crate) process: u32,
    pub(crate) virt: u64,
    pub(crate) phys: u64,
}

/// The part of an address that a level compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Tag {
    pub(crate) space: Option<u32>,
    pub(crate) line: u64,
}

/// Bits of a virtual address that are used.
const BITS_THAT_COUNT: u64 = (1 << 48) - 1;

/// Process number of the kernel's half of all address spaces, which belongs to no process.
pub(crate) const KERNEL: u32 = u32::MAX;

impl Address {
    pub(crate) fn owner(self) -> u32 {
        if self.virt & 1 << 47 == 0 {
            self.process
        } else {
            KERNEL
        }
    }

    pub(crate) fn line(self, bytes: u64) -> Address {
        Address {
            virt: self.virt / bytes * bytes,
            phys: self.phys / bytes * bytes,
            ..self
        }
    }

    pub(crate) fn tag(self, shape: &Shape) -> Tag {
        match shape.tag {
            AddressKind::Virtual => Tag {
                space: Some(self.process),
                line: (self.virt & BITS_THAT_COUNT) / shape.line,
            },
            AddressKind::Physical => Tag {
                space: None,
                line: self.phys / shape.line,
            },
        }
    }

    pub(crate) fn set(self, shape: &Shape) -> usize {
        let address = match shape.index {
            AddressKind::Virtual => self.virt & BITS_THAT_COUNT,
            AddressKind::Physical => self.phys,
        };
        (address / shape.line % shape.sets) as usize
    }
}
