//! Decides when live processes are examined.

use std::time::{Duration, Instant};

/// Time from the first examination to the second. Each further pause is twice as long. A program
/// gets its memory early, and may not run for long.
const EARLY: Duration = Duration::from_millis(20);
/// Longest pause between two examinations.
const EACH: Duration = Duration::from_secs(1);

/// Schedule for examining live processes: often at first, later once a second.
#[derive(Clone, Debug, Default)]
pub struct Looks {
    last: Option<Instant>,
    count: u32,
}

impl Looks {
    /// Whether an examination is due. If so, the caller must examine the processes now, because the
    /// next one is scheduled.
    pub fn is_due(&mut self) -> bool {
        // The first pause is EARLY, and each further one is twice the one before.
        let pause = EARLY.saturating_mul(2u32.saturating_pow(self.count.saturating_sub(1)));
        let is_due = self.last.is_none_or(|at| at.elapsed() >= pause.min(EACH));
        if is_due {
            self.last = Some(Instant::now());
            self.count = self.count.saturating_add(1);
        }
        is_due
    }
}
