//! Claims of Mogul and Borg 1990: Tables 1 to 4, Figures 1 to 9, and the discussion.

mod curves;
mod designs;
mod discussion;
mod disk;
mod free;
mod length;
mod overhead;
mod programs;
mod quantities;
mod reasons;
mod sample;
mod single;
mod table_4;
mod with_kernel;

use switchcost_analysis::simulation::{DesignFinding, Findings};
use switchcost_design::result::Simulation;

use crate::records::require;
use crate::{Exhibit, Outcome, Records, Site, Step};

/// A benchmark set of Table 2: the paper's name, the name in switchcost, and the letters of its
/// trials on the designs 1a, 2a, 1b and 2b.
struct Set {
    published: &'static str,
    name: &'static str,
    trials: [&'static str; 4],
    /// Whether time slices have a few thousand instructions, rather than a whole quantum.
    has_short_turns: bool,
    /// How time slices end. The mean of their lengths is fitted to Table 4.
    turns: Turns,
    /// Other time slices: shorter and longer ones, which fit the extreme trials of Table 4, and
    /// constant ones. Each has a name.
    other_turns: &'static [(&'static str, Turns)],
}

/// How time slices end: after a quantum, or earlier at random with a mean distance. Both are in
/// instructions.
#[derive(Clone, Copy)]
struct Turns {
    quantum: u64,
    preempted_every: Option<u64>,
}

impl Turns {
    const fn new(quantum: u64, preempted_every: u64) -> Turns {
        Turns {
            quantum,
            preempted_every: Some(preempted_every),
        }
    }

    const fn even(quantum: u64) -> Turns {
        Turns {
            quantum,
            preempted_every: None,
        }
    }

    fn flags(&self) -> String {
        let every = self
            .preempted_every
            .map(|every| format!(" --preempt-every {every}"));
        format!("--quantum {}{}", self.quantum, every.unwrap_or_default())
    }

    fn words(&self) -> String {
        let every = self
            .preempted_every
            .map(|every| format!(", preempted every {every}"));
        format!("{}{}", self.quantum, every.unwrap_or_default())
    }
}

const SETS: [Set; 3] = [
    Set {
        published: "Timesharing",
        name: "timesharing",
        trials: ["A", "D", "G", "J"],
        has_short_turns: false,
        // The quantum is 400,000 cycles (section 5.1, note 3) at 1.27 cycles per instruction. The
        // mean length of a time slice is 132,000 instructions, of 108,000 to 146,000 in the trials,
        // and system calls take some. A tenth of the time slices is to reach the quantum (section
        // 5.1).
        turns: Turns::new(315_000, 150_000),
        other_turns: &[
            ("short-turns", Turns::new(315_000, 121_000)),
            ("long-turns", Turns::new(400_000, 165_000)),
            ("even-turns", Turns::even(132_000)),
        ],
    },
    Set {
        published: "Compute-bound",
        name: "compute-bound",
        trials: ["B", "E", "H", "K"],
        has_short_turns: false,
        // The quantum is 400,000 cycles at 1.10 cycles per instruction. The mean length of a time
        // slice is 249,000 instructions, of 240,000 to 263,000 in the trials.
        turns: Turns::new(363_000, 450_000),
        other_turns: &[
            ("short-turns", Turns::new(363_000, 410_000)),
            ("long-turns", Turns::new(400_000, 440_000)),
            ("even-turns", Turns::even(250_000)),
        ],
    },
    Set {
        published: "Client-Server",
        name: "client-server",
        trials: ["C", "F", "I", "L"],
        has_short_turns: true,
        // The quantum is 400,000 cycles at 1.06 cycles per instruction, which hardly any time slice
        // reaches.
        turns: Turns::even(377_000),
        other_turns: &[],
    },
];

/// Names of the designs, in the order of the trials in Table 4.
const DESIGNS: [&str; 4] = ["1a", "2a", "1b", "2b"];

/// Number of trials of each set of programs. The paper has two or three trials of a set on a
/// design, which differ by 2 to 27 %. The trials here have inputs of different sizes, different
/// orders of programs, preemptions at different moments, different starts and different lengths.
/// Copies of one trace would differ too little.
const TRIALS: u64 = 6;
/// Number of switches in each trial. The first trial has 5000, like the paper's trials (section
/// 4.1), and is the trial that curves show.
const SWITCHES: [u64; TRIALS as usize] = [5000, 1500, 1000, 1500, 1000, 1000];
/// Number of switches skipped at the start of each trial, so that the trials begin at different
/// points of their programs. The first trial skips none, as in the paper.
const SKIPPED: [u64; TRIALS as usize] = [0, 0, 700, 400, 1000, 250];
const QUICK_SWITCHES: u64 = 40;

/// Name of the step that simulates Client-Server in caches with more ways.
const WAYS_STEP: &str = "mogul1990-client-server-ways";
const SIZES_STEP: &str = "mogul1990-timesharing-sizes";
const SIZES: &str = "16KiB,32KiB,64KiB,128KiB,256KiB,512KiB,1MiB,2MiB,4MiB";
const SIZES_SWITCHES: u64 = 800;

fn step_name(set: &Set, trial: u64) -> String {
    format!("mogul1990-{}-{trial}", set.name)
}

/// Returns the seed of a trial. Results with different seeds have different trials.
fn seed(site: &Site<'_>, trial: u64) -> u64 {
    site.seed * 100 + trial
}

/// Returns the command line that traces and simulates a trial.
fn trial_line(site: &Site<'_>, set: &Set, trial: u64) -> String {
    let place = trial as usize - 1;
    let switches = site.effort.choose(SWITCHES[place], QUICK_SWITCHES);
    let (name, seed, turns) = (set.name, seed(site, trial), set.turns.flags());
    let skipped = site.effort.choose(SKIPPED[place], 0);
    let skip = if skipped > 0 {
        format!(" --skip {skipped}")
    } else {
        String::new()
    };
    format!("workload {name} --seed {seed} {turns} --switches {switches}{skip}")
}

/// Returns the command line of Timesharing's first trial.
pub(crate) fn timesharing_line(site: &Site<'_>) -> String {
    trial_line(site, &SETS[0], 1)
}

/// Returns the steps that reproduce the paper. Each trial of a set of programs is one step, which
/// simulates the same references on all four designs.
pub(crate) fn steps(site: &Site<'_>) -> Vec<Step> {
    let (trials, switches) = site
        .effort
        .choose((TRIALS, SWITCHES[0]), (1, QUICK_SWITCHES));
    let one =
        |set: &Set, trial: u64| Step::new(step_name(set, trial), &trial_line(site, set, trial));
    let of_set = |set| (1..=trials).map(move |trial| one(set, trial));
    let mut steps: Vec<Step> = SETS.iter().flat_map(of_set).collect();
    let seed = seed(site, 1);
    steps.extend([
        Step::new(
            WAYS_STEP,
            &format!(
                "workload client-server --seed {seed} --switches {switches} --design mogul-1a,mogul-2a,mogul-2b --vary caches.ways=1,2"
            ),
        ),
        Step::new(
            SIZES_STEP,
            &format!(
                "workload timesharing --seed {seed} {} --switches {} --design mogul-1a --vary L1I+L1D.size={SIZES}",
                SETS[0].turns.flags(),
                switches.min(SIZES_SWITCHES)
            ),
        ),
    ]);
    steps.extend(free::steps(site));
    steps.extend(disk::steps(site));
    if site.has_guest {
        steps.extend(with_kernel::steps(site));
    }
    steps
}

/// A trial of a benchmark set: its step, its number and its results.
struct Trial<'a> {
    step: String,
    number: u64,
    head: &'a Simulation,
    findings: &'a Findings,
}

impl<'a> Trial<'a> {
    fn design(&self, name: &str) -> Option<&'a DesignFinding> {
        let full = format!("mogul-{name}");
        self.findings
            .designs
            .iter()
            .find(|design| design.name == full)
    }

    fn switches(&self) -> u64 {
        self.head.trace.voluntary_switches + self.head.trace.involuntary_switches
    }
}

/// Returns the trials of a set of programs that have results, or the reason why none has.
fn trials<'a>(records: &'a Records, set: &Set) -> Outcome<Vec<Trial<'a>>> {
    trials_named(records, TRIALS, |trial| step_name(set, trial))
}

/// Returns the trials that have results, up to `most`, from the steps with the given names; the
/// reason if none has.
fn trials_named(
    records: &Records,
    most: u64,
    name: impl Fn(u64) -> String,
) -> Outcome<Vec<Trial<'_>>> {
    let one = |number: u64| {
        let step = name(number);
        let (head, findings) = records.simulated(&step)?;
        Ok(Trial {
            step,
            number,
            head,
            findings,
        })
    };
    let (there, missing): (Vec<_>, Vec<_>) = (1..=most).map(one).partition(Result::is_ok);
    let why = missing
        .into_iter()
        .find_map(Result::err)
        .unwrap_or_default();
    if there.is_empty() {
        Err(why)
    } else {
        Ok(there.into_iter().flatten().collect())
    }
}

/// Returns the first trial of a set of programs, with its findings on a design.
fn first<'a>(
    records: &'a Records,
    set: usize,
    design: &str,
) -> Outcome<(Trial<'a>, &'a DesignFinding)> {
    let trial = trials(records, &SETS[set])?
        .into_iter()
        .next()
        .ok_or("no trial")?;
    let found = trial
        .design(design)
        .ok_or(format!("the record has no design mogul-{design}"))?;
    Ok((trial, found))
}

/// Returns the findings on a design for each trial of a set of programs.
fn design_of_trials<'a>(
    records: &'a Records,
    set: usize,
    design: &str,
) -> Outcome<Vec<&'a DesignFinding>> {
    let found: Vec<_> = trials(records, &SETS[set])?
        .iter()
        .filter_map(|trial| trial.design(design))
        .collect();
    require(
        found,
        1,
        format!("the records have no design mogul-{design}"),
    )
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the mean overhead ratio on a design over the trials of a set of programs.
fn overhead(records: &Records, set: usize, design: &str) -> Outcome<f64> {
    let found = design_of_trials(records, set, design)?;
    mean(
        found
            .iter()
            .filter_map(|design| design.table_4_overhead.estimate),
    )
    .ok_or_else(|| "no overhead is available".to_owned())
}

/// Returns the mean of a published number over the paper's trials with one set of programs and one
/// design.
fn published(set: &str, design: &str, of: impl Fn(&crate::published::Trial) -> f64) -> f64 {
    let rows = crate::published::mogul_table_4();
    let found = rows
        .iter()
        .filter(|row| row.benchmark_set == set && row.design == design);
    mean(found.map(of)).unwrap_or(f64::NAN)
}

pub(crate) use free::variants;
pub(crate) use quantities::quantities;

pub(crate) fn exhibits(records: &Records) -> Vec<Exhibit> {
    let mut exhibits = programs::exhibits(records);
    exhibits.push(designs::table_3(records));
    exhibits.extend(table_4::exhibits(records));
    exhibits.push(free::exhibit(records));
    exhibits.push(length::exhibit(records));
    exhibits.push(single::exhibit(records));
    exhibits.extend(curves::exhibits(records));
    exhibits.extend(disk::exhibits(records));
    exhibits.extend(overhead::exhibits(records));
    exhibits.push(with_kernel::exhibit(records));
    exhibits.push(discussion::exhibit(records));
    exhibits
}

#[cfg(test)]
pub(crate) mod tests;
