//! The order of time slices: which copy has the CPU, for how long, and when it is preempted.

use std::io;

use switchcost_record::injection::TwinRun;
use switchcost_units::{Nanos, TickRate, Ticks};

/// Starts, stops and preempts two copies. Tests use a script instead.
pub(crate) trait TwinControl {
    /// Lets a copy run when the CPU is free.
    fn let_run(&mut self, twin: usize) -> io::Result<()>;

    /// Releases the CPU for `time`, and returns the time for which it was released.
    fn give_cpu(&mut self, time: Nanos) -> io::Result<Ticks>;

    /// Whether a copy has ended.
    fn has_ended(&mut self, twin: usize) -> io::Result<bool>;

    /// Stops a copy of the program before the copy next runs.
    fn stop(&mut self, twin: usize) -> io::Result<()>;

    /// Preempts a copy. Returns the time for which the preemptor had the CPU.
    fn preempt(&mut self, twin: usize) -> io::Result<Ticks>;

    /// Returns the mean time of a chain of multiplications, in ticks, over `probes` chains.
    fn chain(&mut self, probes: u32) -> f64;

    /// Whether the run must end now.
    fn is_late(&self) -> bool;
}

/// Time slices of a run: their lengths, the periods between preemptions, and which copy is
/// preempted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turns {
    pub(crate) period: Nanos,
    pub(crate) turn: Nanos,
    pub(crate) preempted: usize,
    pub(crate) preempts_nobody: bool,
    pub(crate) lost: Nanos,
}

/// End of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TurnsEnd {
    /// Both copies of the command have ended.
    Ended,
    /// The time was over before both copies had ended.
    TooLong,
}

/// Number of chains of multiplications at each end of a time slice. A single chain would be
/// measured no finer than the clock's steps.
const AT_ENDS: u32 = 4;

impl Turns {
    /// Returns the number of parts into which preemptions divide a time slice.
    fn parts(&self) -> u64 {
        (self.turn.0 / self.period.0.max(1)).max(2)
    }

    /// Returns the lengths of the parts of a copy's time slice. The time slice of the preempted
    /// copy is longer by the cost of its preemptions, so that both copies make equal progress per
    /// time slice, and need the same number of them.
    fn parts_of(&self, twin: usize) -> Vec<Nanos> {
        let parts = self.parts();
        let preemptions = parts - 1;
        if twin != self.preempted || self.preempts_nobody {
            return vec![Nanos(self.period.0 * parts)];
        }
        let mut of_twin = vec![self.period; preemptions as usize];
        of_twin.push(self.period + Nanos(self.lost.0 * preemptions));
        of_twin
    }

    /// Returns the copy that has time slice `number`: 0 1 1 0, repeatedly, while both run; `None`
    /// if both have ended.
    fn owner(number: u64, has_ended: [bool; 2]) -> Option<usize> {
        let twin = usize::from(matches!(number % 4, 1 | 2));
        [twin, 1 - twin].into_iter().find(|twin| !has_ended[*twin])
    }
}

/// Sums over the time slices of one copy.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    turns: u64,
    ticks: u64,
    chains: f64,
    preemptions: u64,
    away: u64,
}

impl Tally {
    /// Adds a part of a time slice, between two readings of the core's clock (the times of a
    /// chain).
    fn add(&mut self, time: Ticks, before: f64, after: f64) {
        self.ticks += time.0;
        self.chains += time.0 as f64 * (1.0 / before + 1.0 / after) / 2.0;
    }

    pub(crate) fn run_tally(&self, rate: TickRate) -> TwinRun {
        let ps_per_tick = 1e12 / rate.0 as f64;
        let chain = if self.chains > 0.0 {
            self.ticks as f64 / self.chains
        } else {
            0.0
        };
        TwinRun {
            chain_ps: (chain * ps_per_tick).round() as u64,
            turns: self.turns,
            turns_ns: rate.nanos(Ticks(self.ticks)),
            preemptions: self.preemptions,
            away_ns: rate.nanos(Ticks(self.away)),
            ..TwinRun::default()
        }
    }
}

/// Gives time slices to both copies until they have ended, or the time is over. Returns how the run
/// ended, and the sums of each copy.
pub(crate) fn play(
    stage: &mut impl TwinControl,
    turns: &Turns,
) -> io::Result<(TurnsEnd, [Tally; 2])> {
    let mut tallies = [Tally::default(); 2];
    let mut has_ended = [false; 2];
    let mut number = 0;
    while let Some(twin) = Turns::owner(number, has_ended) {
        if stage.is_late() {
            return Ok((TurnsEnd::TooLong, tallies));
        }
        has_ended[twin] = turn(stage, turns, twin, &mut tallies[twin])?;
        number += 1;
    }
    Ok((TurnsEnd::Ended, tallies))
}

/// Gives one time slice to a copy. Returns whether the copy has ended during the time slice.
fn turn(
    stage: &mut impl TwinControl,
    turns: &Turns,
    twin: usize,
    tally: &mut Tally,
) -> io::Result<bool> {
    let parts = turns.parts_of(twin);
    let last = parts.len() - 1;
    tally.turns += 1;
    let mut before = stage.chain(AT_ENDS);
    stage.let_run(twin)?;
    for (place, part) in parts.into_iter().enumerate() {
        let time = stage.give_cpu(part)?;
        let after = stage.chain(if place == last { AT_ENDS } else { 1 });
        tally.add(time, before, after);
        before = after;
        if stage.has_ended(twin)? {
            return Ok(true);
        }
        if place < last {
            tally.away += stage.preempt(twin)?.0;
            tally.preemptions += 1;
        }
    }
    if turns.preempts_nobody && twin == turns.preempted {
        tally.preemptions += turns.parts() - 1;
    }
    stage.stop(twin)?;
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COST: u64 = 10_000;

    /// A script for two programs that need the given CPU times, on a CPU with 1 tick per
    /// nanosecond. A preemption costs [`COST`], and the beginning of a time slice five times as
    /// much.
    struct Scripted {
        needs: [u64; 2],
        running: usize,
        debt: u64,
        used: [u64; 2],
        order: Vec<usize>,
        until: u64,
    }

    impl Scripted {
        fn new(needs: u64) -> Scripted {
            Scripted {
                needs: [needs; 2],
                running: 0,
                debt: 0,
                used: [0; 2],
                order: Vec::new(),
                until: u64::MAX,
            }
        }
    }

    impl TwinControl for Scripted {
        fn let_run(&mut self, twin: usize) -> io::Result<()> {
            self.running = twin;
            self.debt = 5 * COST;
            self.order.push(twin);
            Ok(())
        }

        fn give_cpu(&mut self, time: Nanos) -> io::Result<Ticks> {
            let needs = &mut self.needs[self.running];
            let lost = self.debt.min(time.0);
            self.debt -= lost;
            let useful = (*needs).min(time.0 - lost);
            *needs -= useful;
            self.used[self.running] += useful + lost;
            Ok(Ticks(time.0))
        }

        fn has_ended(&mut self, twin: usize) -> io::Result<bool> {
            Ok(self.needs[twin] == 0)
        }

        fn stop(&mut self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn preempt(&mut self, _: usize) -> io::Result<Ticks> {
            self.debt += COST;
            Ok(Ticks(3))
        }

        fn chain(&mut self, _: u32) -> f64 {
            600.0
        }

        fn is_late(&self) -> bool {
            self.order.len() as u64 >= self.until
        }
    }

    fn turns(lost: u64) -> Turns {
        let (period, turn) = (Nanos::micros(250), Nanos::millis(8));
        Turns {
            period,
            turn,
            preempted: 1,
            preempts_nobody: false,
            lost: Nanos(lost),
        }
    }

    #[test]
    fn twins_take_turns_and_one_is_preempted() {
        let mut stage = Scripted::new(64_000_000);
        let (played, [first, second]) = play(&mut stage, &turns(0)).expect("scripted");
        assert_eq!(played, TurnsEnd::Ended);
        assert_eq!(&stage.order[..8], [0, 1, 1, 0, 0, 1, 1, 0]);
        assert_eq!((first.preemptions, first.away), (0, 0));
        // 31 preemptions in each whole time slice of 32 periods; a twin that ends in a time slice is not preempted any more.
        let whole = second.preemptions / 31;
        assert!(
            whole + 1 == second.turns || whole == second.turns,
            "{second:?}"
        );
        assert_eq!(second.away, 3 * second.preemptions);
        let run = second.run_tally(TickRate(1_000_000_000));
        assert_eq!((run.chain_ps, run.turns_ns.0), (600_000, second.ticks));
    }

    /// Shows that the cost at the beginning of time slices cancels, if the preempted copy's time
    /// slices are longer by the cost of their preemptions.
    #[test]
    fn with_turns_as_long_as_what_is_lost_the_cost_of_a_preemption_is_what_comes_out() {
        let cost = |lost| {
            let mut stage = Scripted::new(640_000_000);
            let (_, [_, second]) = play(&mut stage, &turns(lost)).expect("scripted");
            (stage.used[1] - stage.used[0]) as f64 / second.preemptions as f64
        };
        let (unequal, equal) = (cost(0), cost(COST));
        assert!((equal / COST as f64 - 1.0).abs() < 0.002, "{equal}");
        assert!(
            (unequal / COST as f64 - 1.0).abs() > 0.002,
            "nothing to mend: {unequal}"
        );
    }

    #[test]
    fn where_no_process_is_preempted_it_is_reported_how_often_it_would_have_been() {
        let mut stage = Scripted::new(64_000_000);
        let undisturbed = Turns {
            preempts_nobody: true,
            ..turns(0)
        };
        let (_, [first, second]) = play(&mut stage, &undisturbed).expect("scripted");
        assert_eq!((first.away, second.away, first.preemptions), (0, 0, 0));
        assert_eq!(stage.used[0], stage.used[1]);
        assert_eq!(second.preemptions, 31 * (second.turns - 1));
    }

    #[test]
    fn whoever_takes_too_long_is_given_up() {
        let mut stage = Scripted {
            until: 5,
            ..Scripted::new(u64::MAX)
        };
        let (played, _) = play(&mut stage, &turns(0)).expect("scripted");
        assert_eq!((played, stage.order.len()), (TurnsEnd::TooLong, 5));
    }

    #[test]
    fn the_harmonic_mean_is_of_the_speed() {
        let mut tally = Tally::default();
        // Half of the time at twice the speed: 1.5 times as many chains.
        tally.add(Ticks(600_000), 600.0, 600.0);
        tally.add(Ticks(600_000), 300.0, 300.0);
        assert_eq!(tally.run_tally(TickRate(1_000_000_000)).chain_ps, 400_000);
    }
}
