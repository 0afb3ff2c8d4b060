//! Stores evidence from earlier runs about this machine's core, next to the folder of records: the
//! speed of additions on an unshared core, and the cost of sharing the core. A run whose core is
//! shared throughout cannot find these values itself.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use switchcost_analysis::CoreSharing;
use switchcost_record::trust::open_found;
use switchcost_record::{CoreClock, HostManifest, MeasureRecord, SharedCost};

use crate::home;
use crate::messages::say;

const SCHEMA: &str = "switchcost-core-sharing/1";

/// Maximum number of stored runs. Only the newest are kept, so that a virtual machine that has
/// moved to another processor forgets the old one.
const RUNS: usize = 16;

/// Maximum size of the file, in bytes.
const LONGEST: u64 = 1 << 20;

/// Largest ratio between the results of two runs that confirm each other. A single result may be
/// due to chance.
const AGREE_WITHIN: f64 = 1.03;

#[derive(Debug, Default, Serialize, Deserialize)]
struct History {
    schema: String,
    /// Evidence from each run of `measure` on this machine, newest last.
    runs: Vec<Run>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Run {
    started_at: String,
    seed: u64,
    core: Core,
    least_per_mille: u32,
    shared_costs: Vec<SharedCost>,
}

/// Kind of core, and parameters of the probe that measured it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Core {
    hostname: String,
    model: Option<String>,
    chain_length: u32,
    additions: u32,
}

impl Core {
    fn new(host: &HostManifest, clock: &CoreClock) -> Core {
        let model = host.cpu_model.known().cloned();
        let (chain_length, additions) = (clock.chain_length, clock.additions);
        Core {
            hostname: host.hostname.clone(),
            model,
            chain_length,
            additions,
        }
    }
}

/// Adds the evidence of earlier runs on the same kind of core to the facts about the core's clock.
/// The built-in table of cores has precedence.
pub(crate) fn recall(host: &HostManifest, clock: &mut CoreClock) {
    let Some(path) = path() else { return };
    let history = read(&path).unwrap_or_else(|error| {
        say!(
            "cannot read {} ({error}), which helps to recognize a core that is always shared; delete it to start again",
            path.display()
        );
        History::default()
    });
    history.recall(&Core::new(host, clock), clock);
}

/// Stores the evidence of a run. A failure to store does not affect the run.
pub(crate) fn keep(record: &MeasureRecord, sharing: CoreSharing) {
    let (Some(path), clock) = (path(), &record.header.core_clock) else {
        return;
    };
    let mut history = read(&path).unwrap_or_default();
    let CoreSharing {
        least_per_mille,
        shared_costs,
    } = sharing;
    let core = Core::new(&record.header.host, clock);
    let started_at = record.header.started_at.clone();
    history.add(Run {
        started_at,
        seed: record.header.seed,
        core,
        least_per_mille,
        shared_costs,
    });
    // A home may be read-only. This was reported when the path of the record was chosen.
    let _ = write(&path, &history);
}

impl History {
    fn recall(&self, core: &Core, clock: &mut CoreClock) {
        let runs = || self.runs.iter().filter(|run| run.core == *core);
        let mut least: Vec<u32> = runs().map(|run| run.least_per_mille).collect();
        least.sort_unstable();
        let agreed = least
            .windows(2)
            .find(|pair| f64::from(pair[1]) <= f64::from(pair[0]) * AGREE_WITHIN);
        clock.unshared_per_mille = clock.unshared_per_mille.or(agreed.map(|pair| pair[0]));
        clock.shared_costs = runs()
            .flat_map(|run| run.shared_costs.iter().copied())
            .collect();
    }

    fn add(&mut self, run: Run) {
        self.schema = SCHEMA.to_owned();
        self.runs
            .retain(|kept| (&kept.started_at, kept.seed) != (&run.started_at, run.seed));
        self.runs.push(run);
        let surplus = self.runs.len().saturating_sub(RUNS);
        self.runs.drain(..surplus);
    }
}

/// Returns the path of the file, next to the folder of records; `None` without a state folder.
fn path() -> Option<PathBuf> {
    Some(super::folder().ok()?.with_file_name("core-sharing.json"))
}

/// Reads the stored runs. A missing file gives an empty history.
fn read(path: &Path) -> io::Result<History> {
    let file = match open_found(path) {
        Ok(file) => file,
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(History::default());
        }
        Err(error) => return Err(error),
    };
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text)?;
    let history: History = serde_json::from_str(&text)?;
    if history.schema != SCHEMA {
        return Err(io::Error::other(format!("its schema is not {SCHEMA}")));
    }
    Ok(history)
}

/// Writes the stored runs atomically.
fn write(path: &Path, history: &History) -> io::Result<()> {
    let mut text = serde_json::to_vec_pretty(history)?;
    text.push(b'\n');
    home::keep(path, &text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchcost_units::Ticks;

    fn core(hostname: &str) -> Core {
        Core {
            hostname: hostname.to_owned(),
            model: None,
            chain_length: 600,
            additions: 3600,
        }
    }

    fn run(hostname: &str, (seed, least_per_mille): (u64, u32)) -> Run {
        Run {
            started_at: "2026-01-01T00:00:00Z".to_owned(),
            seed,
            core: core(hostname),
            least_per_mille,
            shared_costs: vec![SharedCost {
                ratio_per_mille: 600,
                cost_per_mille: 1300,
            }],
        }
    }

    /// Returns the facts about the core of the machine `here` after `runs` on the machine
    /// `hostname`. Each run has a seed and its least sharing ratio, in thousandths.
    fn recalled(hostname: &str, runs: &[(u64, u32)], known: Option<u32>) -> CoreClock {
        let mut history = History::default();
        runs.iter().for_each(|of| history.add(run(hostname, *of)));
        let mut clock = CoreClock {
            chain_length: 600,
            multiplication_cycles: Some(3),
            additions: 3600,
            overhead_ticks: Ticks(0),
            unshared_per_mille: known,
            counter: None,
            shared_costs: Vec::new(),
        };
        history.recall(&core("here"), &mut clock);
        clock
    }

    #[test]
    fn two_runs_that_agree_show_what_a_core_can_do() {
        let many: Vec<_> = (2..2 + RUNS as u64).map(|seed| (seed, 430)).collect();
        let many = [&[(0, 380), (1, 380)], &many[..]].concat();
        for (what, runs, known, expected) in [
            (
                "that of one run alone is luck",
                &[(1, 380), (2, 430), (3, 600), (4, 433)][..],
                None,
                Some(430),
            ),
            ("one run", &[(1, 380)], None, None),
            ("a run counts once", &[(1, 380), (1, 380)], None, None),
            (
                "what is known stands before what was seen",
                &[(1, 380), (2, 380)],
                Some(440),
                Some(440),
            ),
            ("old ones are forgotten", &many, None, Some(430)),
        ] {
            let clock = recalled("here", runs, known);
            assert_eq!(clock.unshared_per_mille, expected, "{what}");
        }
        assert_eq!(
            recalled("here", &[(1, 380), (2, 430)], None)
                .shared_costs
                .len(),
            2
        );
        let others = recalled("there", &[(1, 380), (2, 380)], None);
        assert_eq!(
            (others.unshared_per_mille, others.shared_costs),
            (None, vec![])
        );
    }

    #[test]
    fn a_file_comes_back_as_it_was_written_and_another_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("state/core-sharing.json");
        assert!(read(&path).expect("none yet").runs.is_empty());
        let mut history = History::default();
        history.add(run("here", (1, 430)));
        write(&path, &history).expect("written");
        assert_eq!(read(&path).expect("read").runs, history.runs);
        for text in ["", "{\"schema\":\"another/1\",\"runs\":[]}", "[1,2"] {
            std::fs::write(&path, text).expect("written");
            assert!(read(&path).is_err(), "{text}");
        }
    }
}
