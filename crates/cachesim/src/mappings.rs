//! The files that are mapped in one address space.

use std::collections::BTreeMap;
use std::sync::Arc;

use switchcost_trace::Mapping;

/// A range of addresses that is still mapped as one mapping defined it.
#[derive(Clone, Debug)]
struct Piece {
    /// Last address of the range.
    last: u64,
    mapping: Arc<Mapping>,
}

/// Mapped pieces of files, by the first address of each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mappings {
    pieces: BTreeMap<u64, Piece>,
}

impl Mappings {
    pub(crate) const fn nothing() -> Mappings {
        Mappings {
            pieces: BTreeMap::new(),
        }
    }

    /// Maps a file, replacing all mappings in the range.
    pub(crate) fn map(&mut self, mapping: &Mapping) {
        self.unmap(mapping.start, mapping.bytes);
        if mapping.bytes > 0 {
            let last = mapping.start.saturating_add(mapping.bytes - 1);
            self.pieces.insert(
                mapping.start,
                Piece {
                    last,
                    mapping: Arc::new(mapping.clone()),
                },
            );
        }
    }

    /// Removes a range of addresses.
    pub(crate) fn unmap(&mut self, start: u64, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let last = start.saturating_add(bytes - 1);
        self.cut_before(start);
        let inside: Vec<u64> = self
            .pieces
            .range(start..=last)
            .map(|(&first, _)| first)
            .collect();
        for first in inside {
            let Some(piece) = self.pieces.remove(&first) else {
                continue;
            };
            if piece.last > last {
                self.pieces.insert(last + 1, piece);
            }
        }
    }

    /// Splits the mapped range that contains an address but does not start there.
    fn cut_before(&mut self, start: u64) {
        let Some((_, piece)) = self.pieces.range_mut(..start).next_back() else {
            return;
        };
        if piece.last >= start {
            let behind = piece.clone();
            piece.last = start - 1;
            self.pieces.insert(start, behind);
        }
    }

    /// Returns the mapping that covers an address, and the offset in the mapped file.
    pub(crate) fn find(&self, address: u64) -> Option<(&Arc<Mapping>, u64)> {
        let (_, piece) = self.pieces.range(..=address).next_back()?;
        let mapping = &piece.mapping;
        (address <= piece.last).then(|| {
            (
                mapping,
                mapping.offset.wrapping_add(address - mapping.start),
            )
        })
    }

    /// Returns the file and the offset of an address's page, if an executable mapping covers it.
    pub(crate) fn executable_place(&self, address: u64, page_bits: u32) -> Option<(Vec<u8>, u64)> {
        let (mapping, offset) = self.find(address)?;
        let is_aligned = offset & ((1 << page_bits) - 1) == 0;
        if !mapping.is_executable || !is_aligned {
            return None;
        }
        let (kind, name) = match (&mapping.build_id[..], &mapping.path[..]) {
            ([], []) => return None,
            ([], path) => (b'p', path),
            (build_id, _) => (b'b', build_id),
        };
        Some(([&[kind], name].concat(), offset))
    }
}
