//! Tests direct-mapped designs that process a stream together, if stores bypass the first level.

use switchcost_cachesim::Options;
use switchcost_design::{Design, Level, Ways, WriteBuffers, WritePolicy};
use switchcost_trace::{Block, Mark, Reference};

use crate::agreement::agree;
use crate::closed_forms::build::{
    LINE, Program, access_at, behind_free_fetches, data_cache, level, simulated,
};
use crate::findings::run_engine;

const DATA: u64 = 0x1_0000;
const SMALL: u64 = 2;
const LARGE: u64 = 8;

/// Makes a design whose stores bypass the only level of data, which has one way.
fn design(lines: u64) -> Design {
    let mut design = behind_free_fetches(vec![Level {
        write: WritePolicy::Through,
        write_allocate: Some(false),
        write_buffers: Some(WriteBuffers {
            count: 2,
            drain_cycles: 3,
        }),
        ..data_cache(lines, Ways::Count(1))
    }]);
    design.levels[0].miss_cycles = 5;
    design
}

/// Asserts that the simulator and the oracle agree for both cache sizes, in both orders, alone and
/// together.
fn all_agree(program: &Program) {
    let options = Options {
        intervals: 1,
        places: 10,
        kernel_touches: true,
        ..Options::default()
    };
    for sizes in [
        &[SMALL][..],
        &[LARGE],
        &[SMALL, LARGE],
        &[LARGE, SMALL, LARGE],
    ] {
        let designs: Vec<Design> = sizes.iter().map(|&lines| design(lines)).collect();
        agree(&designs, &options, std::slice::from_ref(&program.chunk))
            .unwrap_or_else(|why| panic!("{sizes:?}: {why}"));
    }
}

fn line(number: u64) -> u64 {
    DATA + number * LINE
}

#[test]
fn a_line_that_only_the_larger_one_holds_still_is_a_miss_in_the_smaller_one() {
    let mut program = Program::new(1);
    [0, SMALL, 0, SMALL]
        .map(line)
        .into_iter()
        .for_each(|address| program.load(address));
    all_agree(&program);
    let misses =
        [SMALL, LARGE].map(|lines| level(&simulated(&design(lines), &program), "D").load_misses);
    assert_eq!(misses, [4, 2]);
}

/// Shows that a store that bypasses the first level brings no line in: the load after the store is
/// a miss.
#[test]
fn a_store_brings_no_line_in() {
    let mut program = Program::new(1);
    program.load(line(0));
    program.store(line(SMALL));
    program.store(line(0));
    program.load(line(SMALL));
    program.store(line(0));
    all_agree(&program);
    let small = simulated(&design(SMALL), &program);
    let level = level(&small, "D");
    assert_eq!((level.load_misses, level.store_misses), (2, 2));
}

#[test]
fn the_kernel_drives_lines_out_unseen() {
    let mut program = Program::new(1);
    program.load(line(0));
    let bytes = LARGE * LINE;
    program.chunk.mark(Mark::KernelTouch {
        address: line(LARGE),
        bytes,
        is_store: false,
    });
    program.load(line(0));
    all_agree(&program);
}

#[test]
fn nothing_is_known_behind_a_switch() {
    let mut program = Program::new(2);
    for task in [2, 1, 1, 2] {
        program.load(line(0));
        program.store(line(0));
        program.switch_to(task);
    }
    program.load(line(0));
    all_agree(&program);
}

/// Shows that a load that covers more lines than the smallest level has sets looks up each line,
/// and leaves the last ones in the level.
#[test]
fn a_long_reference_drives_its_own_first_lines_out() {
    let mut program = Program::new(1);
    let size = Reference::size_code(4 * LINE).expect("a size");
    for is_store in [false, false, true, false] {
        program.load(line(0));
        let at = program.chunk.references.len() - 1;
        program.chunk.references[at] = Reference::new(line(0) + 8, size, 3, is_store);
        program.load(line(1));
        program.load(line(4));
    }
    all_agree(&program);
}

/// Shows that a first instruction in two lines misses once if a loop evicts one of the lines.
#[test]
fn a_first_instruction_in_two_lines_misses_once() {
    let mut program = Program::new(1);
    for place in [14, LINE, 14, 3 * LINE, 14, 14] {
        let block = Block {
            bytes: 40,
            instructions: 8,
            references: 0,
            first_bytes: 5,
            ..access_at(0x40_0000 + place)
        };
        program.chunk.blocks.push(block);
    }
    let designs = [4, LARGE].map(|lines| {
        let mut design = design(lines);
        (design.levels[0].size, design.levels[0].ways) =
            (switchcost_units::Bytes(lines * LINE), Ways::Count(1));
        design
    });
    let (options, chunks) = (Options::default(), [program.chunk]);
    agree(&designs, &options, &chunks).expect("they agree");
    let result = run_engine(&designs[..1], &options, &chunks);
    let code = &result.designs[0].hierarchies.shared.levels[0];
    assert!(
        code.instruction_misses < code.fills,
        "{} of {}",
        code.instruction_misses,
        code.fills
    );
}
