//! Encodes the marks of a chunk: for each mark the number of blocks since the last one, then the
//! mark in postcard's encoding.

use super::varint::{Numbers, put};
use super::{BadBody, Unpacked, limits};
use crate::{Mark, Placed};

/// Appends marks to their column. Positions are counted from `first_block`.
pub(super) fn encode(
    column: &mut Vec<u8>,
    marks: &[Placed],
    first_block: usize,
) -> std::io::Result<()> {
    let mut before = first_block as u32;
    for placed in marks {
        put(column, u64::from(placed.before_block - before));
        before = placed.before_block;
        let bytes = std::mem::take(column);
        *column = postcard::to_extend(&placed.mark, bytes).map_err(std::io::Error::other)?;
    }
    Ok(())
}

/// Reads `count` marks of a chunk of `blocks` blocks.
pub(super) fn decode(
    column: &[u8],
    count: usize,
    blocks: usize,
    marks: &mut Vec<Placed>,
) -> Unpacked {
    let mut numbers = Numbers::new("marks", column);
    let mut before_block = 0;
    for number in 0..count {
        let step = numbers.take()?;
        before_block = u64::saturating_add(before_block, step);
        if before_block > blocks as u64 {
            return Err(BadBody::Place {
                mark: number,
                found: before_block,
                most: blocks as u64,
            });
        }
        let (mark, rest) =
            postcard::take_from_bytes::<Mark>(numbers.rest()).map_err(|_| BadBody::Mark(number))?;
        numbers.skip_to(rest);
        marks.push(Placed {
            before_block: before_block as u32,
            mark,
        });
    }
    numbers.end()
}

/// Returns the number of bytes of a mark's texts, which decides when a chunk is full.
pub(crate) fn text_bytes(mark: &Mark) -> usize {
    match mark {
        Mark::Birth { name, .. } | Mark::Exec { name, .. } => name.len(),
        Mark::Map(mapping) => mapping.path.len() + mapping.build_id.len(),
        _ => 0,
    }
}

/// Returns the length in bytes of the mark's longest text; `None` unless it exceeds the limit of
/// the file format.
pub(crate) fn oversized(mark: &Mark) -> Option<usize> {
    let longest = match mark {
        Mark::Map(mapping) => mapping.path.len().max(mapping.build_id.len()),
        _ => text_bytes(mark),
    };
    (longest > limits::TEXT_BYTES).then_some(longest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cause, Mapping, ProcessId, TaskId};

    /// Expects the bytes in docs/formats/trace.md: moving a kind or a field changes the format.
    #[test]
    fn every_kind_is_encoded_as_documented() {
        let (task, process, parent) = (TaskId(2), ProcessId(3), TaskId(1));
        let name = b"ab".to_vec();
        let switch = |cause| Mark::Switch {
            from: parent,
            to: task,
            is_voluntary: true,
            cause,
        };
        let mapping = Mapping {
            start: 1,
            bytes: 2,
            offset: 3,
            path: b"p".to_vec(),
            build_id: vec![0xff],
            is_executable: true,
        };
        for (mark, bytes) in [
            (
                Mark::Birth {
                    task,
                    process,
                    parent,
                    name: name.clone(),
                },
                &[0, 2, 3, 1, 2, b'a', b'b'][..],
            ),
            (
                Mark::Exec {
                    task,
                    process,
                    name,
                },
                &[1, 2, 3, 2, b'a', b'b'],
            ),
            (Mark::Exit { task }, &[2, 2]),
            (switch(Cause::Syscall(300)), &[3, 1, 2, 1, 0, 0xac, 2]),
            (switch(Cause::PageFault), &[3, 1, 2, 1, 1]),
            (switch(Cause::Quantum), &[3, 1, 2, 1, 2]),
            (switch(Cause::WakeUp), &[3, 1, 2, 1, 3]),
            (switch(Cause::Interrupt), &[3, 1, 2, 1, 4]),
            (switch(Cause::Exit), &[3, 1, 2, 1, 5]),
            (switch(Cause::Unknown), &[3, 1, 2, 1, 6]),
            (Mark::SyscallEnter { number: 1 }, &[4, 1]),
            (Mark::SyscallExit { number: 128 }, &[5, 0x80, 1]),
            (
                Mark::KernelTouch {
                    address: 5,
                    bytes: 6,
                    is_store: true,
                },
                &[6, 5, 6, 1],
            ),
            (Mark::Fault { address: 5 }, &[7, 5]),
            (Mark::Map(mapping), &[8, 1, 2, 3, 1, b'p', 1, 0xff, 1]),
            (Mark::Unmap { start: 1, bytes: 2 }, &[9, 1, 2]),
            (
                Mark::Page {
                    virtual_address: 1,
                    physical_address: 2,
                    bytes: 3,
                },
                &[10, 1, 2, 3],
            ),
        ] {
            let mut column = Vec::new();
            let placed = Placed {
                before_block: 9,
                mark,
            };
            encode(&mut column, std::slice::from_ref(&placed), 4).expect("memory takes it");
            assert_eq!(column, [&[5], bytes].concat(), "{placed:?}");
            let mut back = Vec::new();
            decode(&column, 1, 5, &mut back).expect("is whole");
            assert_eq!(
                back,
                [Placed {
                    before_block: 5,
                    ..placed
                }]
            );
        }
    }
}
