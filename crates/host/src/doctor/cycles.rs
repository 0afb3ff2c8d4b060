//! An attempt to count cycles.

use std::hint::black_box;
use std::io;

use perf_event::Builder;
use perf_event::events::Hardware;

/// What an attempt to count one's own cycles came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CycleCounter {
    /// It counts.
    Counts,
    /// It opens and stays at zero, as under some hypervisors.
    StaysZero,
    /// The kernel has none: nothing answers for cycles.
    Absent(String),
    /// The kernel has one and refuses it.
    Refused(String),
    /// The files of another machine cannot be asked.
    NotTried,
}

/// Opens a counter of this thread's own user-level cycles, spends some, and reads it.
pub(super) fn attempt() -> CycleCounter {
    match count() {
        Ok(0) => CycleCounter::StaysZero,
        Ok(_) => CycleCounter::Counts,
        Err(error) => failure(&error),
    }
}

fn failure(error: &io::Error) -> CycleCounter {
    let text = error.to_string();
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => CycleCounter::Refused(text),
        _ => CycleCounter::Absent(text),
    }
}

fn count() -> io::Result<u64> {
    let mut counter = Builder::new(Hardware::CPU_CYCLES).build()?;
    counter.enable()?;
    (0..10_000_u64).for_each(|n| {
        black_box(n);
    });
    counter.read()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_from_an_absence() {
        let error = |number| failure(&io::Error::from_raw_os_error(number));
        assert!(matches!(error(libc::EACCES), CycleCounter::Refused(_)));
        assert!(matches!(error(libc::ENOENT), CycleCounter::Absent(_)));
    }
}
