//! Decides when to examine live processes.

use std::time::{Duration, Instant};

/// Time from the first examination to the second; each further pause is twice as long. A program
/// gets its memory early, and may not run for long.
const EARLY: Duration = Duration::from_millis(20);
/// Longest pause between two examinations.
const EACH: Duration = Duration::from_secs(1);

/// Schedule of the examinations of live processes: often at first, then each second.
#[derive(Clone, Debug, Default)]
pub struct Looks {
    last: Option<Instant>,
    count: u32,
}

impl Looks {
    /// Whether an examination is due. If so, the caller must examine the processes now.
    pub fn is_due(&mut self) -> bool {
        // The first pause is the shortest, and each is twice the one before.
        let pause = EARLY.saturating_mul(2u32.saturating_pow(self.count.saturating_sub(1)));
        let is_due = self.last.is_none_or(|at| at.elapsed() >= pause.min(EACH));
        if is_due {
            self.last = Some(Instant::now());
            self.count = self.count.saturating_add(1);
        }
        is_due
    }
}
