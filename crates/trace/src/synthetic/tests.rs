use proptest::prelude::*;
use switchcost_units::Bytes;
use switchcost_workload::{Access, Pattern, WorkingSet, addresses};

use super::*;
use crate::testing::find_problems;

fn instructions(chunks: &[Chunk]) -> u64 {
    chunks.iter().map(Chunk::instructions).sum()
}

fn switches(chunks: &[Chunk]) -> usize {
    let is_switch = |placed: &&crate::Placed| matches!(placed.mark, Mark::Switch { .. });
    chunks
        .iter()
        .flat_map(|chunk| chunk.marks.iter().filter(is_switch))
        .count()
}

const PAIR: PingPong = PingPong {
    processes: 2,
    code_bytes: 40,
    data_bytes: 256,
    stride_bytes: 64,
    turn_instructions: 9,
    switches: 3,
};

#[test]
fn ping_pong_is_what_can_be_calculated() {
    let chunks: Vec<_> = PAIR.chunks().collect();
    let [chunk] = chunks.as_slice() else {
        panic!("one chunk")
    };
    // The loop has 10 instructions and the time slices 9: the second time slice of process 1 begins
    // with the tenth instruction.
    let code: Vec<_> = chunk
        .blocks
        .iter()
        .map(|block| (block.address - CODE, block.instructions))
        .collect();
    let turn = [(0, 4), (16, 4), (32, 1)];
    assert_eq!(
        code,
        [&turn[..], &turn[..], &[(36, 1), (0, 4), (16, 4)]].concat()
    );
    let data: Vec<_> = chunk
        .references
        .iter()
        .map(|reference| reference.address() - DATA)
        .collect();
    assert_eq!(data, [0, 64, 128, 0, 64, 128, 192, 0, 64]);
    let marks: Vec<_> = chunk
        .marks
        .iter()
        .map(|placed| placed.before_block)
        .collect();
    assert_eq!(marks, [0, 0, 0, 3, 6]);
    assert_eq!(find_problems(&chunks), []);
}

#[test]
fn cuts_chunks_and_goes_on_in_the_next() {
    let long = PingPong {
        turn_instructions: 3_000_000,
        ..PAIR
    };
    let chunks: Vec<_> = long.chunks().collect();
    assert!(
        chunks.len() > 5
            && chunks
                .iter()
                .all(|chunk| chunk.blocks.len() <= Chunk::BLOCKS)
    );
    assert_eq!((instructions(&chunks), switches(&chunks)), (9_000_000, 3));
    assert_eq!(find_problems(&chunks), []);
}

#[test]
fn mixed_has_the_figures_that_it_promises() {
    let mixed = Mixed {
        processes: 4,
        turn_instructions: 50_000,
        switches: 20,
        seed: 3,
    };
    let chunks: Vec<_> = mixed.chunks().collect();
    assert_eq!((instructions(&chunks), switches(&chunks)), (1_000_000, 20));
    assert_eq!(find_problems(&chunks), []);
    let blocks: usize = chunks.iter().map(|chunk| chunk.blocks.len()).sum();
    let references: usize = chunks.iter().map(|chunk| chunk.references.len()).sum();
    let per_block = 1_000_000.0 / blocks as f64;
    let per_instruction = references as f64 / 1_000_000.0;
    assert!(
        (4.5..5.5).contains(&per_block),
        "{per_block} instructions a block"
    );
    assert!(
        (0.32..0.38).contains(&per_instruction),
        "{per_instruction} references an instruction"
    );
}

#[test]
fn mixed_is_the_same_for_the_same_seed_alone() {
    let chunks = |seed| {
        Mixed {
            processes: 2,
            turn_instructions: 1000,
            switches: 6,
            seed,
        }
        .chunks()
        .collect::<Vec<_>>()
    };
    assert_eq!(chunks(1), chunks(1));
    assert_ne!(chunks(1), chunks(2));
}

fn set(access: Access, pattern: Pattern) -> WorkingSet {
    WorkingSet {
        size_bytes: Bytes(4096),
        stride_bytes: Bytes(64),
        access,
        pattern,
        ..WorkingSet::NONE
    }
}

fn walks(sets: Vec<WorkingSet>, instructions: Option<u32>, switches: u64) -> Walks {
    Walks {
        sets,
        instructions,
        switches,
        seed: 5,
    }
}

#[test]
fn walks_make_the_accesses_of_workload() {
    let patterns = [Pattern::Strided, Pattern::Chase];
    let sets = patterns.map(|pattern| set(Access::Rmw, pattern));
    let walks = walks(sets.to_vec(), None, 4);
    let chunks: Vec<_> = walks.chunks().collect();
    let touched = chunks
        .iter()
        .flat_map(|chunk| &chunk.references)
        .map(|r| (r.address(), r.is_store()));
    let expected = [0, 1, 0, 1]
        .map(|at: usize| addresses(&walks.sets[at], DATA, 5).collect::<Vec<_>>())
        .concat();
    let expected = expected.iter().map(|touch| (touch.address, touch.is_store));
    assert!(touched.eq(expected), "other accesses");
    assert_eq!(switches(&chunks), 4);
    assert_eq!(find_problems(&chunks), []);
    let accesses: u64 = chunks
        .iter()
        .map(|chunk| chunk.references.len() as u64)
        .sum();
    assert_eq!(instructions(&chunks), 2 * accesses);
}

#[test]
fn loops_have_as_many_instructions_as_they_are_given() {
    for (access, pattern, given, blocks) in [
        (Access::Read, Pattern::Strided, 13, vec![13]),
        (Access::Write, Pattern::Strided, 1, vec![1]),
        (Access::Rmw, Pattern::Strided, 15, vec![7, 8]),
        (Access::Rmw, Pattern::Strided, 1, vec![1, 1]),
        (Access::Rmw, Pattern::Chase, 16, vec![5, 5, 6]),
        (Access::Read, Pattern::Strided, 5000, vec![250]),
    ] {
        let walks = walks(vec![set(access, pattern); 2], Some(given), 3);
        let chunks: Vec<_> = walks.chunks().collect();
        assert_eq!(find_problems(&chunks), []);
        let all: Vec<&Block> = chunks
            .iter()
            .flat_map(|chunk| chunk.blocks.iter())
            .collect();
        assert!(all.len() > 2 * blocks.len());
        for (block, expected) in all.iter().zip(blocks.iter().cycle()) {
            assert_eq!(
                (u32::from(block.instructions), u32::from(block.bytes)),
                (*expected, 4 * *expected)
            );
        }
        // The code is one loop: each block begins where the previous one ends, and the first
        // follows the last.
        let begins = |at: usize| 4 * u64::from(blocks[..at % blocks.len()].iter().sum::<u32>());
        assert!(
            all.iter()
                .enumerate()
                .all(|(at, block)| block.address == CODE + begins(at))
        );
    }
}

#[test]
fn what_does_nothing_ends() {
    assert_eq!(
        PingPong {
            processes: 0,
            ..PAIR
        }
        .chunks()
        .count(),
        0
    );
    assert_eq!(
        PingPong {
            turn_instructions: 0,
            ..PAIR
        }
        .chunks()
        .map(|chunk| chunk.blocks.len())
        .sum::<usize>(),
        0
    );
    let nothing = walks(vec![WorkingSet::NONE], None, 1_000);
    assert_eq!(instructions(&nothing.chunks().collect::<Vec<_>>()), 0);
    let alone: Vec<_> = PingPong {
        processes: 1,
        ..PAIR
    }
    .chunks()
    .collect();
    assert_eq!((instructions(&alone), switches(&alone)), (27, 1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_numbers_make_a_sound_stream(
        processes in 0..5_u32, code_bytes in 0..300_u64, data_bytes in 0..300_u64, stride_bytes in any::<u64>(),
        turn_instructions in 0..50_u64, switches in 0..20_u64, seed in any::<u64>(),
    ) {
        let pair = PingPong { processes, code_bytes, data_bytes, stride_bytes, turn_instructions, switches };
        prop_assert_eq!(find_problems(&pair.chunks().collect::<Vec<_>>()), []);
        let mixed = Mixed { processes, turn_instructions, switches, seed };
        let chunks: Vec<_> = mixed.chunks().collect();
        prop_assert_eq!(find_problems(&chunks), []);
        let turns = if processes == 0 { 0 } else { switches };
        prop_assert_eq!(instructions(&chunks), turns * turn_instructions);
    }
}

#[test]
fn each_load_of_a_chase_waits_for_the_one_before() {
    let counts = |pattern, instructions| {
        let walks = walks(vec![set(Access::Read, pattern)], instructions, 1);
        let (mut chains, dependences) = (crate::Chains::default(), walks.dependences());
        walks
            .chunks()
            .for_each(|chunk| chains.add(&chunk, &dependences));
        let found = chains.finish();
        (found.loads, found.dependent, found.unknown)
    };
    // A node has two loads. The loop of two instructions per load fits one window, the longer two.
    assert_eq!(counts(Pattern::Chase, None), (128, 127, 0));
    assert_eq!(counts(Pattern::Chase, Some(10)), (128, 126, 0));
    assert_eq!(counts(Pattern::Strided, None), (512, 0, 0));
}
