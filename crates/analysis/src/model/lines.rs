//! Interpolates numbers of lines between the times of a profile.

/// Returns the number of lines used within `instructions` instructions. The number is interpolated
/// over the logarithm of the time, proportional to the time before the first of `times`, and
/// constant after the last.
pub(super) fn within(times: &[u64], lines: &[f64], instructions: f64) -> f64 {
    let Some(next) = times.iter().position(|time| *time as f64 >= instructions) else {
        return lines.last().copied().unwrap_or(0.0);
    };
    if next == 0 {
        return lines[0] * instructions.max(0.0) / times[0] as f64;
    }
    let [from, to] = [times[next - 1] as f64, times[next] as f64];
    let share = (instructions / from).log2() / (to / from).log2();
    lines[next - 1] + share * (lines[next] - lines[next - 1])
}
