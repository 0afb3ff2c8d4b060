//! Functions on lists: the first item that matches, and sums of counts.

/// Returns the first item for which `is_it` is true. If there is none, appends the result of `new`
/// and returns it.
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

/// Returns the sum of the counts, or [`u64::MAX`] if the sum is larger.
pub(crate) fn saturating_sum(counts: impl IntoIterator<Item = u64>) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}
