//! Tests streams of events that random streams produce too seldom.

use switchcost_design::{Holds, Level, Ways, WriteBuffers, WritePolicy};
use switchcost_trace::{Block, Reference};
use switchcost_units::Bytes;

use crate::closed_forms::build::{
    LINE, Program, access_at, behind_free_fetches, data_cache, level, simulated, with_physical_tags,
};

const FILE_PAGE: u64 = 0x40_0000;

fn maps_a_file() -> Program {
    let mut program = Program::new(2);
    program.map_library(FILE_PAGE);
    program
}

/// Runs two lines of code, with a load or store by the first instruction.
fn run_two_lines(program: &mut Program, data: u64, is_store: bool) {
    program.chunk.blocks.push(Block {
        bytes: 2 * LINE as u16,
        instructions: 8,
        ..access_at(FILE_PAGE)
    });
    program
        .chunk
        .references
        .push(Reference::new(data, 3, 3, is_store));
}

/// Shows that after a store moves the page of the running code to another frame, the rest of the
/// block is looked up in that frame.
#[test]
fn code_that_is_stored_to_goes_on_in_another_frame() {
    let cache = data_cache(16, Ways::Count(2));
    let mut design = behind_free_fetches(vec![cache.clone()]);
    design.levels[0] = Level {
        holds: Holds::Instructions,
        ..named("I", cache)
    };
    let mut program = maps_a_file();
    for is_store in [false, false, true] {
        run_two_lines(&mut program, FILE_PAGE + 0x800, is_store);
    }
    simulated(&with_physical_tags(design), &program);
}

/// Returns the misses of data in one set of two ways, by physical addresses.
fn misses_of_two_physical_lines(program: &Program) -> u64 {
    let cache = data_cache(2, Ways::Count(2));
    let design = with_physical_tags(behind_free_fetches(vec![cache]));
    level(&simulated(&design, program), "D").load_misses
}

/// Shows that a store that moves its page to another frame does not count as a use of the line in
/// the old frame.
#[test]
fn a_store_that_moves_its_page_uses_no_line_of_the_old_frame() {
    let mut program = maps_a_file();
    program.load(FILE_PAGE);
    program.store(0x1_0000);
    program.store(FILE_PAGE);
    program.load(0x1_0000);
    assert_eq!(misses_of_two_physical_lines(&program), 1);
}

/// Shows that a line with two virtual addresses, as in a page of a file that is mapped twice, is
/// one line.
#[test]
fn a_line_with_two_virtual_addresses_is_one_line() {
    let mut program = maps_a_file();
    program.map_library(2 * FILE_PAGE);
    for _ in 0..2 {
        for at in [FILE_PAGE, 2 * FILE_PAGE, 0x1_0000] {
            program.load(at);
        }
    }
    assert_eq!(misses_of_two_physical_lines(&program), 2);
}

fn named(name: &str, level: Level) -> Level {
    Level {
        name: name.to_owned(),
        ..level
    }
}

/// Shows the order of the two requests that a store makes to the next level when it misses in a
/// write-through level: for the line, and to pass the store on. The shared view makes both before
/// the private view makes any.
#[test]
fn the_second_request_of_a_store_comes_before_the_other_views() {
    let through = |level: Level| Level {
        write: WritePolicy::Through,
        write_allocate: Some(true),
        ..level
    };
    let two_lines = |line: u64| Level {
        size: Bytes(2 * line),
        line: Bytes(line),
        ..data_cache(2, Ways::Count(1))
    };
    let last = Level {
        size: Bytes(2 * LINE),
        ..two_lines(2 * LINE)
    };
    let levels = vec![
        through(two_lines(LINE)),
        named("C2", through(two_lines(2 * LINE))),
        named("C3", last),
    ];
    let design = behind_free_fetches(levels);
    // The first level holds the lines of `asked` and `beside` in different sets, the second those
    // of `asked` and `between`.
    let [asked, beside, between] = [0, 5, 2].map(|line| 0x1_0000 + line * LINE);
    let mut program = Program::new(2);
    program.load(asked);
    program.load(beside);
    program.switch_to(2);
    program.load(asked);
    program.switch_to(1);
    // The shared view requests the line from its second level again, the private view does not.
    program.load(asked);
    program.load(between);
    program.store(asked);
    let result = simulated(&design, &program);
    let origins = result
        .found
        .origins
        .iter()
        .find(|origins| origins.level == "C3")
        .expect("the design has it");
    assert_eq!(origins.aged_by_others, 0);
}

/// Shows that write buffers differ between the views after a store took longer in one view in a
/// later level, even though no instruction waited for the store.
#[test]
fn a_store_that_takes_longer_in_one_view_parts_the_write_buffers() {
    let first = Level {
        write: WritePolicy::Through,
        write_allocate: Some(false),
        write_buffers: Some(WriteBuffers {
            count: 1,
            drain_cycles: 5,
        }),
        ..data_cache(2, Ways::Count(1))
    };
    let second = named("C2", data_cache(1, Ways::Count(1)));
    let design = behind_free_fetches(vec![
        first,
        second,
        named("C3", data_cache(8, Ways::Count(1))),
    ]);
    let [far, near] = [0x1_0000, 0x1_0000 + LINE];
    let mut program = Program::new(2);
    program.load(far);
    program.switch_to(2);
    program.load(near);
    program.switch_to(1);
    program.load(near);
    (0..3).for_each(|_| program.store(near));
    (0..40).for_each(|_| program.load(near));
    // Only the flushed view requests the line from memory.
    program.store(far);
    program.store(far);
    simulated(&design, &program);
}
