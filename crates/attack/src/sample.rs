//! Makes the inputs for all trials: short files of each kind that the program reads.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use serde_json::Value;

use crate::form;
use crate::place::{Place, repository};
use crate::run::Run;

/// Inputs that are copied from samples: the input's file name, and the path of the sample in the
/// repository.
const COPIES: [(&str, &str); 4] = [
    (
        "sparse.jsonl",
        "crates/record/tests/samples/measure-2.jsonl",
    ),
    (
        "simulated.parquet",
        "crates/simulation-record/tests/samples/simulation-1.parquet",
    ),
    (
        "shapes.sct",
        "crates/trace/tests/samples/trace-3-shapes.sctrace",
    ),
    (
        "marks.sct",
        "crates/trace/tests/samples/trace-3-marks.sctrace",
    ),
];

/// Inputs made from measurements: the input's file name, and the name of the stored measurement.
/// Only the first [`REPETITIONS`] repetitions are kept.
const MEASUREMENTS: [(&str, &str); 2] = [
    ("measured.jsonl", "li2007-isolated-quiet-01"),
    ("again.jsonl", "li2007-isolated-noisy-01"),
];
/// Number of repetitions that are kept of a measurement: one more than an interval needs.
const REPETITIONS: u64 = 6;

/// Creates a place with all inputs.
pub(crate) fn place(program: &Path) -> Result<Place, String> {
    let place = Place::new(program)?;
    fill(&place)?;
    Ok(place)
}

fn fill(place: &Place) -> Result<(), String> {
    for (name, sample) in COPIES {
        let from = repository().join(sample);
        fs::copy(&from, place.path("in").join(name))
            .map_err(|error| format!("{}: {error}", from.display()))?;
    }
    for (name, of) in MEASUREMENTS {
        let text = unpacked(&format!("results/records/{of}.jsonl.gz"))?;
        write(place, name, &first_repetitions(&text))?;
    }
    write(place, "observed.json", &checked_observation()?)?;
    make(
        place,
        &[
            "trace",
            "walks",
            "--size",
            "4KiB",
            "--turns",
            "40",
            "-o",
            "{in}/in.sct",
        ],
    )?;
    make(
        place,
        &[
            "trace",
            "export",
            "--to",
            "din",
            "{in}/in.sct",
            "-o",
            "{in}/in.din",
        ],
    )
}

fn make(place: &Place, words: &[&str]) -> Result<(), String> {
    let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    let ran = Run::new(place, &words).whole();
    match ran.code() {
        Some(0) => Ok(()),
        _ => Err(format!("failed to prepare inputs: {}", ran.reported())),
    }
}

fn write(place: &Place, name: &str, bytes: &[u8]) -> Result<(), String> {
    fs::write(place.path("in").join(name), bytes).map_err(|error| format!("{name}: {error}"))
}

fn unpacked(sample: &str) -> Result<Vec<u8>, String> {
    let reported = |error: std::io::Error| format!("{sample}: {error}");
    let (file, mut text) = (
        File::open(repository().join(sample)).map_err(reported)?,
        Vec::new(),
    );
    GzDecoder::new(file)
        .read_to_end(&mut text)
        .map_err(reported)?;
    Ok(text)
}

fn first_repetitions(text: &[u8]) -> Vec<u8> {
    let is_early = |body: &Vec<u8>| {
        let line: Option<Value> = serde_json::from_slice(&[body.as_slice(), b"}"].concat()).ok();
        line.and_then(|line| line["repetition"].as_u64())
            .is_none_or(|repetition| repetition < REPETITIONS)
    };
    let bodies: Vec<Vec<u8>> = form::bodies(text).into_iter().filter(is_early).collect();
    form::sealed_lines(&bodies)
}

/// Returns the sample of an observation in the next version of the format, which has a checksum.
fn checked_observation() -> Result<Vec<u8>, String> {
    let path = repository().join("fuzz/corpus/observation_record/small");
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let body = text
        .trim_end()
        .strip_suffix('}')
        .ok_or_else(|| format!("{} is cut off", path.display()))?;
    Ok(form::sealed_lines(&[body
        .replacen("observation/1", "observation/2", 1)
        .into_bytes()]))
}
