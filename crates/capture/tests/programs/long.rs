//! Tests programs that run so long that their most frequent code is translated again, as longer
//! superblocks.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use switchcost_capture::{Command, Options, Order, run_unread};
use switchcost_trace::{Event, Reference};

use super::support::{FRAME, ROUNDS, compiled_with, in_order, options, seen, successes};

/// Number of rounds, some 9 million superblocks; the first superblocks are made longer after four
/// million.
const LONG: u32 = 1_500_000;
const SHORT: u32 = 100_000;

/// Executed instructions and references, counted as Cachegrind does: an instruction that loads and
/// then stores to the same place counts as a load.
#[derive(Debug, Default, PartialEq, Eq)]
struct Ran {
    instructions: u64,
    loads: u64,
    stores: u64,
    /// Hash of all blocks and references.
    hash: u64,
    successes: usize,
}

/// Compiles a program from [`FRAME`] and `rounds`, the source of the function `rounds`.
pub(super) fn program_of(name: &str, rounds: &str) -> PathBuf {
    let source = format!("{FRAME}{rounds}");
    compiled_with(
        name,
        &source,
        &[
            "-static",
            "-nostdlib",
            "-fno-pie",
            "-no-pie",
            "-fno-stack-protector",
        ],
    )
}

fn program(name: &str) -> PathBuf {
    program_of(name, ROUNDS)
}

fn output(mut command: std::process::Command) -> String {
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{}", output.status);
    String::from_utf8(output.stdout)
        .expect("text")
        .trim()
        .to_owned()
}

/// Returns the number of rounds, and the program's output for them without tracing, with which the
/// program checks itself.
fn arguments(program: &Path, rounds: u32) -> [String; 2] {
    let rounds = rounds.to_string();
    let mut alone = std::process::Command::new(program);
    alone.arg(&rounds);
    let result = output(alone);
    [rounds, result]
}

fn checked(program: &Path, rounds: u32) -> Command {
    let [rounds, result] = &arguments(program, rounds);
    Command::new([program.to_str().expect("a plain path"), rounds, result])
}

fn ran(commands: &[Command], options: Options) -> Ran {
    let mut ran = Ran::default();
    let stop = AtomicBool::new(false);
    let summary = seen(commands, options, &stop, |chunk| {
        ran.instructions += chunk.instructions();
        for event in chunk.events() {
            let Event::Block(block, own) = event else {
                continue;
            };
            // Only one block is compared, because in the next one another instruction may end
            // at the same distance from its start.
            let mut before = None;
            for &reference in own {
                ran.loads += u64::from(!reference.is_store());
                let load = Reference::new(
                    reference.address(),
                    reference.code(),
                    reference.through(),
                    false,
                );
                ran.stores += u64::from(reference.is_store() && before != Some(load));
                before = Some(reference);
            }
            let words = [block.address, u64::from(block.bytes)].into_iter();
            let references = own.iter().map(|reference| reference.0);
            ran.hash = words.chain(references).fold(ran.hash, hashed);
        }
    })
    .expect("a capture");
    ran.successes = successes(&summary);
    ran
}

/// Adds a word to a hash, so that different words, or the same words in another order, give another
/// hash except by chance. With the standard library's hasher, which also withstands an attack,
/// hashing took a quarter of these tests' time.
fn hashed(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95)
}

/// Returns Cachegrind's counts of instructions, loads and stores.
fn cachegrinds(program: &Path, rounds: u32) -> [u64; 3] {
    let file = program.with_extension("counts");
    let mut cachegrind = std::process::Command::new("valgrind");
    cachegrind.args(["-q", "--tool=cachegrind", "--cache-sim=yes"]);
    cachegrind.arg(format!("--cachegrind-out-file={}", file.display()));
    cachegrind.arg(program).args(arguments(program, rounds));
    output(cachegrind);
    let text = std::fs::read_to_string(file).expect("it writes its counts");
    let line = |start: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(start))
            .expect("a line of totals")
    };
    let of = |event: &str| {
        let place = line("events:")
            .split_whitespace()
            .position(|name| name == event)
            .expect("it counts that");
        line("summary:")
            .split_whitespace()
            .nth(place)
            .and_then(|count| count.parse().ok())
            .expect("a number")
    };
    ["Ir", "Dr", "Dw"].map(of)
}

/// Asserts for each order that a traced program computes the same result as without tracing, and
/// that the trace has Cachegrind's counts of instructions, loads and stores.
pub(super) fn assert_runs_as_cachegrind_counts<const N: usize>(
    program: &Path,
    rounds: u32,
    orders: [Order; N],
) {
    let counts = cachegrinds(program, rounds);
    for order in orders {
        let ran = ran(&[checked(program, rounds)], in_order(order));
        assert_eq!(ran.successes, 1, "{}, {order:?}", program.display());
        let found = [ran.instructions, ran.loads, ran.stores];
        assert_eq!(found, counts, "{}, {order:?}", program.display());
    }
}

#[test]
fn what_runs_long_is_counted_as_cachegrind_counts_it() {
    assert_runs_as_cachegrind_counts(&program("rounds"), LONG, [Order::default(), Order::AsRun]);
}

#[test]
fn what_runs_long_is_written_in_fewer_words() {
    let program = program("words");
    let [short, long] = [SHORT, LONG].map(|rounds| {
        run_unread(
            &[checked(&program, rounds)],
            options(),
            &AtomicBool::new(false),
        )
        .expect("a capture")
    });
    let as_before = short as f64 * f64::from(LONG) / f64::from(SHORT);
    assert!(
        (long as f64) < 0.9 * as_before,
        "{long} words, {as_before} without longer superblocks"
    );
}

#[test]
fn programs_that_run_long_take_the_same_turns_every_time() {
    let program = program("turns");
    let commands = [checked(&program, LONG), checked(&program, LONG - 1)];
    let first = ran(&commands, options());
    assert_eq!(
        first.successes, 2,
        "the programs calculate what they do without us"
    );
    assert_eq!(ran(&commands, options()), first);
}
