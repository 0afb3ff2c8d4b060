//! Tests that the program itself reads the files with which the fuzzers begin. Each format has one
//! mutant of each kind, and each must exit with a code listed in docs/reference.md, whatever the
//! file contains.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Place, Ran, text};

const KINDS: [&str; 7] = [
    "cut",
    "deep-nesting",
    "doubled-line",
    "empty",
    "flipped",
    "hostile-name",
    "oversized-number",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

fn corpus(target: &str) -> PathBuf {
    root().join("corpus").join(target)
}

fn files(target: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(corpus(target)).expect("a corpus");
    entries
        .map(|entry| entry.expect("an entry").path())
        .collect()
}

/// Returns the names of all fuzz targets, from the file that builds them.
fn targets() -> BTreeSet<String> {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("a manifest");
    let bins = manifest.split("[[bin]]\n").skip(1);
    bins.filter_map(|bin| {
        Some(
            bin.lines()
                .next()?
                .strip_prefix("name = \"")?
                .trim_end_matches('"')
                .to_owned(),
        )
    })
    .collect()
}

#[test]
fn each_target_begins_with_a_mutant_of_each_kind() {
    assert!(targets().len() >= 8, "{:?}", targets());
    let folders = fs::read_dir(root().join("corpus")).expect("corpora");
    let folders = folders.map(|entry| {
        entry
            .expect("an entry")
            .file_name()
            .into_string()
            .expect("text")
    });
    assert_eq!(folders.collect::<BTreeSet<_>>(), targets());
    for target in targets() {
        let names: Vec<String> = files(&target)
            .iter()
            .map(|file| text(Path::new(file.file_name().expect("a name"))).to_owned())
            .collect();
        for kind in KINDS {
            assert!(
                names.iter().any(|name| name == kind),
                "{target} has no {kind}: {names:?}"
            );
        }
        assert!(
            names.iter().any(|name| name.starts_with("small")),
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
            "report".to_owned()
        }
        "trace_file" => "trace check".to_owned(),
        "lackey" | "din" | "champsim" | "gem5" | "drmemtrace" => {
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

#[test]
fn each_file_is_read_or_refused_and_commands_no_terminal() {
    let place = Place::new();
    for target in targets() {
        for file in files(&target) {
            let Some(ran) = read(&place, &target, &file) else {
                continue;
            };
            let name = file.display();
            let is_whole = file
                .file_name()
                .is_some_and(|name| text(Path::new(name)).starts_with("small"));
            assert!(
                matches!(ran.code, 0 | 2 | 3 | 5),
                "{name} ends with {}: {}",
                ran.code,
                ran.stderr
            );
            assert!(
                !is_whole || matches!(ran.code, 0 | 3),
                "{name} ends with {}: {}",
                ran.code,
                ran.stderr
            );
            let said = format!("{}{}", ran.stdout, ran.stderr);
            assert!(
                !said.contains(['\u{1b}', '\u{202e}', '\0']),
                "{name} says {said:?}"
            );
        }
    }
}

fn assert_said(ran: &Ran, code: i32, words: &str) {
    ran.assert_code(code);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(said.contains(words), "{words}: {said}");
}

/// Each mutant of a record must have the property that its name claims.
#[test]
fn mutants_of_a_record_are_what_they_are_called() {
    let place = Place::new();
    for (kind, code, part) in [
        ("cut", 3, "cut-line"),
        ("flipped", 5, "is damaged at line 4 (its checksum is "),
        ("doubled-line", 5, "is damaged at line 5 (its checksum is "),
        (
            "oversized-number",
            5,
            "is damaged at line 4 (invalid type: floating point",
        ),
        (
            "deep-nesting",
            5,
            "is damaged at line 3 (recursion limit exceeded",
        ),
        ("hostile-name", 3, "not measured"),
        ("version-1", 5, "is of format switchcost.record.measure/1"),
        ("empty", 5, "it is empty"),
    ] {
        let file = corpus("measure_record").join(kind);
        assert_said(&place.run(["report", "--details", text(&file)]), code, part);
    }
}

/// Traces of whole systems have records and marks of their own.
#[test]
fn mutants_of_a_system_trace_are_what_they_are_called() {
    let place = Place::new();
    for (kind, code, part) in [
        (
            "small-system",
            0,
            "Intact trace: 1 chunk with 3 blocks, 6 instructions, 3 references and 8 marks",
        ),
        (
            "symbols-out-of-order",
            5,
            "the kernel's symbols cannot be read (it has a line that names nothing, or is out of order)",
        ),
        (
            "symbols-with-escape-codes",
            5,
            "the kernel's symbols cannot be read (it has a line that names nothing, or is",
        ),
        (
            "symbols-without-end",
            5,
            "the kernel's symbols cannot be read (it is no zstd frame, or too long)",
        ),
        ("page-of-odd-size", 5, "a page of 3 bytes at 0x400000"),
    ] {
        let file = corpus("trace_file").join(kind);
        assert_said(&place.run(["trace", "check", text(&file)]), code, part);
        // A record without names is simulated without them.
        let simulate = format!("simulate --design zen4-epyc-9004 --record {kind}.parquet");
        place.run((simulate, [text(&file)])).assert_result();
    }
}

/// The files cover drmemtrace's containers and its kinds of traces.
#[test]
fn mutants_of_drmemtrace_are_what_they_are_called() {
    let place = Place::new();
    for (kind, code, part) in [
        ("small.zip", 0, ": 7 instructions"),
        ("small.sz", 0, ": 7 instructions"),
        ("small-core", 0, ": 5 instructions"),
        ("cut.zip", 5, "cannot be unpacked ("),
        ("code-alone", 0, "the trace has no data references"),
        ("idle-core", 5, "this core ran nothing"),
        (
            "other-architecture",
            5,
            "the trace is of aarch64\nhint: trace a program for x86_64",
        ),
        (
            "two-threads",
            5,
            "expected the end of the file behind a footer (type 26)",
        ),
    ] {
        let file = corpus("drmemtrace").join(kind);
        let import = format!("trace import --from drmemtrace -o {kind}.sct");
        place.run((import, [text(&file)])).assert_failed(code, part);
    }
}

/// Shows that damaged records of a simulation are refused even if correct checksums let the damage
/// reach the Parquet reader.
#[test]
fn sealed_mutants_of_a_simulation_are_refused_before_parquet_reads_them() {
    let place = Place::new();
    for (kind, part) in [
        ("nested-schema", "its footer (columns inside columns)"),
        (
            "list-called-text",
            "its footer (a field of a kind that it has in no record)",
        ),
        (
            "many-structures",
            "its footer (a list of more structures than its bytes hold)",
        ),
        (
            "page-of-another-kind",
            "the header of a page is a field of a kind that it has in no record)",
        ),
    ] {
        let file = corpus("simulation_record").join(kind);
        place
            .run(["report", text(&file)])
            .assert_code(5)
            .assert_message(&format!("{} is damaged at ", file.display()))
            .assert_message(part);
    }
}
