//! Attacks switchcost through its command line, and judges its behaviour. The attacks end the
//! program at any moment, make system calls fail, and give the program damaged files with correct
//! checksums, hostile clients and unusual environments.
//!
//! The program under test is in the folder of this program. The name of a trial determines
//! everything that happens in the trial, including random choices, so a failed trial is repeated by
//! its name. Trials have limited time and memory, and end with this program. No process outside of
//! the trials is touched.

mod campaign;
mod change;
mod clients;
mod environments;
mod form;
mod injections;
mod judge;
mod kills;
mod leftovers;
mod mutants;
mod outcome;
mod place;
mod planted;
mod run;
mod sample;
mod table;
mod terminal;
mod verb;
mod whole;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Parser, ValueEnum};

use campaign::{Campaign, Count, Kind};

/// Number of trials that run at the same time. A trial waits for most of its duration.
const AT_ONCE: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Of {
    /// End each subcommand by each signal, at random moments
    Kills,
    /// Make system calls fail
    Injections,
    /// Damage files, and correct their checksums
    Mutants,
    /// Connect clients to `observe --listen`
    Clients,
    /// Vary homes, disks, limits, namespaces and rights
    Environments,
    /// Plant files of other users in places that nobody named
    Planted,
}

/// Attacks switchcost, and counts what it withstands.
#[derive(Debug, Parser)]
struct Arguments {
    /// Kinds of attack [default: all]
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Of>,

    /// Run only trials whose names contain this text, such as observe/KILL
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    matching: String,

    /// Repeat this one trial, and report it in full
    #[arg(long, value_name = "NAME", conflicts_with_all = ["only", "seed"])]
    trial: Option<String>,

    /// Seed of all random choices [default: the time of day]
    #[arg(long)]
    seed: Option<u64>,

    /// Run all trials, which takes hours, and not a sample that covers them; --matching always does
    #[arg(long)]
    all: bool,

    /// Repeat all trials this many times, at different moments each time
    #[arg(long, default_value_t = 1)]
    times: u32,

    /// Duration in seconds, of which each kind gets a share, and what other kinds leave of theirs
    /// [default: 3600, with --all ten times that]
    #[arg(long)]
    seconds: Option<u64>,

    /// Program under attack [default: switchcost in the folder of this program]
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

/// Returns the kinds of attack, each with its weight. The time is divided in proportion to the
/// weights.
fn kinds() -> Vec<(Of, u32, Box<dyn Kind>)> {
    vec![
        (Of::Clients, 2, Box::new(clients::Clients::new())),
        (
            Of::Environments,
            4,
            Box::new(environments::Environments::new()),
        ),
        (Of::Injections, 4, Box::new(injections::Injections::new())),
        (Of::Kills, 4, Box::new(kills::Kills::new())),
        (Of::Mutants, 3, Box::new(mutants::Mutants::new())),
        (Of::Planted, 2, Box::new(planted::Planted::new())),
    ]
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("switchcost-attack: {why}");
            ExitCode::from(2)
        }
    }
}

/// Runs the attacks, and returns the number of failed trials.
fn run(arguments: Arguments) -> Result<usize, String> {
    let program = arguments.program.map_or_else(sibling_program, Ok)?;
    let seed = arguments.seed.unwrap_or_else(campaign::time_of_day);
    let is_sampled = !arguments.all && arguments.matching.is_empty();
    let longest = if arguments.all { 36_000 } else { 3_600 };
    let seconds = arguments.seconds.unwrap_or(longest);
    let campaign = Campaign {
        program,
        seed,
        is_sampled,
        matching: arguments.matching,
        times: arguments.times,
        at_once: AT_ONCE,
    };
    if let Some(name) = &arguments.trial {
        return repeat(&campaign, name);
    }
    println!("seed: {seed}");
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut kinds = kinds();
    kinds.retain(|(of, ..)| arguments.only.is_empty() || arguments.only.contains(of));
    let mut shares: u32 = kinds.iter().map(|(_, share, _)| share).sum();
    let mut counts = Vec::new();
    for (_, share, kind) in &kinds {
        let left = end.saturating_duration_since(Instant::now());
        let count = campaign.attack(kind.as_ref(), Instant::now() + left * *share / shares)?;
        println!("{count}");
        counts.push(count);
        shares -= share;
    }
    Ok(counts.iter().map(|count| count.failed).sum())
}

fn repeat(campaign: &Campaign, name: &str) -> Result<usize, String> {
    let of = name.split('/').next().unwrap_or_default();
    let kinds = kinds();
    let kind = kinds
        .iter()
        .map(|(.., kind)| kind)
        .find(|kind| kind.name() == of);
    let kind = kind.ok_or_else(|| {
        format!("found the trial {name}, need one that was printed by this program")
    })?;
    let count: Count = campaign.repeat(kind.as_ref(), name)?;
    Ok(count.failed)
}

fn sibling_program() -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let program = own.with_file_name("switchcost");
    match program.is_file() {
        true => Ok(program),
        false => Err(format!(
            "found no {}, need it built first: make attack builds it",
            program.display()
        )),
    }
}
