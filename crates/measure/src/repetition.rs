//! One repetition of one case, in a process of its own: sets up the experiment, calibrates the length of a batch, and
//! runs all arms in random order.

use std::io::{self, BufRead, Write};
use std::time::Duration;

use host::clock::monotonic;
use host::evidence::TaskId;
use host::perf::{CounterSet, Event, System};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use record::{Arm, Mechanism, Policy, Sample};
use units::Nanos;

use crate::controls::Discipline;
use crate::experiment::{Batch, Experiment, Timed, Watch};
use crate::preempt::Preemption;
use crate::protocol::{BatchRounds, Message, Order};
use crate::ring::Ring;
use crate::user;

/// How many single hand-offs a repetition times.
const SINGLE_HANDOFFS: u64 = 300;

/// Batches of each arm where a round is short; fewer where one round alone is long.
const BATCHES: u32 = 4;

/// Reads one order, runs it, and writes samples as they are taken.
///
/// Errors: only where the order cannot be read or nobody takes the answer; what goes wrong with the experiment is an
/// answer too.
pub fn serve(input: impl BufRead, output: impl Write) -> io::Result<()> {
    let order: Order = serde_json::from_reader(input)?;
    let mut speaker = Speaker { output };
    let ending = match Repetition::start(&order) {
        Ok(mut repetition) => repetition.run(&mut speaker),
        Err(why) => Err(why),
    };
    speaker.say(&match ending {
        Ok(rounds) => Message::Done(rounds),
        Err(why) => Message::Refused(why),
    })
}

struct Speaker<W> {
    output: W,
}

impl<W: Write> Speaker<W> {
    fn say(&mut self, message: &Message) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        self.output.write_all(&line)?;
        self.output.flush()
    }
}

struct Repetition<'a> {
    order: &'a Order,
    experiment: Box<dyn Experiment>,
    watch: Watch,
    position: u32,
    /// When the CPU was last left to others.
    busy_since: Nanos,
}

impl<'a> Repetition<'a> {
    fn start(order: &'a Order) -> Result<Self, String> {
        let experiment = start_experiment(order)?;
        let mut cpus = order.case.placement.cpus.clone();
        cpus.sort_unstable();
        cpus.dedup();
        let watch = Watch::new(order.clock, order.rate, &cpus, &experiment.tasks())
            .map_err(|error| format!("found no account of the tasks in /proc ({error}), need it to count switches"))?;
        Ok(Repetition { order, experiment, watch, position: 0, busy_since: monotonic() })
    }

    fn run<W: Write>(&mut self, speaker: &mut Speaker<W>) -> Result<BatchRounds, String> {
        let rounds = self.calibrate().map_err(broken)?;
        for batch in self.batches(rounds) {
            let timed = self.experiment.run(batch, &mut self.watch).map_err(broken)?;
            self.report(speaker, batch.arm, timed, Vec::new())?;
        }
        self.time_single_handoffs(speaker)?;
        self.count(speaker, rounds)?;
        Ok(rounds)
    }

    /// Every arm of the case several times, in the order that the seed gives.
    fn batches(&self, rounds: BatchRounds) -> Vec<Batch> {
        let mut batches = Vec::new();
        for arm in arms(self.order) {
            let copies = if rounds.of(arm) >= 8 { BATCHES } else { BATCHES / 2 };
            batches.extend((0..copies).map(|_| batch_of(arm, rounds.of(arm))));
        }
        batches.shuffle(&mut ChaCha8Rng::seed_from_u64(self.order.seed));
        batches
    }

    fn report<W: Write>(
        &mut self,
        speaker: &mut Speaker<W>,
        arm: Arm,
        timed: Timed,
        handoff_ticks: Vec<u32>,
    ) -> Result<(), String> {
        let end = monotonic().saturating_sub(self.order.run_start);
        let sample = Sample {
            case: self.order.case_index,
            repetition: self.order.repetition,
            position: self.position,
            arm,
            at_ns: end.saturating_sub(timed.evidence.wall_ns),
            handoffs: timed.handoffs,
            ticks: timed.ticks,
            kernel_switches: timed.kernel_switches,
            user_switches: timed.user_switches,
            evidence: timed.evidence,
            counters: timed.counters,
            handoff_ticks,
        };
        self.position += 1;
        speaker.say(&Message::Sample(Box::new(sample))).map_err(broken)?;
        self.rest();
        Ok(())
    }

    /// Leaves the CPU to the rest of the machine for an eighth of the time it was taken for: together with the
    /// kernel's own budget for real-time tasks, 95 % of each second by default, this keeps clear of its throttle.
    fn rest(&mut self) {
        if self.order.case.policy != Policy::Other {
            let taken = monotonic().saturating_sub(self.busy_since);
            std::thread::sleep(Duration::from_nanos(taken.0 / 8));
            self.busy_since = monotonic();
        }
    }

    fn time_single_handoffs<W: Write>(&mut self, speaker: &mut Speaker<W>) -> Result<(), String> {
        if !self.order.case.placement.is_one_cpu() || !self.order.case.working_set.is_empty() {
            return Ok(());
        }
        match self.experiment.single_handoffs(SINGLE_HANDOFFS, &mut self.watch).map_err(broken)? {
            Some((timed, handoffs)) => self.report(speaker, Arm::SwitchDirect, timed, handoffs),
            None => Ok(()),
        }
    }

    /// One more batch of each arm for each share of the counters; they cost time, so these batches give counts only.
    fn count<W: Write>(&mut self, speaker: &mut Speaker<W>, rounds: BatchRounds) -> Result<(), String> {
        let threads: Vec<i32> = self.experiment.tasks().iter().map(TaskId::thread).collect();
        for share in &self.order.counters {
            let events: Vec<Event> = share.iter().filter_map(|name| name.parse().ok()).collect();
            // A machine may run out of counters or descriptors for many tasks: the times stand without the counts.
            let Ok(counters) = CounterSet::open(&System, &events, &threads) else { continue };
            self.watch.start_counting(counters);
            for arm in arms(self.order) {
                let timed = self.experiment.run(batch_of(arm, rounds.of(arm)), &mut self.watch).map_err(broken)?;
                self.report(speaker, arm, timed, Vec::new())?;
            }
        }
        Ok(())
    }

    fn calibrate(&mut self) -> io::Result<BatchRounds> {
        let mut rounds = self.order.rounds;
        for arm in arms(self.order) {
            if rounds.of(arm) == 0 {
                rounds.set(arm, self.rounds_for(arm)?);
            }
        }
        Ok(rounds)
    }

    /// Doubles the rounds until a batch is long enough to be scaled to the intended length.
    fn rounds_for(&mut self, arm: Arm) -> io::Result<u64> {
        if let Some(rounds) = self.experiment.fixed_rounds(arm) {
            return Ok(rounds);
        }
        // The same for every arm: batches of unequal length would hold a timer tick unequally often.
        let intended = self.order.batch_ns;
        let mut rounds = 1;
        loop {
            let batch = Batch { arm, rounds, warm_up: 1 };
            let wall = self.experiment.time_roughly(batch, &mut self.watch)?;
            self.rest();
            if wall.0 * 8 >= intended.0 || rounds >= 1 << 30 {
                return Ok((rounds * intended.0 / wall.0.max(1)).max(1));
            }
            rounds *= if wall.0 * 64 < intended.0 { 8 } else { 2 };
        }
    }
}

fn broken(error: io::Error) -> String {
    format!("found the experiment broken off ({error}), need it to run to its end; run it again")
}

fn batch_of(arm: Arm, rounds: u64) -> Batch {
    Batch { arm, rounds, warm_up: (rounds / 20).max(1) }
}

fn arms(order: &Order) -> Vec<Arm> {
    if order.case.working_set.is_empty() {
        vec![Arm::BaselineDirect, Arm::SwitchDirect]
    } else {
        vec![Arm::BaselineDirect, Arm::SwitchDirect, Arm::BaselineTotal, Arm::SwitchTotal]
    }
}

fn start_experiment(order: &Order) -> Result<Box<dyn Experiment>, String> {
    use Mechanism::*;
    let case = &order.case;
    let discipline = Discipline {
        cpus: case.placement.cpus.clone(),
        policy: case.policy,
        steps_below_top: 1,
        locks_memory: order.locks_memory,
    };
    Ok(match case.mechanism {
        Pipe | Eventfd | Futex | MutexCondvar | MutexCondvarUnlocked | Socketpair | Tcp | PosixSem | PosixMq
        | Signal | Yield => Box::new(Ring::start(case, &discipline, order.clock, order.seed)?),
        Preempt => Box::new(Preemption::start(case, &discipline, order.clock, order.seed)?),
        Fiber | Ucontext | Green | GreenPreempt | Async | Synthetic => user::start(order, &discipline)?,
    })
}
