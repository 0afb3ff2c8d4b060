//! Streams: consecutive lines, requested by any instructions, which hardware prefetches.

/// Maximum number of streams in each list: about as many as a core's prefetchers follow (Intel,
/// "Optimization Reference Manual", on the streamer: 32, one per page).
const FOLLOWED: usize = 32;
/// Position, counted from 1, of the first line in a stream that is prefetched.
const TRAINED: u32 = 3;
/// Age in lines below which a line is in a first level, so that an access makes no request to other
/// levels.
pub(crate) const HOT: u32 = 256;

#[derive(Clone, Copy, Debug)]
struct Stream {
    last: u64,
    age: u32,
    is_rising: bool,
    lines: u32,
}

/// Two lists of streams: streams whose lines are in a first level, and all other streams, which the
/// first kind would otherwise displace. Each list is ordered by last use.
#[derive(Debug, Default)]
pub(crate) struct Streams([Vec<Stream>; 2]);

impl Streams {
    /// Continues or starts a stream with a line of age `age`. Returns whether the line is
    /// prefetched.
    pub(crate) fn go_on(&mut self, line: u64, age: u32) -> bool {
        let streams = &mut self.0[usize::from(age >= HOT)];
        let is_next =
            |stream: &Stream| stream.last.abs_diff(line) == 1 && is_as_old(stream.age, age);
        let before = streams
            .iter()
            .rposition(is_next)
            .map(|at| streams.remove(at));
        if before.is_none() && streams.len() == FOLLOWED {
            streams.remove(0);
        }
        let is_rising = before.is_some_and(|before| line > before.last);
        let lines = match before {
            Some(before) if before.lines == 1 || before.is_rising == is_rising => before.lines + 1,
            Some(_) => 2,
            None => 1,
        };
        streams.push(Stream {
            last: line,
            age,
            is_rising,
            lines,
        });
        lines >= TRAINED
    }
}

/// Whether age `one` is at least half of age `other`, so that the line of age `one` comes from
/// about the same level or a farther one.
pub(crate) fn is_as_old(one: u32, other: u32) -> bool {
    one >= other / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefetched(lines: &[u64]) -> Vec<bool> {
        let mut streams = Streams::default();
        lines
            .iter()
            .map(|line| streams.go_on(*line, 1000))
            .collect()
    }

    #[test]
    fn the_third_line_in_a_row_is_fetched_ahead_in_either_direction() {
        assert_eq!(
            prefetched(&[10, 11, 12, 13, 12, 11, 10]),
            [false, false, true, true, false, true, true]
        );
        assert_eq!(
            prefetched(&[10, 90, 11, 89, 12, 88]),
            [false, false, false, false, true, true]
        );
    }

    #[test]
    fn jumps_within_a_few_pages_are_no_streams() {
        // A linear congruential generator of full period: each line once, without a pattern
        // (Knuth).
        let next = |line: &u64| Some((line * 269 + 83) % 512);
        let jumps: Vec<u64> = std::iter::successors(Some(7), next).take(512).collect();
        let few = prefetched(&jumps)
            .into_iter()
            .filter(|is_ahead| *is_ahead)
            .count();
        assert!(few < 16, "{few}");
    }

    #[test]
    fn a_line_that_was_there_all_the_time_trains_no_stream() {
        let mut streams = Streams::default();
        let ages =
            [(20, 300), (21, 300), (22, 100_000)].map(|(line, age)| streams.go_on(line, age));
        assert_eq!(ages, [false; 3]);
    }
}
