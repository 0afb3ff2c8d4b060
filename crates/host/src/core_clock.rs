//! Measures the speed and sharing of the core in one or two microseconds, without a counter.
//!
//! In a chain of multiplications, each depends on the one before. The cycles of the chain depend
//! only on the core's design, so the chain is a cycle counter. Independent additions take as long
//! as the core's execution units allow. Independent additions take longer if another hardware
//! thread of the core uses some of the units, so the ratio of the two times reveals work on the
//! same core.

mod counter;

pub use counter::{Count, CycleEvent, CycleSource, RunningCounter, System, prove};
pub(crate) use counter::{judge_chain, run_chain};

use switchcost_record::CoreClock;
use switchcost_units::Ticks;

use crate::clock::Clock;

/// Number of dependent multiplications in a probe's chain.
pub const CHAIN_LENGTH: u32 = 600;

/// Number of independent additions in a probe.
pub const ADDITIONS: u32 = 3600;

/// Number of pairs of chains whose times give the overhead of reading the clock.
const PAIRS: u32 = 2_001;

/// Number of multiplications in one pass of the loop. With ten multiplications, the loop's own two
/// instructions take no additional time.
const CHAIN_STEP: u32 = 10;

/// Number of additions in one pass of the loop, each to its own register. If two of them depended
/// on each other, execution units would be idle at times, and their use by another hardware thread
/// would not show.
const ADDITION_STEP: u32 = 10;

/// A reading of the core's speed, and of whether the core is shared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreProbe {
    /// Time of [`CHAIN_LENGTH`] dependent multiplications.
    pub chain: Ticks,
    /// Time of [`ADDITIONS`] independent additions.
    pub additions: Ticks,
}

/// Probes the core on which the caller runs. Takes one or two microseconds.
#[inline(never)]
pub fn probe(clock: Clock) -> CoreProbe {
    // The shorter of two readings counts: a walk may have evicted the probe's code, which the first
    // reading loads again.
    let both = [read(clock), read(clock)];
    CoreProbe {
        chain: both[0].chain.min(both[1].chain),
        additions: both[0].additions.min(both[1].additions),
    }
}

/// Takes one reading. Not inlined, so that the second reading runs the code that the first one
/// brought into the caches.
#[inline(never)]
fn read(clock: Clock) -> CoreProbe {
    CoreProbe {
        chain: timed(clock, || multiply(CHAIN_LENGTH / CHAIN_STEP)),
        additions: timed(clock, || add(ADDITIONS / ADDITION_STEP)),
    }
}

/// Returns the time that reading the clock adds to a chain: twice the time of a chain minus the
/// time of a chain of double length measured right after the first.
pub fn overhead(clock: Clock) -> Ticks {
    let passes = CHAIN_LENGTH / CHAIN_STEP;
    let pair = |_| {
        2 * timed(clock, || multiply(passes)).0 as i64
            - timed(clock, || multiply(2 * passes)).0 as i64
    };
    Ticks(typical((0..PAIRS).map(pair).collect()).max(0) as u64)
}

/// Returns the mean without the lowest and the highest fiftieth. Leaving these out excludes
/// interrupts, which affect one pair in a thousand. The median would not do: if the clock has steps
/// of ten nanoseconds, the median is one of two values that differ by a fiftieth of the chain.
fn typical(mut found: Vec<i64>) -> i64 {
    found.sort_unstable();
    let middle = &found[found.len() / 50..found.len() - found.len() / 50];
    (middle.iter().sum::<i64>() as f64 / middle.len() as f64).round() as i64
}

/// Returns facts about the core for the record: the known cycles of the chain, and the ratio of an
/// unshared core.
pub fn facts(clock: Clock) -> CoreClock {
    CoreClock {
        chain_length: CHAIN_LENGTH,
        multiplication_cycles: multiplication_cycles(),
        additions: ADDITIONS,
        overhead_ticks: overhead(clock),
        unshared_per_mille: multiplication_cycles()
            .zip(pass_hundredths())
            .map(|(each, pass)| unshared_per_mille(each, pass)),
        counter: None,
        shared_costs: Vec::new(),
    }
}

/// Returns the ratio of the additions' time to the chain's on an unshared core, in thousandths.
/// `pass_hundredths` is [`pass_hundredths()`].
fn unshared_per_mille(multiplication_cycles: u32, pass_hundredths: u32) -> u32 {
    ADDITIONS / ADDITION_STEP * pass_hundredths * 10 / (CHAIN_LENGTH * multiplication_cycles)
}

/// Returns the least time of one pass of [`add`] on an unshared core, in hundredths of a cycle;
/// `None` for an unknown core. A pass has 11 operations (decrement and branch are one), divided by
/// the number of units that can execute them (Fog, "The microarchitecture of Intel, AMD and VIA
/// CPUs", 2024; uops.info). The number of units follows from the core's features, because
/// hypervisors name an older model. A core that has more units than its features show counts as a
/// core with fewer units.
#[cfg(target_arch = "x86_64")]
fn pass_hundredths() -> Option<u32> {
    use raw_cpuid::CpuId;
    let leaves = CpuId::new();
    let (vendor, feature) = (leaves.get_vendor_info()?, leaves.get_feature_info()?);
    let extended = leaves.get_extended_feature_info()?;
    // Untested designs stay unknown, because a design that does not use all of its units would
    // always look shared.
    match (vendor.as_str(), feature.family_id()) {
        // Golden Cove has five units: measured 0.475 of the chain's time, where 0.44 is the least.
        ("GenuineIntel", 6) if extended.has_amx_tile() => Some(220),
        // Zen 4 has four units: measured 0.552 of the chain's time, where 0.55 is the least.
        ("AuthenticAMD", 0x19) if extended.has_avx512f() => Some(275),
        _ => None,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn pass_hundredths() -> Option<u32> {
    None
}

/// Returns the latency of a 64-bit multiplication in cycles (Fog, "Instruction tables", 2024;
/// uops.info); `None` for an unknown core.
#[cfg(target_arch = "x86_64")]
pub(crate) fn multiplication_cycles() -> Option<u32> {
    use raw_cpuid::CpuId;
    let leaves = CpuId::new();
    let (vendor, feature) = (leaves.get_vendor_info()?, leaves.get_feature_info()?);
    match (vendor.as_str(), feature.family_id(), feature.model_id()) {
        ("AuthenticAMD" | "HygonGenuine", 0x17.., _) => Some(3),
        ("AuthenticAMD", 0x15 | 0x16, _) => Some(6),
        ("GenuineIntel", 6, model) if SMALL_CORES.contains(&model) => None,
        ("GenuineIntel", 6, _) => Some(3),
        _ => None,
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn multiplication_cycles() -> Option<u32> {
    None
}

/// Models of Intel's family 6 with Atom cores, alone or beside large cores. The multiplications of
/// Atom cores take 5 or 6 cycles, or differ from core to core (Linux,
/// arch/x86/include/asm/intel-family.h).
#[cfg(target_arch = "x86_64")]
const SMALL_CORES: [u8; 26] = [
    0x1c, 0x26, 0x27, 0x35, 0x36, 0x37, 0x4a, 0x4c, 0x4d, 0x5a, 0x5c, 0x5d, 0x5f, 0x75, 0x7a, 0x86,
    0x8a, 0x96, 0x97, 0x9a, 0x9c, 0xaa, 0xaf, 0xb6, 0xb7, 0xbe,
];

#[inline(always)]
fn timed(clock: Clock, body: impl FnOnce()) -> Ticks {
    let before = clock.now();
    body();
    Ticks(clock.now().0.saturating_sub(before.0))
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn multiply(passes: u32) {
    // SAFETY: reads and writes the two registers that it names, touches no memory and no stack.
    unsafe {
        std::arch::asm!(
            "2:",
            "imul {x}, {x}", "imul {x}, {x}", "imul {x}, {x}", "imul {x}, {x}", "imul {x}, {x}",
            "imul {x}, {x}", "imul {x}, {x}", "imul {x}, {x}", "imul {x}, {x}", "imul {x}, {x}",
            "dec {n:e}",
            "jnz 2b",
            x = inout(reg) 3_u64 => _,
            n = inout(reg) passes => _,
            options(nomem, nostack),
        );
    }
}

/// Executes `passes` passes of [`ADDITION_STEP`] additions. The additions add registers, because
/// current cores fold additions of small constants away before execution.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn add(passes: u32) {
    // SAFETY: as in `multiply`.
    unsafe {
        std::arch::asm!(
            "2:",
            "add {a}, {one}", "add {b}, {one}", "add {c}, {one}", "add {d}, {one}", "add {e}, {one}",
            "add {f}, {one}", "add {g}, {one}", "add {h}, {one}", "add {i}, {one}", "add {j}, {one}",
            "dec {n:e}",
            "jnz 2b",
            a = inout(reg) 1_u64 => _,
            b = inout(reg) 2_u64 => _,
            c = inout(reg) 3_u64 => _,
            d = inout(reg) 4_u64 => _,
            e = inout(reg) 5_u64 => _,
            f = inout(reg) 6_u64 => _,
            g = inout(reg) 7_u64 => _,
            h = inout(reg) 8_u64 => _,
            i = inout(reg) 9_u64 => _,
            j = inout(reg) 10_u64 => _,
            one = in(reg) 1_u64,
            n = inout(reg) passes => _,
            options(nomem, nostack),
        );
    }
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn multiply(passes: u32) {
    // SAFETY: reads and writes the two registers that it names, touches no memory and no stack.
    unsafe {
        std::arch::asm!(
            "2:",
            "mul {x}, {x}, {x}", "mul {x}, {x}, {x}", "mul {x}, {x}, {x}", "mul {x}, {x}, {x}", "mul {x}, {x}, {x}",
            "mul {x}, {x}, {x}", "mul {x}, {x}, {x}", "mul {x}, {x}, {x}", "mul {x}, {x}, {x}", "mul {x}, {x}, {x}",
            "subs {n:w}, {n:w}, #1",
            "b.ne 2b",
            x = inout(reg) 3_u64 => _,
            n = inout(reg) passes => _,
            options(nomem, nostack),
        );
    }
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn add(passes: u32) {
    // SAFETY: as in `multiply`.
    unsafe {
        std::arch::asm!(
            "2:",
            "add {a}, {a}, {one}", "add {b}, {b}, {one}", "add {c}, {c}, {one}", "add {d}, {d}, {one}", "add {e}, {e}, {one}",
            "add {f}, {f}, {one}", "add {g}, {g}, {one}", "add {h}, {h}, {one}", "add {i}, {i}, {one}", "add {j}, {j}, {one}",
            "subs {n:w}, {n:w}, #1",
            "b.ne 2b",
            a = inout(reg) 1_u64 => _,
            b = inout(reg) 2_u64 => _,
            c = inout(reg) 3_u64 => _,
            d = inout(reg) 4_u64 => _,
            e = inout(reg) 5_u64 => _,
            f = inout(reg) 6_u64 => _,
            g = inout(reg) 7_u64 => _,
            h = inout(reg) 8_u64 => _,
            i = inout(reg) 9_u64 => _,
            j = inout(reg) 10_u64 => _,
            one = in(reg) 1_u64,
            n = inout(reg) passes => _,
            options(nomem, nostack),
        );
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
fn multiply(passes: u32) {
    let mut value = std::hint::black_box(3_u64);
    for _ in 0..passes * CHAIN_STEP {
        value = std::hint::black_box(value.wrapping_mul(value));
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
fn add(passes: u32) {
    let mut values = std::hint::black_box([1_u64; ADDITION_STEP as usize]);
    for _ in 0..passes {
        values = std::hint::black_box(values.map(|value| value.wrapping_add(1)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shortest(clock: Clock, passes: u32) -> u64 {
        (0..4_000)
            .map(|_| timed(clock, || multiply(passes)).0)
            .min()
            .expect("4000 are some")
    }

    /// The chain is a cycle counter: a chain of double length takes twice as long, minus the
    /// reading of the clock. The best of several tries counts, because the core's speed may change
    /// between the two chains.
    #[test]
    fn a_chain_takes_time_in_proportion_to_its_length() {
        let clock = Clock::choose(true);
        let error = |_| {
            let overhead = overhead(clock).0 as f64;
            let net = |passes| shortest(clock, passes) as f64 - overhead;
            (net(180) / net(60) / 3.0 - 1.0).abs()
        };
        let best = (0..10).map(error).fold(f64::INFINITY, f64::min);
        assert!(best < 0.02, "{best}");
    }

    /// A chain takes 57 ticks on a clock that advances in steps of 26, so the median is 52 or 78 by
    /// chance.
    #[test]
    fn the_overhead_is_finer_than_the_clocks_step() {
        let differences = |phase: i64| {
            (0..2_001)
                .map(|pair| (57 + (pair * 7 + phase) % 26) / 26 * 26)
                .collect()
        };
        for phase in 0..26 {
            let found = typical(differences(phase));
            assert!((56..=58).contains(&found), "{found} at {phase}");
        }
        let with_interrupts: Vec<i64> = differences(0);
        let with_interrupts = with_interrupts
            .iter()
            .enumerate()
            .map(|(i, ticks)| if i % 150 == 0 { ticks + 90_000 } else { *ticks });
        assert!((55..=60).contains(&typical(with_interrupts.collect())));
    }

    #[test]
    fn a_probe_reads_both() {
        let clock = Clock::choose(true);
        let probe = probe(clock);
        assert!(
            probe.chain > Ticks(0) && probe.additions > Ticks(0),
            "{probe:?}"
        );
    }
}
