//! Runs one repetition of one case in its own process: sets up the experiment, calibrates the
//! length of a batch, and runs cycles of short batches in which the arms alternate.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::time::Duration;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use switchcost_host::clock::{Clock, monotonic};
use switchcost_host::core_clock::{self, Count, CycleSource, RunningCounter};
use switchcost_host::evidence::TaskId;
use switchcost_host::perf::{CounterSet, Event, Scope, System};
use switchcost_record::{
    Arm, Batches, Between, Case, CountedHandoffs, Cycles, Evidence, Family, KernelSwitches,
    RuntimeRun, Sample,
};
use switchcost_units::{CpuId, Nanos, Ticks};

use crate::at_once::AtOnce;
use crate::controls::TaskControls;
use crate::experiment::{Batch, Experiment, Split, Timed, Watch};
use crate::placement_noise::PlacementNoise;
use crate::preempt::Preemption;
use crate::protocol::{BatchRounds, Message, Order};
use crate::ring::Ring;
use crate::round::Preparation;
use crate::runtime::Runtimes;
use crate::user;

/// Number of single hand-offs that a repetition times.
const SINGLE_HANDOFFS: u64 = 300;

/// Time after which a window ends, as soon as its current round is complete. Real-time tasks pause
/// between windows, because the kernel lets them run for only 950 ms of each second by default.
const WINDOW: Nanos = Nanos::millis(25);

/// Number of batches that are timed for each number of rounds that is tried.
const CALIBRATION_BATCHES: u32 = 5;

/// Number of walks after a switch when the reload of a working set is measured. The last three
/// count as settled: the noise of a single settled walk would be in every difference.
const WALKS_A_VISIT: u32 = 8;

/// Ratio of the rounds of a long batch for counters to those of a usual batch, unless batches are
/// already long.
const COUNTED_BATCHES: u64 = 16;

/// Least number of rounds of a long batch for counters without walks, because the starts of batches
/// differ by some hundred instructions.
const LEAST_COUNTED_ROUNDS: u64 = 256;

/// Reads one order, runs it, and writes samples as they are taken.
///
/// # Errors
///
/// If the order cannot be read, or the answer cannot be written. A failure of the experiment is an
/// answer, too.
pub fn serve(input: impl BufRead, output: impl Write) -> io::Result<()> {
    let order: Order = serde_json::from_reader(input)?;
    let mut messages = MessageWriter { output };
    let ending = match Repetition::start(&order) {
        Ok(mut repetition) => repetition.run(&mut messages),
        Err(why) => Err(why),
    };
    messages.say(&match ending {
        Ok(rounds) => Message::Done(rounds),
        Err(why) => Message::Refused(why),
    })
}

struct MessageWriter<W> {
    output: W,
}

impl<W: Write> MessageWriter<W> {
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
    random: ChaCha8Rng,
    position: u32,
    /// Time since which other tasks have not had the CPU.
    busy_since: Nanos,
    core_counter: Option<Box<dyn RunningCounter>>,
    preparation: Preparation,
    _placement_noise: PlacementNoise,
}

impl<'a> Repetition<'a> {
    fn start(order: &'a Order) -> Result<Self, String> {
        let mut random = ChaCha8Rng::seed_from_u64(order.seed);
        let placement_noise = PlacementNoise::draw(&mut random);
        let experiment = start_experiment(order)?;
        let cpus = cpus_of(&order.case);
        let watch = Watch::new(order.clock, &cpus, &experiment.tasks()).map_err(|error| {
            format!("the tasks' counters of switches in /proc cannot be read ({error})")
        })?;
        let busy_since = monotonic();
        let core_counter = counter_of_core(order);
        let preparation = Preparation::new(&order.batches)?;
        Ok(Repetition {
            order,
            experiment,
            watch,
            random,
            position: 0,
            busy_since,
            core_counter,
            preparation,
            _placement_noise: placement_noise,
        })
    }

    fn run<W: Write>(&mut self, messages: &mut MessageWriter<W>) -> Result<BatchRounds, String> {
        if self.order.case.away.is_some() {
            // A visit needs no calibration, and none of its arms can count events.
            self.cycles(messages, self.order.rounds)?;
            return Ok(self.order.rounds);
        }
        let rounds = self.calibrate().map_err(broken)?;
        let cycles = self.cycles(messages, rounds);
        if let Some(reported) = self.experiment.runtime_run() {
            let (case, repetition) = (self.order.case_index, self.order.repetition);
            messages
                .say(&Message::Runtime(Box::new(RuntimeRun {
                    case,
                    repetition,
                    ..reported
                })))
                .map_err(broken)?;
        }
        cycles?;
        self.time_single_handoffs(messages)?;
        self.count(messages, rounds)?;
        Ok(rounds)
    }

    /// Runs rounds until the repetition has used up its time, in windows that fit the kernel's
    /// budget for real-time tasks.
    fn cycles<W: Write>(
        &mut self,
        messages: &mut MessageWriter<W>,
        rounds: BatchRounds,
    ) -> Result<(), String> {
        let start = monotonic();
        let is_over = |limit: Nanos, since: Nanos| monotonic().saturating_sub(since) >= limit;
        loop {
            let window = self.window(rounds, |since| {
                is_over(WINDOW.min(self.order.repetition_ns), since)
            });
            messages
                .say(&Message::Cycles(Box::new(window.map_err(broken)?)))
                .map_err(broken)?;
            if is_over(self.order.repetition_ns, start) {
                return Ok(());
            }
        }
    }

    /// Runs consecutive rounds as one window, for which evidence is read once. The first round is
    /// discarded, because reading the evidence evicts the tasks' data and code from the caches.
    fn window(
        &mut self,
        rounds: BatchRounds,
        is_over: impl Fn(Nanos) -> bool,
    ) -> io::Result<Cycles> {
        let (order, experiment, random) = (self.order, &mut self.experiment, &mut self.random);
        let preparation = &self.preparation;
        let mut core = Core {
            clock: order.clock,
            counter: &mut self.core_counter,
            preparation,
            last: None,
        };
        let start = monotonic();
        let (taken, mut evidence, kernel_switches) = self.watch.around(|| {
            let mut taken = Taken::default();
            let core = &mut core;
            match order.case.away {
                Some(_) => taken
                    .visited(experiment.visit(WALKS_A_VISIT, &mut || ())?)
                    .clear(),
                None => taken.warm_up(
                    experiment.as_mut(),
                    &batches_of_cycle(order, rounds, random),
                )?,
            }
            loop {
                match order.case.away {
                    Some(_) => taken.visit(core, experiment.as_mut())?,
                    None => taken.cycle(
                        core,
                        experiment.as_mut(),
                        batches_of_cycle(order, rounds, random),
                    )?,
                }
                if is_over(start) {
                    core.probe(&mut taken.batches);
                    return Ok(taken);
                }
            }
        })?;
        evidence.is_clock_backwards = taken.is_clock_backwards;
        let end = monotonic().saturating_sub(order.run_start);
        let opened = end.saturating_sub(evidence.wall_ns);
        // The tasks themselves paused for this time, so no other task took it.
        evidence.wall_ns = evidence.wall_ns.saturating_sub(taken.paused);
        self.rest();
        Ok(Cycles {
            case: order.case_index,
            repetition: order.repetition,
            at_ns: opened,
            batches_per_cycle: if order.case.away.is_some() {
                WALKS_A_VISIT
            } else {
                3 * levels(order).len() as u32
            },
            switching_handoffs: taken.switching_handoffs,
            control_switches: taken.control_switches,
            kernel_switches,
            user_switches: taken.user_switches,
            counted: Some(taken.counted).filter(|counted| counted.handoffs > 0),
            evidence,
            batches: taken.batches.drop_partial_counts(),
        })
    }

    fn report<W: Write>(
        &mut self,
        messages: &mut MessageWriter<W>,
        sample: Sample,
    ) -> Result<(), String> {
        self.position += 1;
        messages
            .say(&Message::Sample(Box::new(sample)))
            .map_err(broken)?;
        self.rest();
        Ok(())
    }

    /// Makes the record of a batch that was run for counters or single hand-offs.
    fn sample(
        &self,
        arm: Arm,
        timed: Timed,
        evidence: Evidence,
        kernel_switches: KernelSwitches,
    ) -> Sample {
        let end = monotonic().saturating_sub(self.order.run_start);
        Sample {
            case: self.order.case_index,
            repetition: self.order.repetition,
            position: self.position,
            arm,
            at_ns: end.saturating_sub(evidence.wall_ns),
            handoffs: timed.handoffs,
            ticks: Ticks(timed.time.handoffs.0.wrapping_add(timed.time.walks.0)),
            kernel_switches,
            user_switches: timed.user_switches,
            evidence: Evidence {
                is_clock_backwards: timed.time.is_backwards(),
                ..evidence
            },
            counters: None,
            handoff_ticks: Vec::new(),
        }
    }

    /// Leaves the CPU to other tasks for an eighth of the time for which this task took it. The
    /// kernel throttles real-time tasks by default at 95 % of each second.
    fn rest(&mut self) {
        if self.order.case.policy.is_real_time() {
            let taken = monotonic().saturating_sub(self.busy_since);
            std::thread::sleep(Duration::from_nanos(taken.0 / 8));
            self.busy_since = monotonic();
        }
    }

    fn time_single_handoffs<W: Write>(
        &mut self,
        messages: &mut MessageWriter<W>,
    ) -> Result<(), String> {
        if !self.order.case.placement.is_one_cpu() || !self.order.case.working_set.is_empty() {
            return Ok(());
        }
        let experiment = &mut self.experiment;
        let (timed, evidence, switches) = self
            .watch
            .around(|| experiment.single_handoffs(SINGLE_HANDOFFS))
            .map_err(broken)?;
        let Some((timed, handoff_ticks)) = timed else {
            return Ok(());
        };
        let sample = self.sample(Arm::SwitchDirect, timed, evidence, switches);
        self.report(
            messages,
            Sample {
                handoff_ticks,
                ..sample
            },
        )
    }

    /// Runs two batches of each arm for each group of counters. Counting takes time, so the counted
    /// batches give no times.
    fn count<W: Write>(
        &mut self,
        messages: &mut MessageWriter<W>,
        rounds: BatchRounds,
    ) -> Result<(), String> {
        let scope = Scope {
            threads: self.experiment.tasks().iter().map(TaskId::thread).collect(),
            cpus: cpus_of(&self.order.case),
        };
        for share in &self.order.counters {
            let events: Vec<Event> = share.iter().filter_map(|name| name.parse().ok()).collect();
            let is_hardware = events.iter().any(|event| event.is_hardware());
            if is_hardware && self.order.case.mechanism.traits().is_preemptive {
                continue;
            }
            for arm in levels(self.order).into_iter().flatten() {
                // There may be too few counters or descriptors for many tasks. The times are valid
                // without the counts.
                let Ok(counters) = CounterSet::open(&System, &events, &scope) else {
                    continue;
                };
                let (timed, evidence, switches, counts) = self
                    .counted(arm, rounds.rounds(arm), counters)
                    .map_err(broken)?;
                let sample = self.sample(arm, timed, evidence, switches);
                self.report(
                    messages,
                    Sample {
                        counters: Some(counts),
                        ..sample
                    },
                )?;
            }
        }
        Ok(())
    }

    /// Counts the events of a long batch minus those of a short one, so that the start and end of a
    /// batch are in no count.
    fn counted(
        &mut self,
        arm: Arm,
        rounds: u64,
        mut counters: CounterSet,
    ) -> io::Result<(Timed, Evidence, KernelSwitches, BTreeMap<String, u64>)> {
        let experiment = &mut self.experiment;
        let batch = |rounds, warm_up| Batch {
            arm,
            rounds,
            warm_up,
        };
        experiment.run(batch(1, 1))?;
        let mut count = |rounds| {
            counters.start()?;
            let timed = experiment.run(batch(rounds, 0));
            counters.stop()?;
            Ok::<_, io::Error>((timed?, counters.read()?))
        };
        let ((short, long), evidence, switches) = self
            .watch
            .around(|| Ok((count(rounds)?, count(counted_rounds(arm, rounds))?)))?;
        let more = |(name, long_count): (String, u64)| {
            let short_count = short.1.get(&name)?;
            Some((name, long_count.saturating_sub(*short_count)))
        };
        let counts = long.1.into_iter().filter_map(more).collect();
        Ok((long.0 - short.0, evidence, switches, counts))
    }

    fn calibrate(&mut self) -> io::Result<BatchRounds> {
        let mut rounds = self.order.rounds;
        if let Some(wanted) = self.order.batches.round_trips {
            levels(self.order)
                .into_iter()
                .flatten()
                .for_each(|arm| rounds.set(arm, wanted));
            return Ok(rounds);
        }
        for arms in levels(self.order) {
            if rounds.rounds(arms[0]) == 0 {
                // Both arms of a difference must have the same number of rounds.
                let found = self.rounds_for(arms[1])?;
                arms.into_iter().for_each(|arm| rounds.set(arm, found));
            }
        }
        Ok(rounds)
    }

    /// Returns the number of rounds in a batch of an arm: as many as fit into the intended length,
    /// by the fastest of several tries.
    fn rounds_for(&mut self, arm: Arm) -> io::Result<u64> {
        if let Some(rounds) = self.experiment.fixed_rounds(arm) {
            return Ok(rounds);
        }
        let intended = self.order.rate.ticks(self.order.batch_ns);
        let mut rounds = 1;
        loop {
            let batch = Batch {
                arm,
                rounds,
                warm_up: 1,
            };
            let mut shortest = u64::MAX;
            for _ in 0..CALIBRATION_BATCHES {
                let time = self.experiment.run(batch)?.time;
                shortest = shortest.min(time.handoffs.0.wrapping_add(time.walks.0));
                // If one round takes this long, a batch has one round.
                if shortest >= intended.0 {
                    break;
                }
            }
            self.rest();
            if shortest.saturating_mul(8) >= intended.0 || rounds >= 1 << 30 {
                return Ok((rounds * intended.0 / shortest.max(1)).max(1));
            }
            rounds *= if shortest.saturating_mul(64) < intended.0 {
                8
            } else {
                2
            };
        }
    }
}

/// Returns the CPUs of a case, each once.
fn cpus_of(case: &Case) -> Vec<CpuId> {
    let mut cpus = case.placement.cpus.clone();
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

/// Returns the counter of the core's cycles if one has passed its test; otherwise `None`. Also
/// returns `None` for tasks on several CPUs: a core that waits for another task may halt, so its
/// cycles do not measure the time.
fn counter_of_core(order: &Order) -> Option<Box<dyn RunningCounter>> {
    let [cpu] = order.case.placement.cpus[..] else {
        return None;
    };
    core_clock::System.open(order.core_counter?, cpu).ok()
}

/// State of the core, as read between batches.
struct Core<'a> {
    clock: Clock,
    counter: &'a mut Option<Box<dyn RunningCounter>>,
    preparation: &'a Preparation,
    last: Option<Count>,
}

impl Core<'_> {
    fn probe(&mut self, batches: &mut Batches) {
        let probe = core_clock::probe(self.clock);
        batches.push_probe(probe.chain, probe.additions);
        let count = self
            .counter
            .as_mut()
            .and_then(|counter| Count::read(counter.as_mut(), self.clock));
        if let Some((before, now)) = self.last.zip(count) {
            batches.push_count(now.cycles.saturating_sub(before.cycles), now.at - before.at);
        }
        self.last = count;
    }
}

/// Batches of the present window, with counts of their switches.
#[derive(Default)]
struct Taken {
    batches: Batches,
    switching_handoffs: u64,
    control_switches: u64,
    user_switches: u64,
    counted: CountedHandoffs,
    is_clock_backwards: bool,
    /// Time for which the tasks slept between batches.
    paused: Nanos,
}

impl Taken {
    fn cycle(
        &mut self,
        core: &mut Core<'_>,
        experiment: &mut dyn Experiment,
        batches: Vec<Batch>,
    ) -> io::Result<()> {
        for batch in batches {
            self.paused = self.paused + core.preparation.run();
            core.probe(&mut self.batches);
            let timed = self.counted(experiment, batch)?;
            let handoffs = u32::try_from(timed.handoffs).unwrap_or(u32::MAX);
            self.batches
                .push(batch.arm, handoffs, timed.time.handoffs, timed.time.walks);
        }
        Ok(())
    }

    /// Records each walk after a switch as a batch: the first walk is a batch of the switching arm,
    /// the other walks are batches of the baseline.
    fn visit(&mut self, core: &mut Core<'_>, experiment: &mut dyn Experiment) -> io::Result<()> {
        let visit = experiment.visit(WALKS_A_VISIT, &mut || core.probe(&mut self.batches))?;
        let times = self.visited(visit);
        for (place, time) in times.into_iter().enumerate() {
            let arm = if place == 0 {
                Arm::SwitchTotal
            } else {
                Arm::BaselineTotal
            };
            self.batches.push(arm, 1, time.handoffs, time.walks);
        }
        Ok(())
    }

    fn visited(&mut self, (timed, times): (Timed, Vec<Split>)) -> Vec<Split> {
        self.count(timed);
        self.is_clock_backwards |= times.iter().any(Split::is_backwards);
        times
    }

    /// Runs batches whose times are not recorded. The switches of these batches are counted.
    fn warm_up(&mut self, experiment: &mut dyn Experiment, batches: &[Batch]) -> io::Result<()> {
        let first_of_each = |index: &usize| index % 3 < 2;
        (0..batches.len())
            .filter(first_of_each)
            .try_for_each(|index| self.counted(experiment, batches[index]).map(|_| ()))
    }

    fn counted(&mut self, experiment: &mut dyn Experiment, batch: Batch) -> io::Result<Timed> {
        let timed = experiment.run(batch)?;
        self.count(timed);
        self.is_clock_backwards |= timed.time.is_backwards();
        Ok(timed)
    }

    fn count(&mut self, timed: Timed) {
        self.switching_handoffs += timed.switching_handoffs;
        self.control_switches += timed.control_switches;
        self.user_switches += timed.user_switches;
        self.counted.handoffs += timed.counted.handoffs;
        self.counted.switches += timed.counted.switches;
    }
}

/// Returns the batches of one round. For each pair of arms there are three batches: one arm, the
/// other arm for twice as long, and the first arm again. Which arm comes first is random, so that
/// neither is always in the middle.
fn batches_of_cycle(order: &Order, rounds: BatchRounds, random: &mut ChaCha8Rng) -> Vec<Batch> {
    let mut batches = Vec::with_capacity(6);
    for [baseline, switching] in levels(order) {
        let (outer, inner) = if random.random() {
            (baseline, switching)
        } else {
            (switching, baseline)
        };
        let batch = |arm: Arm, times| {
            let rounds = rounds.rounds(arm);
            // No warm-up after a flush, because the timed part must miss the flushed lines.
            let is_cold = order.batches.flush_bytes.is_some();
            let warm_up = if is_cold {
                0
            } else {
                (rounds / 16).max(least_warm_up(arm, &order.case))
            };
            Batch {
                arm,
                rounds: rounds * times,
                warm_up,
            }
        };
        batches.extend([batch(outer, 1), batch(inner, 2), batch(outer, 1)]);
    }
    batches
}

/// Returns the number of untimed rounds after a change of arm. One is enough with walks, which
/// replace what the other arm left in the caches. Without walks there must be two, because the
/// kernel's code and data are back within two rounds.
///
/// A baseline affects the time slices of ordinary tasks for longer. With a busy task on the same
/// CPU, 2 rounds before each batch gave hand-offs of 2.25 to 2.33 us, 30 rounds gave 2.15 to 2.19.
/// A ping-pong without baselines in between takes 2.06 to 2.24 us (Linux 6.18).
fn least_warm_up(arm: Arm, case: &Case) -> u64 {
    let has_slices = !case.policy.is_real_time()
        && case.mechanism.traits().is_blocking
        && case.between != Between::User;
    match (arm.walks(), arm.switches() && has_slices) {
        (true, _) => 1,
        (false, true) => 30,
        (false, false) => 2,
    }
}

/// Returns the pairs of arms that are compared: without walks, and with walks if the case has a
/// working set.
fn levels(order: &Order) -> Vec<[Arm; 2]> {
    let (direct, total) = (
        [Arm::BaselineDirect, Arm::SwitchDirect],
        [Arm::BaselineTotal, Arm::SwitchTotal],
    );
    match (
        order.case.mechanism.hands_over(),
        order.case.working_set.is_empty(),
    ) {
        // Without hand-offs, only walks can be timed.
        (false, _) => vec![total],
        (_, true) => vec![direct],
        (_, false) => vec![direct, total],
    }
}

/// Returns the number of rounds of a batch for counters. If a batch has a single round with walks,
/// which is long, two rounds are enough.
fn counted_rounds(arm: Arm, rounds: u64) -> u64 {
    if !arm.walks() {
        (rounds * COUNTED_BATCHES).max(LEAST_COUNTED_ROUNDS)
    } else if rounds > 1 {
        rounds * COUNTED_BATCHES
    } else {
        2
    }
}

fn broken(error: io::Error) -> String {
    format!("the experiment broke off ({error}); run it again")
}

pub(crate) fn start_experiment(order: &Order) -> Result<Box<dyn Experiment>, String> {
    let case = &order.case;
    let controls = TaskControls {
        cpus: case.placement.cpus.clone(),
        policy: case.policy,
        steps_below_top: 1,
        locks_memory: order.locks_memory,
    };
    let (clock, seed) = (order.clock, order.seed);
    Ok(match case.mechanism.traits().family {
        Family::Ring => Box::new(Ring::start(case, &controls, clock, seed)?),
        Family::Concurrent => Box::new(AtOnce::start(case, &controls, clock, seed)?),
        Family::Preemption => Box::new(Preemption::start(case, &controls, clock, seed)?),
        Family::Runtime => Box::new(Runtimes::start(order)?),
        Family::UserLevel | Family::Synthetic => user::start(order, &controls)?,
    })
}
