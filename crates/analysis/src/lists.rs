//! Lists in the order of first occurrence, and sums of counts.

/// Returns the first item that `is_it` accepts; a new one at the end if there is none.
pub(crate) fn find_or_add<T>(
    all: &mut Vec<T>,
    is_it: impl Fn(&T) -> bool,
    new: impl FnOnce() -> T,
) -> &mut T {
    let place = all.iter().position(is_it).unwrap_or_else(|| {
        all.push(new());
        all.len() - 1
    });
    &mut all[place]
}

/// Returns the sum of counts, or the largest number if the sum exceeds it.
pub(crate) fn saturating_sum(counts: impl IntoIterator<Item = u64>) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}
