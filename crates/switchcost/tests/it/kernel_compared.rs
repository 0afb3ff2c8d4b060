//! Tests `compare` on traces of two synthetic kernels with known effects on caches: it must report
//! the known differences.

use std::fs::File;
use std::path::PathBuf;

use serde_json::Value;
use switchcost_trace::{
    Block, BlockFlags, Cause, Chunk, Guest, Mark, ProcessId, Reference, TaskId, TraceHeader,
    TraceOrder, TraceWriter,
};

use crate::common::{Place, items, number, text};

/// Number of time slices of each of the two tasks.
const TURNS: u64 = 400;
/// Line size of mogul-1a, in whose data cache addresses 64 KiB apart map to the same line.
const LINE: u64 = 16;
/// Cycles of a miss on mogul-1a.
const MISS: f64 = 15.0;
const GETPPID: u16 = 39;
const ARRAY: u64 = 0x1000_0000;
/// Offset of the kernel's lines in the data cache, after the arrays of both tasks.
const BEHIND: u64 = 0x8000;
const OF_KERNEL: u64 = 0xffff_8880_0000_0000;

/// Content of the time slices. The first task walks an array, and after it as many lines as the
/// kernel touches. The second task calls the kernel, which touches its lines, and then walks an
/// array that maps to the same cache lines as the first task's array.
struct Made {
    /// Number of lines of an array.
    array: u64,
    /// Number of lines that the kernel touches.
    kernel: u64,
    /// Number of instructions of the kernel, at least one per line.
    instructions: u64,
    append: &'static str,
}

fn step(chunk: &mut Chunk, code: u64, address: Option<u64>) {
    let flags = if code >> 63 == 1 {
        BlockFlags::KERNEL
    } else {
        BlockFlags::USER
    };
    let references = address.map(|address| Reference::new(address, 7, 3, false));
    chunk.blocks.push(Block {
        address: code,
        bytes: 4,
        instructions: 1,
        references: references.iter().len() as u16,
        first_bytes: 4,
        flags,
    });
    chunk.references.extend(references);
}

fn walk(chunk: &mut Chunk, code: u64, from: u64, lines: u64) {
    (0..lines).for_each(|line| step(chunk, code, Some(from + line * LINE)));
}

fn switch(from: u32, to: u32) -> Mark {
    Mark::Switch {
        from: TaskId(from),
        to: TaskId(to),
        is_voluntary: false,
        cause: Cause::Quantum,
    }
}

/// Adds the time slices. Each piece of code has its own line in the instruction cache, and each
/// task its own pieces.
fn turns(made: &Made, chunk: &mut Chunk) {
    walk(chunk, 0x40_0000, ARRAY, made.array);
    walk(chunk, 0x40_0010, ARRAY + BEHIND, made.kernel);
    chunk.mark(switch(1, 2));
    chunk.mark(Mark::SyscallEnter { number: GETPPID });
    walk(chunk, OF_KERNEL + 0x100, OF_KERNEL + BEHIND, made.kernel);
    (made.kernel..made.instructions).for_each(|_| step(chunk, OF_KERNEL + 0x110, None));
    chunk.mark(Mark::SyscallExit { number: GETPPID });
    walk(chunk, 0x40_0020, ARRAY, made.array);
    chunk.mark(switch(2, 1));
}

/// Simulates a trace of the time slices `made` on mogul-1a, and returns the record's path.
fn simulated(place: &Place, name: &str, made: &Made) -> PathBuf {
    let [trace, record] = ["sct", "parquet"].map(|ending| place.path(&format!("{name}.{ending}")));
    let guest = Guest {
        kernel: "vmlinuz-made".to_owned(),
        command_line: made.append.to_owned(),
        slice_ns: None,
        instructions_per_second: 1_000_000_000,
    };
    let header = TraceHeader {
        guest: Some(guest),
        commands: vec![vec!["made".to_owned()]],
        ..TraceHeader::new("made", TraceOrder::AsRun, "x86_64")
    };
    let mut writer =
        TraceWriter::create(File::create(&trace).expect("room"), &header).expect("a trace");
    let mut chunk = Chunk::default();
    for task in [1, 2] {
        let name = format!("task-{task}").into_bytes();
        chunk.mark(Mark::Birth {
            task: TaskId(task),
            process: ProcessId(task),
            parent: TaskId::NONE,
            name,
        });
    }
    chunk.mark(switch(0, 1));
    for _ in 0..TURNS {
        turns(made, &mut chunk);
        writer.write(&chunk).expect("it fits");
        chunk.clear();
    }
    writer.finish().expect("a whole trace");
    place.run(["trace", "check", text(&trace)]).assert_code(0);
    let ran = place.run([
        "simulate",
        text(&trace),
        "--design",
        "mogul-1a",
        "--record",
        text(&record),
    ]);
    ran.assert_result();
    record
}

/// Returns the values on both sides, the ratio and the verdict.
fn pair<'a>(compared: &'a Value, quantity: &str, name: Option<&str>) -> ([f64; 3], &'a str) {
    let pairs = items(&compared["pairs"]);
    let is_it = |pair: &&Value| pair["quantity"] == quantity && pair["name"].as_str() == name;
    let pair = pairs
        .iter()
        .find(is_it)
        .unwrap_or_else(|| panic!("no {quantity} of {name:?}: {compared}"));
    assert_eq!(pair["outcome"], "compared", "{pair}");
    let values = [
        &pair["base"]["value"],
        &pair["new"]["value"],
        &pair["ratio"],
    ]
    .map(number);
    (values, pair["verdict"].as_str().expect("a verdict"))
}

/// All time slices are equal except the first, which loses nothing, so a mean differs from a single
/// slice's number by at most one part in the number of slices.
#[test]
fn what_two_kernels_do_is_compared_as_it_was_made() {
    let place = Place::new();
    let base = Made {
        array: 256,
        kernel: 128,
        instructions: 200,
        append: "quiet pti=off",
    };
    let new = Made {
        array: 512,
        kernel: 192,
        instructions: 500,
        append: "quiet pti=on",
    };
    let records =
        [("base", &base), ("new", &new)].map(|(name, made)| simulated(&place, name, made));
    let compared = place
        .run([
            "compare",
            text(&records[0]),
            text(&records[1]),
            "--format",
            "json",
        ])
        .json();
    let what: Vec<&str> = items(&compared["environment"])
        .iter()
        .filter_map(|row| row["what"].as_str())
        .collect();
    assert_eq!(what, ["pti of the guest"]);
    let [base, new] = [base, new]
        .map(|made| [made.array, made.kernel, made.instructions].map(|count| count as f64));
    // The costs are those of a round with a time slice of both tasks, which is two switches. Each
    // array loses all its lines to the other, and the kernel its lines to the first task.
    let to_processes = |[array, kernel, _]: [f64; 3]| (2.0 * array + kernel) * MISS / 2.0;
    // The first task loses the lines in the places of the kernel's lines.
    let to_kernel = |[_, kernel, _]: [f64; 3]| kernel * MISS / 2.0;
    let instructions = |[_, _, instructions]: [f64; 3]| instructions / 2.0;
    // A call has all instructions, and each of its lines is missed.
    let of_call = |[_, _, instructions]: [f64; 3]| instructions;
    let cycles_of_call = |[_, kernel, instructions]: [f64; 3]| instructions + kernel * MISS;
    let missed = |[_, kernel, _]: [f64; 3]| kernel / 2.0;
    type Known = fn([f64; 3]) -> f64;
    let known: [(&str, Option<&str>, Known); 6] = [
        ("lost-to-processes", None, to_processes),
        ("lost-to-kernel", None, to_kernel),
        ("kernel-instructions", None, instructions),
        ("call-instructions", None, of_call),
        ("call-cycles", None, cycles_of_call),
        ("kernel-misses", Some("L1D"), missed),
    ];
    for (quantity, name, wanted) in known {
        let (found, verdict) = pair(&compared, quantity, name);
        let (base, new) = (wanted(base), wanted(new));
        for (found, wanted) in found.iter().zip([base, new, new / base]) {
            let is_so = (found / wanted - 1.0).abs() <= 2.0 / TURNS as f64;
            assert!(
                is_so,
                "{quantity} of {name:?}: {found}, and {wanted} was made"
            );
        }
        assert_eq!(verdict, "slower", "{quantity}");
    }
}
