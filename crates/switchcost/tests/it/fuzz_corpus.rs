//! Tests that the program itself reads the files with which the fuzzers begin. Each format has one
//! mutant of each kind. The program must exit with a code listed in docs/reference.md for each
//! mutant, whatever the file contains.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use strum::IntoEnumIterator;
use switchcost_trace::ImportFormat;

use crate::common::{Place, Ran, repository, text};

const KINDS: [&str; 7] = [
    "cut",
    "deep-nesting",
    "doubled-line",
    "empty",
    "flipped",
    "hostile-name",
    "oversized-number",
];

fn corpus(target: &str) -> PathBuf {
    repository("fuzz/corpus").join(target)
}

/// Returns the names of the files in a folder.
fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).expect("a corpus");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    names
        .map(|name| name.into_string().expect("text"))
        .collect()
}

/// Returns the names of the formats of `trace import`, which one fuzz target reads.
fn imported() -> impl Iterator<Item = String> {
    ImportFormat::iter().map(|format| format.to_string())
}

/// Returns the names of all corpora: of the fuzz targets, from the file that builds them, and of
/// the formats of `trace import`.
fn targets() -> BTreeSet<String> {
    let manifest = fs::read_to_string(repository("fuzz/Cargo.toml")).expect("a manifest");
    let bins = manifest.split("\nname = \"").skip(2);
    bins.filter_map(|bin| Some(bin.split_once('"')?.0.to_owned()))
        .filter(|name| name != "import")
        .chain(imported())
        .collect()
}

/// Makes a mutant of a whole file.
fn mutant(kind: &str, whole: &[u8]) -> Vec<u8> {
    let (start, end) = whole.split_at(whole.len() / 2);
    match kind {
        "cut" => start.to_vec(),
        "deep-nesting" => [whole, &[b'['; 5000]].concat(),
        "doubled-line" => [whole, end].concat(),
        "empty" => Vec::new(),
        "flipped" => [start, &[end[0] ^ 0x40], &end[1..]].concat(),
        "hostile-name" => ["=cmd|' /C calc'!A0\x1b[2J\u{202e}\n".as_bytes(), whole].concat(),
        "oversized-number" => [start, &[b'f'; 40], end].concat(),
        _ => panic!("{kind} is not made"),
    }
}

/// Each format of `trace import` is tried with a mutant of each kind, whatever its corpus has.
#[test]
fn each_mutant_of_an_imported_file_is_read_or_refused() {
    let place = Place::new();
    let file = place.path("mutant");
    for target in imported() {
        let whole = fs::read(corpus(&target).join("small")).expect("a whole file");
        for kind in KINDS {
            fs::write(&file, mutant(kind, &whole)).expect("a file");
            let ran = read(&place, &target, &file).expect("an importer");
            assert_harmless(&format!("{kind} of {target}"), &ran, &[0, 2, 3, 5]);
        }
    }
}

/// Asserts that the program exited with one of these codes and printed nothing that commands a
/// terminal. Returns what it printed.
fn assert_harmless(name: &str, ran: &Ran, codes: &[i32]) -> String {
    assert!(
        codes.contains(&ran.code),
        "{name}: {} {}",
        ran.code,
        ran.stderr
    );
    let said = format!("{}{}", ran.stdout, ran.stderr);
    let is_plain = !said.contains(['\u{1b}', '\u{202e}', '\0']);
    assert!(is_plain, "{name} says {said:?}");
    said
}

#[test]
fn each_target_begins_with_a_mutant_of_each_kind() {
    let targets = targets();
    assert!(targets.len() >= 8, "{targets:?}");
    assert_eq!(names(&corpus("")), targets);
    for target in targets {
        let names = names(&corpus(&target));
        for kind in KINDS {
            let is_there = names.contains(kind) || imported().any(|name| name == target);
            assert!(is_there, "{target} has no {kind}: {names:?}");
        }
        let is_whole = |name: &String| name.starts_with("small");
        assert!(
            names.iter().any(is_whole),
            "{target} has nothing whole: {names:?}"
        );
    }
}

/// Runs the command that reads a file; returns nothing if another program is needed to reach the
/// reader.
fn read(place: &Place, target: &str, file: &Path) -> Option<Ran> {
    let _ = fs::remove_file(place.path("out.sct"));
    let command = match target {
        "measure_record" | "injection_record" | "observation_record" | "simulation_record" => {
            "report --details".to_owned()
        }
        "trace_file" => "trace check".to_owned(),
        _ if imported().any(|name| name == target) => {
            format!("trace import -o out.sct --from {target}")
        }
        "design_toml" => {
            let trace = corpus("trace_file").join("small");
            format!("simulate '{}' --design", text(&trace))
        }
        _ => return None,
    };
    Some(place.run((command, [text(file)])))
}

/// Mutants, each with an exit code and words of a message that show that the mutant is what its
/// name claims. Traces of whole systems have additional records and marks; the files of drmemtrace
/// cover its containers and kinds of traces. Damaged simulations have correct checksums, with which
/// the damage reaches the reader of Parquet.
const MUTANTS: &[(&str, &str, i32, &str)] = &[
    ("measure_record", "cut", 3, "cut-line"),
    (
        "measure_record",
        "flipped",
        5,
        "is damaged at line 4 (its checksum is ",
    ),
    (
        "measure_record",
        "doubled-line",
        5,
        "is damaged at line 5 (its checksum is ",
    ),
    (
        "measure_record",
        "oversized-number",
        5,
        "is damaged at line 4 (invalid type: floating point",
    ),
    (
        "measure_record",
        "deep-nesting",
        5,
        "is damaged at line 3 (recursion limit exceeded",
    ),
    ("measure_record", "hostile-name", 3, "not measured"),
    (
        "measure_record",
        "version-1",
        5,
        "is of format switchcost.record.measure/1",
    ),
    ("measure_record", "empty", 5, "it is empty"),
    (
        "trace_file",
        "small-system",
        0,
        "Intact trace: 6 instructions in 3 blocks, 3 loads and stores",
    ),
    (
        "trace_file",
        "symbols-out-of-order",
        5,
        "the kernel's symbols cannot be read (it has a line that names nothing, or is out of order)",
    ),
    (
        "trace_file",
        "symbols-with-escape-codes",
        5,
        "the kernel's symbols cannot be read (it has a line that names nothing, or is",
    ),
    (
        "trace_file",
        "symbols-without-end",
        5,
        "the kernel's symbols cannot be read (it is no zstd frame, or too long)",
    ),
    (
        "trace_file",
        "page-of-odd-size",
        5,
        "a page of 3 bytes at 0x400000",
    ),
    ("drmemtrace", "small.zip", 0, ": 7 instructions"),
    ("drmemtrace", "small.sz", 0, ": 7 instructions"),
    ("drmemtrace", "small-core", 0, ": 5 instructions"),
    ("drmemtrace", "cut.zip", 5, "cannot be unpacked ("),
    (
        "drmemtrace",
        "code-alone",
        0,
        "the trace has only instructions",
    ),
    ("drmemtrace", "idle-core", 5, "this core ran nothing"),
    (
        "drmemtrace",
        "other-architecture",
        5,
        "the trace is of aarch64\nhint: trace a program for x86_64",
    ),
    (
        "drmemtrace",
        "two-threads",
        5,
        "expected the end of the file behind a footer (type 26)",
    ),
    (
        "simulation_record",
        "nested-schema",
        5,
        "is damaged at its footer (columns inside columns)",
    ),
    (
        "simulation_record",
        "list-called-text",
        5,
        "is damaged at its footer (a field of a kind that it has in no record)",
    ),
    (
        "simulation_record",
        "many-structures",
        5,
        "is damaged at its footer (a list of more structures than its bytes hold)",
    ),
    (
        "simulation_record",
        "page-of-another-kind",
        5,
        "the header of a page is a field of a kind that it has in no record)",
    ),
];

#[test]
fn each_file_is_read_or_refused_and_commands_no_terminal() {
    let place = Place::new();
    let mut known = 0;
    for target in targets() {
        for kind in names(&corpus(&target)) {
            let Some(ran) = read(&place, &target, &corpus(&target).join(&kind)) else {
                continue;
            };
            let codes: &[i32] = if kind.starts_with("small") {
                &[0, 3]
            } else {
                &[0, 2, 3, 5]
            };
            let said = assert_harmless(&format!("{target}/{kind}"), &ran, codes);
            let is_it = |row: &&(&str, &str, i32, &str)| row.0 == target && row.1 == kind;
            for (_, _, code, words) in MUTANTS.iter().filter(is_it) {
                ran.assert_code(*code);
                assert!(said.contains(*words), "{target}/{kind}: {words}: {said}");
                known += 1;
            }
        }
    }
    assert_eq!(known, MUTANTS.len(), "every mutant is there");
}

/// A trace whose symbols cannot be read is simulated without names.
#[test]
fn traces_with_damaged_symbols_are_simulated() {
    let place = Place::new();
    for (_, kind, ..) in MUTANTS.iter().filter(|row| row.0 == "trace_file") {
        let simulate = format!("simulate --design zen4-epyc-9004 --record {kind}.parquet");
        place
            .run((simulate, corpus("trace_file").join(kind)))
            .assert_result();
    }
}
