//! Gives files with one change and correct checksums to every subcommand that reads such files.

mod difference;

use std::fs;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use xxhash_rust::xxh3::xxh3_64;

use crate::campaign::{Kind, Sample};
use crate::change;
use crate::judge;
use crate::outcome::Outcome;
use crate::place::Place;
use crate::run::{Ran, Run};
use crate::table::{self, Change, Format};

/// Limit on the address space in MiB for a run that reads a file of some kilobytes.
const MEMORY_MIB: u64 = 1024;

pub(crate) struct Mutants(Vec<Format>);

impl Mutants {
    pub(crate) fn new() -> Mutants {
        Mutants(table::read::<table::Mutants>(include_str!("../tables/mutants.toml")).format)
    }
}

impl Kind for Mutants {
    fn name(&self) -> &'static str {
        "mutants"
    }

    fn sample(&self) -> Sample {
        Sample::OfEachPair(12)
    }

    fn draw(&self, _: &Place, _: &str, random: &mut ChaCha8Rng) -> Vec<String> {
        let mut names = Vec::new();
        for format in &self.0 {
            for (change, times) in &format.changes {
                let change = format!("{change:?}").to_lowercase();
                names.extend((0..*times).map(|_| {
                    format!(
                        "mutants/{}/{change}/{}",
                        format.name,
                        random.random::<u32>()
                    )
                }));
            }
        }
        names
    }

    fn attempt(&self, place: &Place, parts: &[&str]) -> Result<Outcome, String> {
        let [format, change, _] = parts else {
            return Err("need mutants/FORMAT/CHANGE/NUMBER".to_owned());
        };
        let found = self.0.iter().find(|found| found.name == *format);
        let format = found
            .ok_or_else(|| format!("found the format {format}, need one of tables/mutants.toml"))?;
        let change = Change::named(change)
            .ok_or_else(|| format!("found the change {change}, need one of tables/mutants.toml"))?;
        let sample = fs::read(place.expanded(&format.sample))
            .map_err(|error| format!("{}: {error}", format.sample))?;
        let mut random = ChaCha8Rng::seed_from_u64(xxh3_64(parts.join("/").as_bytes()));
        let mutant = change::changed(format.form, change, &sample, &mut random);
        let Some(mutant) = mutant.filter(|mutant| mutant.file != sample) else {
            return Ok(Outcome::Untried("the file was as it had been".to_owned()));
        };
        fs::write(place.path("scratch/sample"), sample).map_err(|error| error.to_string())?;
        fs::write(place.path("scratch/mutant"), mutant.file).map_err(|error| error.to_string())?;
        Ok(format
            .readers
            .iter()
            .try_for_each(|words| read(place, format, words, mutant.at.as_deref()))
            .into())
    }
}

fn read(place: &Place, format: &Format, words: &[String], at: Option<&str>) -> Result<(), String> {
    let ran = run(place, words, "{scratch}/mutant");
    judge::is_orderly(&ran)?;
    judge::is_explained(&ran)?;
    if !ran.code().is_some_and(|code| format.codes.contains(&code)) {
        return Err(format!(
            "need one of the exit codes {:?}: {}",
            format.codes,
            ran.reported()
        ));
    }
    is_fit_to_show(&ran).map_err(|why| format!("{why}: {}", ran.reported()))?;
    let confined = format
        .confined
        .iter()
        .find(|confined| at.is_some_and(|at| at.starts_with(&confined.of)));
    confined.map_or(Ok(()), |confined| {
        let whole = run(place, words, "{scratch}/sample");
        difference::is_confined(&whole.stdout, &ran.stdout, &confined.to).map_err(|why| {
            format!(
                "{} is another one, and {why}: {}",
                at.unwrap_or_default(),
                ran.reported()
            )
        })
    })
}

fn run(place: &Place, words: &[String], file: &str) -> Ran {
    let _ =
        fs::remove_dir_all(place.path("made")).and_then(|()| fs::create_dir(place.path("made")));
    let words: Vec<String> = words
        .iter()
        .map(|word| word.replace("{mutant}", file))
        .collect();
    Run {
        memory_mib: Some(MEMORY_MIB),
        ..Run::new(place, &words)
    }
    .whole()
}

/// Checks that the output contains no control characters for a terminal, and only valid numbers.
fn is_fit_to_show(ran: &Ran) -> Result<(), String> {
    let is_command = |letter: char| {
        letter.is_control() && !"\n\t".contains(letter) || matches!(letter, '\u{202a}'..='\u{202e}')
    };
    let said = [&ran.stdout, &ran.stderr];
    if let Some(line) = said
        .iter()
        .flat_map(|text| text.split('\n'))
        .find(|line| line.contains(is_command))
    {
        return Err(format!("found what commands a terminal: {line:?}"));
    }
    let is_no_number = |word: &str| {
        matches!(
            word.trim_matches(['-', '+', ',', ':']),
            "NaN" | "inf" | "infinity"
        )
    };
    match ran
        .stdout
        .lines()
        .find(|line| line.split_whitespace().any(is_no_number))
    {
        Some(line) => Err(format!("found what is no number: {line:?}")),
        None => is_json(ran),
    }
}

fn is_json(ran: &Ran) -> Result<(), String> {
    if !ran.stdout.starts_with('{') || !matches!(ran.code(), Some(0 | 3)) {
        return Ok(());
    }
    serde_json::from_str::<serde::de::IgnoredAny>(&ran.stdout)
        .map(|_| ())
        .map_err(|error| format!("found what is no JSON ({error})"))
}
