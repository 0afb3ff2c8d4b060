//! Judges a known-answer test by the least disturbed of several short windows.
//!
//! If another task or guest takes the CPU during a window, the window's time and counts increase;
//! they never decrease. A result below the known answer is therefore certainly wrong. A result
//! above may be due to a disturbance: another window is examined, and the instrument is wrong only
//! if all results are above.

use std::ops::RangeInclusive;

use switchcost_record::SelfTestOutcome;

/// Maximum number of windows that are examined. On any usable machine, some window of about a
/// millisecond is undisturbed.
const MOST: usize = 16;

/// Examines windows until one result is at most the upper end of `expected`, and judges by the
/// smallest result.
pub(crate) fn judge<E>(
    expected: RangeInclusive<u64>,
    mut window: impl FnMut() -> Result<u64, E>,
) -> Result<SelfTestOutcome, E> {
    let mut least = window()?;
    for _ in 1..MOST {
        if least <= *expected.end() {
            break;
        }
        least = least.min(window()?);
    }
    Ok(if expected.contains(&least) {
        SelfTestOutcome::Admitted
    } else {
        SelfTestOutcome::Wrong {
            expected_low: *expected.start(),
            expected_high: *expected.end(),
            found: least,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    /// Returns the judgement of windows with these results, the last one repeated, and the number
    /// of windows examined.
    fn judged(found: &[u64]) -> (SelfTestOutcome, usize) {
        let mut looks = 0;
        let window = || {
            looks += 1;
            Ok::<u64, Infallible>(found[(looks - 1).min(found.len() - 1)])
        };
        let Ok(outcome) = judge(100..=110, window);
        (outcome, looks)
    }

    fn wrong(found: u64) -> SelfTestOutcome {
        SelfTestOutcome::Wrong {
            expected_low: 100,
            expected_high: 110,
            found,
        }
    }

    #[test]
    fn disturbed_windows_are_looked_at_again() {
        assert_eq!(judged(&[100]), (SelfTestOutcome::Admitted, 1));
        assert_eq!(judged(&[300, 111, 110]), (SelfTestOutcome::Admitted, 3));
    }

    #[test]
    fn what_finds_too_much_in_all_windows_is_wrong_by_the_least() {
        assert_eq!(judged(&[300, 112, 250]), (wrong(112), MOST));
    }

    #[test]
    fn what_finds_too_little_in_any_window_is_wrong_at_once() {
        assert_eq!(judged(&[99, 105]), (wrong(99), 1));
        assert_eq!(judged(&[300, 0, 105]), (wrong(0), 2));
    }

    #[test]
    fn a_window_that_breaks_breaks_the_test() {
        assert_eq!(judge(100..=110, || Err("broken")), Err("broken"));
    }
}
