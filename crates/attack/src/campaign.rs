//! Runs many trials of each kind of attack, a few at a time, until all are done or the time is up.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Instant, SystemTime};

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::outcome::Outcome;
use crate::place::Place;
use crate::sample;

/// A kind of attack. The name of a trial determines everything that happens in the trial.
pub(crate) trait Kind: Sync {
    /// Returns the first part of the names of this kind's trials.
    fn name(&self) -> &'static str;

    /// Returns the size of a sample that represents all trials of this kind.
    fn sample(&self) -> Sample;

    /// Returns names of trials, in any order. Only names that contain `matching` are needed. All
    /// random choices come from `random`.
    fn draw(&self, place: &Place, matching: &str, random: &mut ChaCha8Rng) -> Vec<String>;

    /// Carries out one trial. `parts` are the parts of the trial's name after the name of the kind.
    /// Returns an error if no trial has this name.
    fn attempt(&self, place: &Place, parts: &[&str]) -> Result<Outcome, String>;
}

/// Size of a sample that represents all trials of a kind. All trials would take hours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sample {
    All,
    /// At least this many trials for each first part and for each second part of the names.
    OfEachPart(usize),
    /// At least this many trials for each combination of a first and a second part of the names.
    OfEachPair(usize),
}

impl Sample {
    /// Keeps the first names that together give the sample, and removes the others.
    fn take(self, names: &mut Vec<String>) {
        let (least, is_of_pairs) = match self {
            Sample::All => return,
            Sample::OfEachPart(least) => (least, false),
            Sample::OfEachPair(least) => (least, true),
        };
        let mut taken: BTreeMap<String, usize> = BTreeMap::new();
        names.retain(|name| {
            let mut parts = name.split('/').skip(1);
            let (first, second) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
            let groups = if is_of_pairs {
                vec![format!("{first}/{second}")]
            } else {
                vec![format!("{first}/"), format!("/{second}")]
            };
            let is_wanted = groups
                .iter()
                .any(|group| taken.get(group).is_none_or(|taken| *taken < least));
            for group in groups.into_iter().filter(|_| is_wanted) {
                *taken.entry(group).or_default() += 1;
            }
            is_wanted
        });
    }
}

pub(crate) struct Campaign {
    pub(crate) program: PathBuf,
    pub(crate) seed: u64,
    /// Text that the name of each trial must contain.
    pub(crate) matching: String,
    /// Whether a sample of each kind's trials suffices.
    pub(crate) is_sampled: bool,
    /// Number of repetitions of all trials, each with new random choices.
    pub(crate) times: u32,
    pub(crate) at_once: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Count {
    kind: &'static str,
    passed: usize,
    pub(crate) failed: usize,
    /// Reasons why trials attacked nothing, with the number of trials for each.
    untried: BTreeMap<String, usize>,
    /// Number of trials that were not run for lack of time.
    late: usize,
}

pub(crate) fn time_of_day() -> u64 {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |time| time.as_secs())
}

impl Campaign {
    /// Runs the trials of a kind until all are done or the time `until` has come.
    pub(crate) fn attack(&self, kind: &dyn Kind, until: Instant) -> Result<Count, String> {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        let place = sample::place(&self.program)?;
        let mut names: Vec<String> = (0..self.times)
            .flat_map(|_| kind.draw(&place, &self.matching, &mut random))
            .collect();
        drop(place);
        names.retain(|name| name.contains(&self.matching));
        names.shuffle(&mut random);
        let all = names.len();
        if self.is_sampled {
            kind.sample().take(&mut names);
        }
        println!("{}: {} of {all} trials", kind.name(), names.len());
        let (names, count) = (
            Mutex::new(names),
            Mutex::new(Count {
                kind: kind.name(),
                ..Count::default()
            }),
        );
        std::thread::scope(|scope| {
            let worker = || self.work(kind, until, &names, &count);
            let workers: Vec<_> = (0..self.at_once).map(|_| scope.spawn(worker)).collect();
            workers
                .into_iter()
                .try_for_each(|worker| worker.join().expect("it does not panic"))
        })?;
        let mut count = count.into_inner().unwrap_or_else(PoisonError::into_inner);
        count.late = names
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .len();
        Ok(count)
    }

    fn work(
        &self,
        kind: &dyn Kind,
        until: Instant,
        names: &Mutex<Vec<String>>,
        count: &Mutex<Count>,
    ) -> Result<(), String> {
        let place = sample::place(&self.program)?;
        // At least one trial runs, however late it is.
        loop {
            let Some(name) = names.lock().unwrap_or_else(PoisonError::into_inner).pop() else {
                return Ok(());
            };
            let outcome = attempt(kind, &place, &name)?;
            count
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .add(&name, outcome);
            if Instant::now() >= until {
                return Ok(());
            }
        }
    }

    /// Repeats the trial with this name, and reports it in full.
    pub(crate) fn repeat(&self, kind: &dyn Kind, name: &str) -> Result<Count, String> {
        let mut count = Count {
            kind: kind.name(),
            ..Count::default()
        };
        let outcome = attempt(kind, &sample::place(&self.program)?, name)?;
        match &outcome {
            Outcome::Passed => println!("passed: {name}"),
            Outcome::Untried(why) => println!("not tried: {name}: {why}"),
            Outcome::Failed(_) => {}
        }
        count.add(name, outcome);
        Ok(count)
    }
}

fn attempt(kind: &dyn Kind, place: &Place, name: &str) -> Result<Outcome, String> {
    place.clear();
    let parts: Vec<&str> = name.split('/').skip(1).collect();
    kind.attempt(place, &parts)
}

impl Count {
    fn add(&mut self, name: &str, outcome: Outcome) {
        match outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::Untried(why) => *self.untried.entry(why).or_default() += 1,
            Outcome::Failed(why) => {
                self.failed += 1;
                println!("failed: {name}: {why}\n  again: make attack ARGS=\"--trial {name}\"");
            }
        }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tried = self.passed + self.failed;
        write!(
            to,
            "{}: {tried} tried, {} passed, {} failed",
            self.kind, self.passed, self.failed
        )?;
        for (why, times) in &self.untried {
            write!(to, "; {times} not tried: {why}")?;
        }
        if self.late > 0 {
            write!(to, "; no time for {}", self.late)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(sample: Sample) -> Vec<String> {
        let mut names = Vec::new();
        for environment in ["full", "closed", "nowhere"] {
            for verb in ["measure", "report"] {
                names.extend((0..4).map(|moment| format!("kind/{environment}/{verb}/{moment}")));
            }
        }
        sample.take(&mut names);
        names
    }

    #[test]
    fn a_sample_has_as_many_of_each_part_or_pair_as_it_says() {
        assert_eq!(taken(Sample::All).len(), 24);
        assert_eq!(
            taken(Sample::OfEachPart(2)),
            [
                "kind/full/measure/0",
                "kind/full/measure/1",
                "kind/full/report/0",
                "kind/full/report/1",
                "kind/closed/measure/0",
                "kind/closed/measure/1",
                "kind/nowhere/measure/0",
                "kind/nowhere/measure/1",
            ]
        );
        let pairs = taken(Sample::OfEachPair(1));
        assert_eq!(pairs.len(), 6);
        assert!(pairs.iter().all(|name| name.ends_with("/0")));
    }
}
