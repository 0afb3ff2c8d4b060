//! CPU use, from two readings of `/proc/stat`.

use switchcost_units::CpuId;

/// CPU time on one line of `/proc/stat` (user, nice, system, idle, iowait, irq, softirq and steal),
/// in ticks of USER_HZ.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Sum of the first eight times on the line (user to steal), in ticks. Guest time is part of
    /// user time.
    pub all: u64,
    busy: u64,
    /// Time that the hypervisor gave to other guests, in ticks.
    pub stolen: u64,
}

impl Times {
    /// Parses the line of `/proc/stat` that begins with `name`: `cpu0` for one CPU, or `cpu` for
    /// all CPUs. `None` if the line is missing or invalid.
    pub fn parse(text: &str, name: &str) -> Option<Self> {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        let times: Vec<u64> = line
            .split_ascii_whitespace()
            .take(8)
            .map_while(|time| time.parse().ok())
            .collect();
        let times: [u64; 8] = times.try_into().ok()?;
        let all = times
            .iter()
            .try_fold(0_u64, |sum, time| sum.checked_add(*time))?;
        Some(Times {
            all,
            busy: all - times[3] - times[4],
            stolen: times[7],
        })
    }
}

/// Returns the share of time in which `cpu` was not idle between two readings of `/proc/stat`, in
/// thousandths; `None` if no time passed.
pub fn busy_per_mille(before: &str, after: &str, cpu: CpuId) -> Option<u64> {
    let times = |text| Times::parse(text, &format!("cpu{cpu}"));
    let (before, after) = (times(before)?, times(after)?);
    let all = after.all.checked_sub(before.all).filter(|all| *all != 0)?;
    Some(after.busy.checked_sub(before.busy)?.saturating_mul(1_000) / all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_statistics_yield_nothing() {
        for text in [
            "",
            "cpu",
            "cpu 1 2 3",
            "cpu 1 2 3 4 5 6 7 x",
            "cpu 18446744073709551615 1 1 1 1 1 1 1",
        ] {
            assert!(Times::parse(text, "cpu").is_none(), "{text}");
        }
    }

    #[test]
    fn busy_is_what_was_neither_idle_nor_waiting() {
        let share = |after| busy_per_mille("cpu1 5 0 0 10 0 0 0 0\n", after, CpuId(1));
        assert_eq!(share("cpu1 9 0 0 10 1 0 0 0\n"), Some(800));
        assert_eq!(
            (
                share("cpu1 5 0 0 10 0 0 0 0\n"),
                share("cpu1 4 0 0 12 0 0 0 0\n"),
                share("")
            ),
            (None, None, None)
        );
    }
}
