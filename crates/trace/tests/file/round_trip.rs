use proptest::prelude::*;
use switchcost_trace::testing::{self, chunks, seeded};
use switchcost_trace::{Block, BlockFlags, Chunk, Mark, Reference, TaskId};

use crate::support::{read_whole, written};

/// Joins all chunks to one, to compare streams that were divided differently.
fn joined(chunks: &[Chunk]) -> Chunk {
    let mut whole = Chunk::default();
    for chunk in chunks {
        let first_block = whole.blocks.len() as u32;
        whole.blocks.extend(chunk.blocks.iter());
        whole.references.extend(&chunk.references);
        whole
            .marks
            .extend(chunk.marks.iter().cloned().map(|mut placed| {
                placed.before_block += first_block;
                placed
            }));
    }
    whole
}

fn arbitrary_block() -> impl Strategy<Value = (Block, Vec<Reference>)> {
    let references = prop::collection::vec((any::<u64>(), 0..32u8, 0..16u16, any::<bool>()), 0..20);
    (any::<u64>(), 1..5u8, 1..8u16, 0..2u8, references).prop_map(
        |(address, first, count, flags, references)| {
            let bytes = u16::from(first) + (count - 1) * 3;
            let last = bytes - 1;
            let mut of_block: Vec<_> = references
                .into_iter()
                .map(|(address, code, through, store)| {
                    Reference::new(
                        address,
                        code,
                        (u16::from(first) - 1 + through).min(last),
                        store,
                    )
                })
                .collect();
            of_block.sort_by_key(|reference| reference.through());
            let references = of_block.len() as u16;
            let flags = BlockFlags(flags);
            let block = Block {
                address,
                bytes,
                instructions: count,
                references,
                first_bytes: first,
                flags,
            };
            block.check(&of_block).expect("was made to fit");
            (block, of_block)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_stream_comes_back_as_it_was(chunks in chunks(200)) {
        prop_assert_eq!(read_whole(&written(&chunks)), chunks);
    }

    #[test]
    fn any_blocks_in_any_order_come_back(
        shapes in prop::collection::vec(arbitrary_block(), 1..12),
        order in prop::collection::vec((any::<prop::sample::Index>(), 0..4u64), 0..200),
    ) {
        let mut chunk = Chunk::default();
        for (which, moved) in order {
            let (block, references) = &shapes[which.index(shapes.len())];
            chunk.blocks.push(*block);
            chunk.references.extend(references.iter().map(|reference| {
                let far = moved * 0x1234_5678_9abc;
                Reference::new(reference.address() ^ far, reference.code(), reference.through(), reference.is_store())
            }));
        }
        let back = read_whole(&written(std::slice::from_ref(&chunk)));
        prop_assert_eq!(joined(&back), chunk);
    }
}

#[test]
fn same_chunks_give_same_bytes() {
    let chunks = seeded(7, 20_000);
    assert!(chunks.len() > 20, "needs several chunks");
    assert_eq!(written(&chunks), written(&chunks));
    // A writer that has written other chunks before must not remember them.
    let twice = [chunks.clone(), chunks[..3].to_vec()].concat();
    assert_eq!(joined(&read_whole(&written(&twice))), joined(&twice));
}

#[test]
fn an_empty_trace_is_whole() {
    for chunks in [&[][..], &[Chunk::default()]] {
        assert!(read_whole(&written(chunks)).is_empty());
    }
}

#[test]
fn a_chunk_of_marks_alone_comes_back() {
    let mut chunk = Chunk::default();
    for number in 0..1000 {
        chunk.mark(Mark::SyscallEnter { number });
    }
    assert_eq!(read_whole(&written(std::slice::from_ref(&chunk))), [chunk]);
}

#[test]
fn a_long_chunk_is_divided_and_nothing_is_lost() {
    let mut chunk = Chunk::default();
    let references = 60_000;
    for number in 0..2 * Chunk::BLOCKS as u64 {
        // A few blocks have very many references, so that references also limit the size of chunks.
        let count = if number < 200_000 && number % 2000 == 0 {
            references
        } else {
            1
        };
        let address = 0x1000 + number % 7 * 16;
        chunk.blocks.push(Block {
            references: count,
            ..testing::block(address)
        });
        chunk.references.extend(
            (0..u64::from(count)).map(|slot| Reference::new(number * 8 + slot, 7, 3, false)),
        );
        if number % 9 == 0 {
            chunk.mark(Mark::Switch {
                from: TaskId(number as u32 % 2),
                to: TaskId((number as u32 + 1) % 2),
                is_voluntary: true,
                cause: switchcost_trace::Cause::Quantum,
            });
        }
    }
    let back = read_whole(&written(std::slice::from_ref(&chunk)));
    assert!(back.len() > 2, "was not divided: {}", back.len());
    assert!(back.iter().all(|chunk| chunk.blocks.len() <= Chunk::BLOCKS));
    assert!(joined(&back) == chunk);
}

#[test]
fn a_chunk_of_very_many_marks_is_divided_and_nothing_is_lost() {
    let block = testing::block(64);
    let mut chunk = Chunk::default();
    for number in 0..200_000_u32 {
        if number % 5 == 0 && number < 150_000 {
            chunk.blocks.push(block);
        }
        chunk.mark(Mark::SyscallEnter {
            number: number as u16,
        });
        if number % 1000 == 0 {
            let name = vec![b'n'; 60_000];
            chunk.mark(Mark::Exec {
                task: TaskId(1),
                process: switchcost_trace::ProcessId(number),
                name,
            });
        }
    }
    let back = read_whole(&written(std::slice::from_ref(&chunk)));
    assert!(back.len() >= 4, "was not divided: {}", back.len());
    assert!(joined(&back) == chunk);
}
