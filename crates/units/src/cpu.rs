use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Number of a logical CPU, as the kernel numbers CPUs.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
#[schemars(inline)]
#[serde(transparent)]
pub struct CpuId(pub u32);

impl CpuId {
    /// Largest number of CPUs that any Linux configuration allows (`NR_CPUS` of x86-64 with
    /// `MAXSMP`).
    pub const LIMIT: u32 = 8192;
}

impl fmt::Display for CpuId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Error for a text that is not a CPU number or a list of CPU numbers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{found}' is not a list of CPU numbers below 8192; write 0 or 0,2-3")]
pub struct ParseCpuListError {
    found: String,
}

impl FromStr for CpuId {
    type Err = ParseCpuListError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = text.trim().parse().ok().filter(|n| *n < CpuId::LIMIT);
        number.map(CpuId).ok_or_else(|| ParseCpuListError {
            found: text.to_owned(),
        })
    }
}

/// Parses a list of CPUs in the kernel's format: `0-3,8`. An empty text is an empty list. Order and
/// repetitions are preserved.
pub fn parse_cpu_list(text: &str) -> Result<Vec<CpuId>, ParseCpuListError> {
    let error = || ParseCpuListError {
        found: text.trim().to_owned(),
    };
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Ok(Vec::new());
    }
    let ranges: Option<Vec<_>> = trimmed.split(',').map(parse_range).collect();
    Ok(ranges
        .ok_or_else(error)?
        .into_iter()
        .flatten()
        .map(CpuId)
        .collect())
}

fn parse_range(text: &str) -> Option<RangeInclusive<u32>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let first = first.trim().parse::<CpuId>().ok()?.0;
    let last = last.trim().parse::<CpuId>().ok()?.0;
    (first <= last).then_some(first..=last)
}

/// Formats CPUs in the kernel's list format, with runs of CPUs as ranges.
pub fn format_cpu_list(cpus: &[CpuId]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for cpu in cpus {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == cpu.0 => *last = cpu.0,
            _ => runs.push((cpu.0, cpu.0)),
        }
    }
    let texts: Vec<_> = runs
        .iter()
        .map(|(a, b)| {
            if a == b {
                a.to_string()
            } else {
                format!("{a}-{b}")
            }
        })
        .collect();
    texts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_the_kernels_format() {
        let cpus = parse_cpu_list("0-2,5,7-8\n").expect("a list as in /sys");
        assert_eq!(cpus, [0, 1, 2, 5, 7, 8].map(CpuId));
        assert_eq!(format_cpu_list(&cpus), "0-2,5,7-8");
        assert_eq!(parse_cpu_list("\n"), Ok(vec![]));
    }

    #[test]
    fn refuses_hostile_lists() {
        for text in ["a", "3-1", "0-", "-1", "1,,2", "0-4294967295", "9999"] {
            assert!(parse_cpu_list(text).is_err(), "{text}");
        }
    }
}
