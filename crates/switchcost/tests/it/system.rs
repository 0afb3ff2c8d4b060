//! Tests `trace --system`. Tests without a working guest check its messages, and that nothing is
//! left; scripts take the place of QEMU. Tests with a real guest check its traces, and compare a
//! program with the same program under Valgrind.

use std::collections::HashMap;
use std::fs;
use std::ops::RangeInclusive;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;
use switchcost_trace::{Chunk, Event, Mark, TaskId, TraceReader};

use crate::common::{Place, Ran, count, finished, items, number, text};

/// Creates a folder with what the program looks for: a fake first process, a fake kernel, and a
/// QEMU that runs `script`.
fn stage(script: &str) -> Place {
    let place = Place::new();
    for folder in ["parts", "path"] {
        fs::create_dir(place.path(folder)).expect("a folder");
    }
    fs::write(place.path("parts/guest-init"), b"").expect("a file");
    fs::write(place.path("vmlinuz"), b"").expect("a file");
    let qemu = place.path("path/qemu-system-x86_64");
    let version = "[ \"$1\" = --version ] && { echo 'QEMU emulator version 7.2.22'; exit; }";
    fs::write(&qemu, format!("#!/bin/sh\n{version}\n{script}\n")).expect("a script");
    fs::set_permissions(&qemu, fs::Permissions::from_mode(0o755)).expect("a program");
    place
}

fn trace(place: &Place, path: &str, words: &str) -> Ran {
    let kernel = place.path("vmlinuz");
    let usual = ["trace", "--system", "--kernel", text(&kernel), "-o"];
    let mut command = place.command((usual, ("guest.sct --", words)));
    command.env("SWITCHCOST_QEMU_DIR", place.path("parts"));
    let ran = finished(command.env("PATH", path));
    assert!(
        !place.path("guest.sct").exists(),
        "no half file: {}",
        ran.stderr
    );
    ran
}

fn on_stage(script: &str, words: &str) -> Ran {
    let place = stage(script);
    let path = place.path("path").display().to_string();
    trace(&place, &path, words)
}

#[test]
fn why_a_guest_did_not_run_is_reported() {
    let ran = trace(&stage(""), "", "/bin/true");
    ran.assert_failed(1, "qemu-system-x86_64 does not work (not in PATH)\nhint: install QEMU 7.2, or 9 or newer, for x86: apt-get install \
             qemu-system-x86");
    for (script, reported) in [
        (
            "echo 'error a kernel without BTF'",
            "the kernel image cannot be used: a kernel without BTF\nhint: use one with BTF (CONFIG_DEBUG_INFO_BTF) and /proc/kallsyms, \
             such as Debian's: --kernel linux-image-cloud-amd64",
        ),
        (
            "echo ready; echo 'Kernel panic - not syncing: Attempted to kill init!' >&2; exit 3",
            "the guest ended before its programs (exit status: 3); what it said last: Kernel panic - not syncing: Attempted to kill \
             init!\nhint: give it more --memory, or try another --kernel or --append",
        ),
        (
            "exit 0",
            "the guest ended before its programs (exit status: 0)\nhint: give it more --memory, or try another --kernel or --append",
        ),
        (
            "echo 'qemu: Could not load plugin /q/switchcost-1.so: plugin requires API version 1, not 2' >&2; exit 1",
            "this version of QEMU is not supported (plugin requires API version 1, not 2)\nhint: put a qemu-system-x86_64 of 7.2, or 9 \
             to 11.1, first",
        ),
    ] {
        on_stage(script, "/bin/true").assert_failed(1, reported);
    }
}

#[test]
fn a_program_or_file_that_no_guest_can_have_is_refused_before_it_boots() {
    let ran = on_stage("echo booted >&2", "switchcost-no-such-program");
    ran.assert_failed(2, "switchcost-no-such-program is not in PATH");
    let ran = on_stage("echo booted >&2", "/bin/cat /dev/tty");
    ran.assert_failed(1, "/dev/tty is a device");
    assert!(!ran.stderr.contains("booted"), "{}", ran.stderr);
}

/// C program that uses no library, because a library chooses functions by processor. It has 60 KB
/// of code, loads and stores all over 3 MiB, and a system call now and then.
const WALKS: &str = r#"
static unsigned char memory[3 << 20];
static long call(long number)
{
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(0L) : "rcx", "r11", "memory");
    return result;
}
void _start(void)
{
    unsigned long state = 1;
    int i, pass;
    for (pass = 0; pass < 40; pass++) {
        __asm__ volatile(".rept 12000; addl $1000000, %%eax; .endr" : : : "eax", "cc");
        for (i = 0; i < 10000; i++) {
            state = state * 6364136223846793005ul + 1442695040888963407ul;
            memory[(state >> 33) % sizeof memory] += i;
            if (i % 100 == 0)
                call(110);
        }
    }
    call(60);
}
"#;

/// Counts the instructions of a program's own code, whichever task runs it.
fn instructions(trace: &Path, program: &[u8]) -> u64 {
    let mut reader = TraceReader::new(fs::File::open(trace).expect("a trace")).expect("a trace");
    let (mut names, mut running, mut sum) = (HashMap::new(), TaskId::NONE, 0);
    let mut chunk = Chunk::default();
    while reader.next_into(&mut chunk).expect("a whole trace") {
        for event in chunk.events() {
            match event {
                Event::Mark(Mark::Switch { to, .. }) => running = *to,
                Event::Mark(Mark::Birth { task, name, .. } | Mark::Exec { task, name, .. }) => {
                    names.insert(*task, name.clone());
                }
                Event::Mark(_) => {}
                Event::Block(block, _) => {
                    let is_programs = !block.flags.is_kernel()
                        && names.get(&running).is_some_and(|name| name == program);
                    sum += u64::from(block.instructions) * u64::from(is_programs);
                }
            }
        }
    }
    sum
}

/// Simulates a trace on one design.
fn simulated(place: &Place, trace: &str, design: &str, options: &str) -> Value {
    let usual = format!("simulate {trace} --design {design} --format json");
    let record = format!("--record {trace}.{design}{options}.parquet");
    let ran = place.run((usual, (record, options)));
    ran.assert_result();
    ran.json()["designs"][0].clone()
}

/// Whether this machine cannot run a guest; prints the reason.
pub(crate) fn is_without_guest(ran: &Ran) -> bool {
    let is = [
        "the plugin for QEMU is not in",
        "does not work",
        "no kernel image",
    ]
    .iter()
    .any(|what| ran.stderr.contains(what));
    if is {
        eprintln!("skipped: {}", ran.stderr.trim());
    }
    is
}

/// Returns the cache misses of the programs by level, on a design.
fn misses(place: &Place, trace: &str, design: &str) -> Vec<(String, u64)> {
    let shared = &simulated(place, trace, design, "--user-only")["shared"];
    let misses = |level: &Value| (level["name"].to_string(), count(&level["misses"]));
    items(&shared["levels"]).iter().map(misses).collect()
}

/// Rate in millions of instructions per second. A booting guest waits for fractions of a second of
/// guest time, during which it executes instructions; a low rate makes these few.
const SHORT_BOOT: &str = "62.5";

/// Levels with physical addresses use the guest's page frames from the trace, and no frames
/// assigned by the simulation.
#[test]
#[ignore = "takes long: make test ARGS=--all"]
fn where_pages_lie_is_recorded_and_simulated() {
    let place = Place::new();
    let usual = format!("trace --system --mips {SHORT_BOOT} --physical -o with.sct -- /bin/true");
    let ran = place.run(&usual);
    if is_without_guest(&ran) {
        return;
    }
    ran.assert_code(0);
    let info = place.run("trace info --format json with.sct").json();
    let marks = count(&info["pages"]);
    let pages = |design: &str| simulated(&place, "with.sct", design, "")["physical_pages"].clone();
    let with = pages("zen4-epyc-9004");
    assert_eq!(
        (count(&with["recorded"]), count(&with["assigned"])),
        (marks, 0)
    );
    assert!(
        marks > 100,
        "{marks}: a program, its library, and the kernel"
    );
    assert_eq!(
        pages("plain-lru"),
        Value::Null,
        "no level of it has physical addresses"
    );
    place
        .run("report --details with.sct.zen4-epyc-9004.parquet")
        .assert_output("physical addresses are from the trace");
}

/// Shows that the cost of a workload is simulated with and without the kernel, at the same
/// switches.
#[test]
#[ignore = "takes long: make test ARGS=--all"]
fn a_workload_runs_in_a_guest_and_is_simulated_with_its_kernel_and_without() {
    let place = Place::new();
    let usual = "workload client-server --system --mips 250 --switches 300 --design mogul-1a";
    let kept = "--format json --record with.parquet --trace with.sct";
    let with_kernel = place.run((usual, kept));
    if is_without_guest(&with_kernel) {
        return;
    }
    let alone = "simulate with.sct --user-only --design mogul-1a --format json";
    let alone = place.run((alone, "--record alone.parquet"));
    let [with_kernel, alone] = [with_kernel, alone].map(|ran| {
        ran.assert_result();
        ran.json()
    });
    let trace = |found: &Value, name: &str| count(&found["trace"][name]);
    for name in ["voluntary_switches", "involuntary_switches"] {
        assert_eq!(trace(&with_kernel, name), trace(&alone, name), "{name}");
    }
    assert_eq!(
        trace(&with_kernel, "voluntary_switches") + trace(&with_kernel, "involuntary_switches"),
        300
    );
    let [all, own] = [&with_kernel, &alone].map(|found| trace(found, "instructions"));
    assert!(
        own > 100_000 && all > own + 300 * 1000,
        "{own} of {all} instructions are the programs' own"
    );
    let (design, of_programs) = (&with_kernel["designs"][0], &alone["designs"][0]);
    let cycles = |lost: &Value| -> u64 {
        lost.as_object()
            .expect("by evictor")
            .values()
            .map(count)
            .sum()
    };
    assert!(
        cycles(&design["lost_to"]["kernel"]) > 0,
        "{}",
        design["lost_to"]
    );
    assert_eq!(
        cycles(&of_programs["lost_to"]["kernel"]),
        0,
        "{}",
        of_programs["lost_to"]
    );
}

/// One program runs under two frontends that share only the stream format. The number of
/// instructions must be identical, and cache misses of the programs' references must agree within 2
/// % at each level. The runs differ in the start of the stack, the order of page frames, and some
/// hundred lines of code of the guest's first process.
#[test]
fn a_program_in_a_guest_does_what_it_does_under_valgrind() {
    let place = Place::new();
    let program = place.path("walks");
    fs::write(program.with_extension("c"), WALKS).expect("a file");
    let mut compiler = std::process::Command::new("cc");
    compiler.args(["-O1", "-static", "-nostdlib", "-o", text(&program)]);
    finished(compiler.arg(program.with_extension("c"))).assert_code(0);
    let capture = |words: &str| place.run((words, ["--", text(&program)]));
    let guest = capture(&format!("trace -o guest.sct --system --mips {SHORT_BOOT}"));
    if is_without_guest(&guest) {
        return;
    }
    guest.assert_code(0);
    let valgrind = capture("trace -o valgrind.sct");
    valgrind.assert_code(0);
    let [in_guest, under_valgrind] =
        ["guest.sct", "valgrind.sct"].map(|name| instructions(&place.path(name), b"walks"));
    assert_eq!(in_guest, under_valgrind);
    assert!(
        in_guest > 9_000_000,
        "{in_guest}: 40 passes of 12,000 instructions, and more than 200,000 for loads and stores"
    );
    // If a trace does not contain the pages' places, the places are assigned.
    let pages = simulated(&place, "guest.sct", "zen4-epyc-9004", "")["physical_pages"].clone();
    assert_eq!(count(&pages["recorded"]), 0);
    assert!(count(&pages["assigned"]) > 100, "{pages}");
    // Only one of the traces contains the kernel, and so the costs of system calls.
    let calls = |trace: &str| {
        let found = simulated(&place, trace, "plain-lru", "");
        let calls = found["calls"].as_array().cloned().expect("a list");
        calls
            .into_iter()
            .filter(|call| call["syscall"] == "getppid")
            .collect::<Vec<_>>()
    };
    let [asked] = &calls("guest.sct")[..] else {
        panic!("one row for a name")
    };
    assert_eq!(count(&asked["calls"]) + count(&asked["with_switch"]), 4000);
    let [instructions, cycles] = ["instructions", "cycles"].map(|name| number(&asked[name]));
    assert!(
        (20.0..2000.0).contains(&instructions) && cycles > instructions,
        "{asked}"
    );
    assert_eq!(calls("valgrind.sct"), [] as [Value; 0]);
    for design in ["plain-lru", "zen4-epyc-9004"] {
        let [in_guest, under_valgrind] =
            ["guest.sct", "valgrind.sct"].map(|name| misses(&place, name, design));
        println!("{design}: {in_guest:?}, under Valgrind {under_valgrind:?}");
        for ((level, found), (_, wanted)) in in_guest.iter().zip(&under_valgrind) {
            assert!(
                found.abs_diff(*wanted) * 50 <= *wanted,
                "{level} of {design}: {found} misses, {wanted} under Valgrind"
            );
        }
    }
}

#[test]
fn the_tasks_of_a_measurement_take_exactly_their_turns_in_a_guest() {
    take_their_turns("", 80..=84);
}

#[test]
#[ignore = "takes long: make test ARGS=--all"]
fn a_task_of_a_measurement_alone_takes_exactly_its_turns_in_a_guest() {
    take_their_turns("--alone", 0..=6);
}

/// Every switch is known: two tasks hand the token on by a write and a read each time, or hand it
/// to themselves, and the recording begins and ends at their own stops.
fn take_their_turns(options: &str, switches: RangeInclusive<u64>) {
    let place = Place::new();
    let usual = format!("trace walks --system --mips {SHORT_BOOT} --size 8KiB --turns 40");
    let ran = place.run((usual, ("-o t.sct", options)));
    if is_without_guest(&ran) {
        return;
    }
    ran.assert_code(0);
    let found = simulated(&place, "t.sct", "plain-lru", "");
    let calls = |name: &str| -> u64 {
        let all = items(&found["calls"]).iter();
        all.filter(|call| call["syscall"] == name)
            .map(|call| count(&call["calls"]) + count(&call["with_switch"]))
            .sum()
    };
    // Each of two tasks has 40 time slices, and further calls notify the other task and begin
    // and end the ring.
    for call in ["read", "write"] {
        assert!(
            (80..=86).contains(&calls(call)),
            "{} of {call}",
            calls(call)
        );
    }
    for call in ["execve", "exit_group", "mmap", "clone"] {
        assert_eq!(calls(call), 0, "neither start nor end is in it: {call}");
    }
    let info = place.run("trace info --format json t.sct").json();
    let counted = items(&info["switches"])
        .iter()
        .map(|row| count(&row["switches"]));
    let counted: u64 = counted.sum();
    assert!(switches.contains(&counted), "{counted} switches");
    // The walk has 1024 elements, each with at least a load and a store.
    for kind in ["loads", "stores"] {
        assert!(count(&info[kind]) > 80 * 1024, "{info}");
    }
}

/// Each additional command line is a trial, which has a trace named after it, its own record, and a
/// fact in which the two records differ.
#[test]
#[ignore = "takes long: make test ARGS=--all"]
fn several_command_lines_are_as_many_traces_that_can_be_compared() {
    let place = Place::new();
    let output = place.path("true.sct");
    let lines = "--append pti=off --append 'pti=on nosmt' -- /bin/true";
    let command = format!("trace --system --mips {SHORT_BOOT} -o true.sct {lines}");
    let ran = place.run(&command);
    if is_without_guest(&ran) {
        return;
    }
    ran.assert_code(0);
    assert!(!output.exists());
    let names = ["true.pti=off.sct", "true.pti=on-nosmt.sct"];
    for (name, words) in names.iter().zip([" pti=off", " pti=on nosmt"]) {
        let info = place
            .run(["trace", "info", "--format", "json", name])
            .json();
        let line = &info["header"]["guest"]["command_line"];
        assert!(
            line.as_str().is_some_and(|line| line.ends_with(words)),
            "{line}"
        );
    }
    place.run(&command).assert_code(2);
    let both = place.run(("simulate --design plain-lru --format json", &names));
    both.assert_result();
    assert_eq!(both.json()["trials"].as_array().map(Vec::len), Some(2));
    let records: Vec<&str> = both
        .stderr
        .lines()
        .filter_map(|line| line.strip_prefix("switchcost: record "))
        .collect();
    let [base, new] = records[..] else {
        panic!("two records: {}", both.stderr)
    };
    let compared = place
        .run(format!("compare {base} {new} --format json"))
        .json();
    let differences: Vec<(&str, &Value)> = items(&compared["environment"])
        .iter()
        .map(|difference| {
            (
                difference["what"].as_str().expect("a name"),
                &difference["new"][0],
            )
        })
        .collect();
    assert_eq!(
        differences,
        [
            ("pti of the guest", &Value::from("on")),
            ("nosmt of the guest", &Value::from("given"))
        ]
    );
}
