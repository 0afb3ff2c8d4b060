//! Decides which buffer is next. A task may submit the buffers of a run at any time, so the buffers
//! of a later run may come first.
//!
//! A run counts as open from before its time stamp is taken until its last buffer is submitted. A
//! reader examines the buffers, then the open runs, then the buffers again. The reader then knows
//! every run that is older than the youngest run of the first examination: such a run is open, or
//! all its buffers were found in the second examination.

use crate::ring::Full;

/// Returns the oldest of the buffers; `None` if an older one may still come.
pub(crate) fn next(
    before: impl Iterator<Item = Full>,
    open: impl FnOnce() -> Option<u64>,
    after: impl FnOnce() -> Option<Full>,
) -> Option<Full> {
    let youngest = before.map(|full| full.stamp).max()?;
    let bound = open().map_or(youngest, |oldest_open| oldest_open.min(youngest));
    after().filter(|full| full.stamp <= bound)
}

/// Returns the oldest of the full buffers: of the oldest run, the buffer submitted first.
pub(crate) fn oldest(full: impl Iterator<Item = Full>) -> Option<Full> {
    full.min_by_key(|full| (full.stamp, full.order))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full(stamp: u64, order: u64) -> Full {
        Full {
            index: order as usize,
            slot: 0,
            order,
            stamp,
        }
    }

    fn found(before: &[Full], open: &[u64], after: &[Full]) -> Option<(u64, u64)> {
        let after = || oldest(after.iter().copied());
        next(before.iter().copied(), || open.iter().copied().min(), after)
            .map(|full| (full.stamp, full.order))
    }

    #[test]
    fn runs_come_in_the_order_of_their_stamps_and_their_buffers_as_submitted() {
        let all = [full(30, 2), full(10, 3), full(20, 0), full(10, 1)];
        assert_eq!(found(&all, &[], &all), Some((10, 1)));
        assert_eq!(
            found(&all, &[10], &all),
            Some((10, 1)),
            "an open run's first buffers need not wait for its end"
        );
        assert_eq!(found(&all[..1], &[40], &all[..1]), Some((30, 2)));
    }

    #[test]
    fn nothing_passes_an_open_run_or_one_that_may_have_begun_meanwhile() {
        let later = [full(30, 2)];
        assert_eq!(
            found(&later, &[20], &later),
            None,
            "the run of 20 is still open"
        );
        assert_eq!(
            found(&later, &[], &[full(20, 3), later[0]]),
            Some((20, 3)),
            "it was closed between the looks"
        );
        // Between the looks, an older neighbour may have opened and not been submitted since.
        assert_eq!(found(&later, &[], &[full(50, 4)]), None);
        assert_eq!(found(&[], &[], &later), None);
    }
}
