//! The calibrated clock of a run, and the kernel's clocks for comparison.
//!
//! Readings are integers in the clock's own ticks; [`Calibration`] gives the ticks per second. The
//! frequency in /proc/cpuinfo is never used, because it is that of the core, not of the counter.

mod agreement;
mod counter;

use std::convert::Infallible;
use std::io;
use std::mem::MaybeUninit;
use std::sync::OnceLock;

use switchcost_record::{ClockFacts, SelfTest};
use switchcost_units::{CpuId, Nanos, TickRate, Ticks};

use crate::windows::judge;

/// The clock that a run reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// The counter of the CPU, in its own ticks: the time stamp counter of x86, the generic timer
    /// of Arm.
    Counter,
    /// CLOCK_MONOTONIC_RAW, in nanoseconds.
    MonotonicRaw,
}

impl Clock {
    /// Returns the CPU's counter if it runs at a constant rate in every state and is fast enough;
    /// otherwise CLOCK_MONOTONIC_RAW.
    pub fn choose(is_tsc_invariant: bool) -> Clock {
        Clock::chosen(is_tsc_invariant).0
    }

    /// Returns the clock that a run uses, and the reason, for the record.
    fn chosen(is_tsc_invariant: bool) -> (Clock, &'static str) {
        match counter::fitness(is_tsc_invariant) {
            Ok(why) => (Clock::Counter, why),
            Err(reason) => (Clock::MonotonicRaw, reason),
        }
    }

    /// Chooses a clock for tasks on several CPUs that compare time stamps: the CPU's counter only
    /// if a test shows that the counters of all CPUs agree. Also returns the reason for the choice,
    /// for the record.
    pub fn choose_for(cpus: &[CpuId], is_tsc_invariant: bool) -> (Clock, &'static str) {
        let (clock, reason) = Clock::chosen(is_tsc_invariant);
        let pairs = || cpus.iter().skip(1).map(|other| [cpus[0], *other]);
        let may_differ = |pair| agreement::disagree(clock, pair).unwrap_or(true);
        match clock {
            Clock::Counter if pairs().any(may_differ) => {
                (Clock::MonotonicRaw, counter::CPUS_DISAGREE)
            }
            _ => (clock, reason),
        }
    }

    /// Reads the clock. The CPU's counter is read after all earlier instructions have finished, and
    /// before any later one starts.
    #[inline(always)]
    pub fn now(self) -> Ticks {
        match self {
            Clock::Counter => Ticks(counter::read()),
            Clock::MonotonicRaw => Ticks(kernel_clock(libc::CLOCK_MONOTONIC_RAW).0),
        }
    }

    /// Returns facts about a clock for the record. `reason` says why the clock was chosen.
    pub fn facts(self, rate: TickRate, reason: &str) -> ClockFacts {
        let source = match self {
            Clock::Counter => counter::SOURCE,
            Clock::MonotonicRaw => "monotonic-raw",
        };
        ClockFacts {
            source: source.to_owned(),
            reason: reason.to_owned(),
            ticks_per_second: rate,
            read_cost: self.read_cost(),
        }
    }

    /// Returns the shortest distance between two consecutive readings, in ticks.
    pub fn read_cost(self) -> Ticks {
        let distances = (0..1000).map(|_| {
            let before = self.now();
            self.now() - before
        });
        distances.min().unwrap_or_default()
    }
}

fn read_kernel_clock(clock: libc::clockid_t) -> io::Result<Nanos> {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the pointer is valid for writing one timespec; an unknown clock is an error, not undefined.
    let status = unsafe { libc::clock_gettime(clock, time.as_mut_ptr()) };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call above succeeded, so it has written the timespec.
    let time = unsafe { time.assume_init() };
    Ok(Nanos(
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64,
    ))
}

fn kernel_clock(clock: libc::clockid_t) -> Nanos {
    read_kernel_clock(clock).expect("the clocks of POSIX and Linux 2.6.28 exist")
}

/// Returns the machine's CLOCK_MONOTONIC, by which the kernel stamps its records. This clock is the
/// same in all time namespaces.
pub fn monotonic() -> Nanos {
    let ahead = offsets().monotonic;
    Nanos(
        kernel_clock(libc::CLOCK_MONOTONIC)
            .0
            .wrapping_add_signed(ahead.wrapping_neg()),
    )
}

/// Returns the machine's CLOCK_BOOTTIME, which continues while the machine is suspended. This clock
/// is the same in all time namespaces.
pub fn boot_time() -> Nanos {
    let ahead = offsets().boot;
    Nanos(
        kernel_clock(libc::CLOCK_BOOTTIME)
            .0
            .wrapping_add_signed(ahead.wrapping_neg()),
    )
}

/// Offsets of a time namespace's clocks from the clocks of the machine, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Offsets {
    monotonic: i64,
    boot: i64,
}

/// Returns the offsets of this process's time namespace, which never changes.
fn offsets() -> Offsets {
    static OFFSETS: OnceLock<Offsets> = OnceLock::new();
    *OFFSETS.get_or_init(|| {
        let text = std::fs::read_to_string("/proc/self/timens_offsets");
        Offsets::parse(&text.unwrap_or_default())
    })
}

impl Offsets {
    /// Parses lines that have the name or number of a clock, seconds and nanoseconds. Before Linux
    /// 5.6 there are no time namespaces, and the file does not exist.
    fn parse(text: &str) -> Offsets {
        let mut offsets = Offsets::default();
        for line in text.lines() {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let (offset, seconds, nanos) = match fields[..] {
                ["monotonic", seconds, nanos] => (&mut offsets.monotonic, seconds, nanos),
                ["boottime", seconds, nanos] => (&mut offsets.boot, seconds, nanos),
                _ => continue,
            };
            let [seconds, nanos] = [seconds, nanos].map(|number| number.parse().unwrap_or(0i64));
            *offset = seconds.saturating_mul(1_000_000_000).saturating_add(nanos);
        }
        offsets
    }
}

/// A clock that shows the CPU time of one thread or process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuClock(libc::clockid_t);

impl CpuClock {
    /// Returns the clock of a thread of this process. The encoding is the kernel's: see
    /// clock_getcpuclockid(3) and `CPUCLOCK_PERTHREAD_MASK` in include/linux/posix-timers.h.
    pub fn thread_clock(tid: i32) -> CpuClock {
        CpuClock((!tid << 3) | 6)
    }

    /// Returns the clock of a whole process, which may be another one.
    pub fn process_clock(pid: i32) -> CpuClock {
        CpuClock((!pid << 3) | 2)
    }

    /// Returns the CPU time used so far.
    pub fn read(self) -> io::Result<Nanos> {
        read_kernel_clock(self.0)
    }
}

/// Reads `clock` and CLOCK_MONOTONIC_RAW at the same moment: returns the closest pair of several
/// tries.
fn reading_pair(clock: Clock) -> (Ticks, Nanos) {
    let tries = (0..64).map(|_| {
        let before = clock.now();
        let nanos = kernel_clock(libc::CLOCK_MONOTONIC_RAW);
        let after = clock.now();
        let width = after - before;
        (width, (Ticks(before.0 + width.0 / 2), nanos))
    });
    tries
        .min_by_key(|(width, _)| *width)
        .map(|(_, pair)| pair)
        .expect("64 tries are not none")
}

/// Length of the first calibration. Two readings are a few tens of nanoseconds apart, so the rate
/// is precise to a millionth.
const FIRST: Nanos = Nanos::millis(60);

/// A calibration that becomes more precise the longer ago it was started.
#[derive(Clone, Copy, Debug)]
pub struct Calibration {
    clock: Clock,
    start: (Ticks, Nanos),
}

impl Calibration {
    /// Starts a calibration of `clock` against CLOCK_MONOTONIC_RAW, with the first pair of
    /// readings.
    pub fn start(clock: Clock) -> Calibration {
        Calibration {
            clock,
            start: reading_pair(clock),
        }
    }

    /// Starts a calibration and waits for its first rate, which is precise to a millionth.
    pub fn begun(clock: Clock) -> (Calibration, TickRate) {
        let calibration = Calibration::start(clock);
        std::thread::sleep(FIRST.as_duration());
        (calibration, calibration.rate())
    }

    /// Returns the mean rate in ticks per second since the start. Must be called at least 10 ms
    /// after the start.
    pub fn rate(&self) -> TickRate {
        if self.clock == Clock::MonotonicRaw {
            return TickRate::NANOSECONDS;
        }
        let (ticks, nanos) = reading_pair(self.clock);
        let elapsed_ns = u128::from(nanos.saturating_sub(self.start.1).0.max(1));
        TickRate((u128::from((ticks - self.start.0).0) * 1_000_000_000 / elapsed_ns) as u64)
    }
}

/// Length of the known-answer test of a clock.
const WINDOW: Nanos = Nanos::millis(10);

/// Tests `clock` at `rate` against the kernel's clock (a known-answer test). The rates may differ
/// by one thousandth. The kernel's clock may show 20 us more, for an interrupt between two
/// readings. Takes 10 ms if undisturbed.
pub fn prove(clock: Clock, rate: TickRate) -> SelfTest {
    let expected = WINDOW.0 - WINDOW.0 / 1000..=WINDOW.0 + WINDOW.0 / 1000 + 20_000;
    let Ok(outcome) = judge(expected, || {
        Ok::<u64, Infallible>(kernels_window(clock, rate))
    });
    SelfTest {
        instrument: "clock".to_owned(),
        known_answer: "10 ms on the run's clock, in nanoseconds of CLOCK_MONOTONIC".to_owned(),
        outcome,
    }
}

/// Returns the number of nanoseconds of CLOCK_MONOTONIC that pass during a [`WINDOW`] of `clock`.
/// The kernel's clock is read before and after `clock`, so an interruption can only add time.
fn kernels_window(clock: Clock, rate: TickRate) -> u64 {
    let before = monotonic();
    let start = clock.now();
    let mut own = Nanos(0);
    while own < WINDOW {
        own = rate.nanos(clock.now() - start);
    }
    let found = monotonic().saturating_sub(before);
    // The window was longer, by both clocks, if the CPU was taken away at its end.
    (u128::from(found.0) * u128::from(WINDOW.0) / u128::from(own.0)) as u64
}

/// Returns the time of a fixed chain of dependent multiplications, the shortest of four: a probe of
/// the core's speed that an interrupt does not affect. Takes about 20 us.
pub fn speed_probe(clock: Clock) -> Ticks {
    (0..4).map(|_| chain(clock)).min().unwrap_or_default()
}

fn chain(clock: Clock) -> Ticks {
    let before = clock.now();
    let mut value = std::hint::black_box(1_u64);
    for _ in 0..4_000 {
        // The black box prevents the compiler from folding a chain of multiplications by a constant
        // into one.
        value = std::hint::black_box(value.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    }
    clock.now() - before
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};
    use switchcost_record::SelfTestOutcome;

    /// Returns the rate of a clock, precise to a millionth: two readings are a few tens of
    /// nanoseconds apart.
    fn rate_of(clock: Clock) -> TickRate {
        let calibration = Calibration::start(clock);
        std::thread::sleep(Duration::from_millis(60));
        calibration.rate()
    }

    #[test]
    fn calibrated_ticks_agree_with_the_standard_librarys_clock() {
        let clock = Clock::choose(true);
        let rate = rate_of(clock);
        // Returns the nanoseconds of the standard library's clock in 100 ms of this clock, whose
        // readings are inside.
        let window = || {
            let (start, ticks) = (Instant::now(), clock.now());
            std::thread::sleep(Duration::from_millis(100));
            let ticks = clock.now() - ticks;
            let wall = start.elapsed();
            Ok::<u64, Infallible>(
                (wall.as_nanos() * 100_000_000 / u128::from(rate.nanos(ticks).0)) as u64,
            )
        };
        assert_eq!(
            judge(99_900_000..=100_100_000, window),
            Ok(SelfTestOutcome::Admitted)
        );
    }

    #[test]
    fn a_clock_is_right_at_its_own_rate_and_wrong_at_any_other() {
        let clock = Clock::choose(true);
        let rate = rate_of(clock);
        assert_eq!(prove(clock, rate).outcome, SelfTestOutcome::Admitted);
        for (wrong, is_slow) in [(rate.0 / 100 * 99, false), (rate.0 / 100 * 101, true)] {
            let outcome = prove(clock, TickRate(wrong)).outcome;
            let SelfTestOutcome::Wrong {
                expected_low: 9_990_000,
                expected_high: 10_030_000,
                found,
            } = outcome
            else {
                panic!("a rate of {wrong} instead of {} is {outcome:?}", rate.0)
            };
            assert_eq!(
                found > 10_000_000,
                is_slow,
                "found {found} ns in 10 ms at {wrong} instead of {}",
                rate.0
            );
        }
    }

    #[test]
    fn offsets_of_a_time_namespace_have_both_signs() {
        let text = "monotonic           0         0\nboottime      -864000  50\n";
        let offsets = Offsets::parse(text);
        assert_eq!((offsets.monotonic, offsets.boot), (0, -863_999_999_999_950));
        assert_eq!(
            Offsets::parse("monotonic -100 0\n").monotonic,
            -100_000_000_000
        );
        assert_eq!(Offsets::parse(""), Offsets::default());
    }

    #[test]
    fn cpu_clocks_count_work_and_not_sleep() {
        let tid = crate::task::current_tid();
        let clock = CpuClock::thread_clock(tid);
        let before = clock.read().expect("own clock");
        std::thread::sleep(Duration::from_millis(20));
        let slept = clock.read().expect("own clock").saturating_sub(before);
        assert!(slept < Nanos::millis(10), "{slept}");
        let start = Instant::now();
        let worked = || clock.read().expect("own clock").saturating_sub(before);
        // On a loaded machine this process may get little of 20 ms.
        while worked() <= Nanos::millis(5) && start.elapsed() < Duration::from_secs(10) {}
        let worked = worked();
        assert!(worked > Nanos::millis(5), "{worked}");
        assert!(
            CpuClock::process_clock(i32::MAX / 16).read().is_err(),
            "no such process"
        );
    }
}
