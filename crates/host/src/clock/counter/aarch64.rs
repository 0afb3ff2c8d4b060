//! Reads the virtual count of Arm's generic timer, CNTVCT_EL0: one rate in every state, and the
//! same on all CPUs (Arm Architecture Reference Manual, "The Generic Timer in AArch64 state").

use std::arch::asm;

/// Name of the clock in the record.
pub(in crate::clock) const SOURCE: &str = "cntvct";

pub(in crate::clock) const CPUS_DISAGREE: &str =
    "the counter-timers of the CPUs measured do not agree, or could not be compared";

/// Lowest usable rate in ticks per second: with a tick of 100 ns, a millisecond is known to a
/// ten-thousandth.
const LEAST_RATE: u64 = 10_000_000;

/// Returns why the counter can be a run's clock (`Ok`), or why it cannot (`Err`). Some counters
/// have only a few million ticks per second, and the kernel may have a finer clock.
pub(in crate::clock) fn fitness(_: bool) -> Result<&'static str, &'static str> {
    name_rate(rate())
}

fn name_rate(rate: u64) -> Result<&'static str, &'static str> {
    match rate {
        0 => Err("the firmware gives no rate of the counter-timer (CNTFRQ_EL0 is 0)"),
        LEAST_RATE.. => {
            Ok("the counter-timer of the architecture (CNTVCT_EL0): one rate in every state")
        }
        _ => Err("the counter-timer goes on less than 10 million times a second"),
    }
}

/// Returns the counter's ticks per second, as the firmware reports them.
fn rate() -> u64 {
    let rate: u64;
    // SAFETY: reads a register that Linux leaves readable, or reads for the program where it is not; touches no memory.
    unsafe { asm!("mrs {}, cntfrq_el0", out(reg) rate, options(nomem, nostack, preserves_flags)) };
    rate
}

/// Reads the counter between two ISBs. The first ISB keeps the read from happening before earlier
/// instructions have finished. The second ISB keeps later instructions from starting before the
/// read (Arm Architecture Reference Manual, "Counter-timer Virtual Count Register").
#[inline(always)]
pub(in crate::clock) fn read() -> u64 {
    let ticks: u64;
    // SAFETY: reads a register that Linux leaves readable, or reads for the program where it is not. No `nomem`: the compiler may move
    // no access to memory across it.
    unsafe {
        asm!("isb", "mrs {}, cntvct_el0", "isb", out(reg) ticks, options(nostack, preserves_flags))
    };
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_the_clock_where_its_rate_allows() {
        for rate in [10_000_000, 19_200_000, 62_500_000, 1_000_000_000] {
            assert!(name_rate(rate).is_ok(), "{rate}");
        }
        assert_eq!(
            name_rate(1_920_000),
            Err("the counter-timer goes on less than 10 million times a second")
        );
        assert!(name_rate(0).is_err_and(|why| why.contains("CNTFRQ_EL0")));
    }

    #[test]
    fn the_counter_goes_on_at_the_rate_that_the_firmware_reports() {
        let (start, before) = (std::time::Instant::now(), read());
        std::thread::sleep(std::time::Duration::from_millis(50));
        let (ticks, wall) = (read() - before, start.elapsed());
        let reported = ticks as f64 / rate() as f64 / wall.as_secs_f64();
        assert!((0.98..=1.001).contains(&reported), "{reported}");
    }
}
