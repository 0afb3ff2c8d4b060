//! Parts that belong to a cache level: victim cache, stream buffers, write buffers, and the bus to
//! the next level.

use std::collections::VecDeque;

use switchcost_design::StreamBuffers;

use super::line::Line;
use crate::address::Address;

/// Victim cache of the lines that have left a set: fully associative, with LRU replacement. A line
/// that is found is removed, so the order of arrival is the order of use.
#[derive(Debug, Default)]
pub(super) struct Victims {
    most: usize,
    lines: VecDeque<(u64, Line)>,
}

impl Victims {
    pub(super) fn new(most: u32) -> Victims {
        Victims {
            most: most as usize,
            lines: VecDeque::new(),
        }
    }

    pub(super) fn is_absent(&self) -> bool {
        self.most == 0
    }

    pub(super) fn take(&mut self, key: u64) -> Option<Line> {
        let at = self.lines.iter().position(|line| line.0 == key)?;
        self.lines.remove(at).map(|line| line.1)
    }

    pub(super) fn get_mut(&mut self, key: u64) -> Option<&mut Line> {
        self.lines
            .iter_mut()
            .find(|line| line.0 == key)
            .map(|line| &mut line.1)
    }

    /// Inserts a line, and returns the line that had to leave, if any.
    pub(super) fn put(&mut self, key: u64, line: Line) -> Option<(u64, Line)> {
        let leaves = if self.lines.len() >= self.most {
            self.lines.pop_front()
        } else {
            None
        };
        self.lines.push_back((key, line));
        leaves
    }

    pub(super) fn pop(&mut self) -> Option<(u64, Line)> {
        self.lines.pop_front()
    }
}

/// A line in a stream buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Prefetched {
    pub(super) key: u64,
    /// Time at which the line arrives, in cycles of the hierarchy's clock.
    pub(super) arrives: u64,
}

/// One stream buffer: a queue of prefetched lines.
#[derive(Debug, Default)]
pub(super) struct Stream {
    pub(super) lines: VecDeque<Prefetched>,
    /// Address of the line after the last one of the queue.
    pub(super) next: Address,
    /// Time at which the buffer was last allocated or hit.
    pub(super) used: u64,
}

/// All stream buffers of a level.
#[derive(Debug, Default)]
pub(super) struct Streams {
    pub(super) buffers: Vec<Stream>,
    pub(super) depth: u32,
    /// Whether prefetched lines arrive only after some time.
    pub(super) is_timed: bool,
    runs: Runs,
    now: u64,
}

impl Streams {
    pub(super) fn new(streams: StreamBuffers) -> Streams {
        Streams {
            buffers: (0..streams.count).map(|_| Stream::default()).collect(),
            depth: streams.depth,
            is_timed: streams.timed,
            runs: Runs {
                most: streams.count as usize,
                enough: streams.allocate_after,
                known: VecDeque::new(),
            },
            now: 0,
        }
    }

    pub(super) fn is_absent(&self) -> bool {
        self.buffers.is_empty()
    }

    /// Removes a line from the first buffer that has it at its head. Returns the buffer's index and
    /// the line's arrival time; `None` if no buffer has the line at its head.
    pub(super) fn take_head(&mut self, key: u64) -> Option<(usize, u64)> {
        let is_head = |buffer: &Stream| buffer.lines.front().is_some_and(|head| head.key == key);
        let number = self.buffers.iter().position(is_head)?;
        let head = self.buffers[number].lines.pop_front()?;
        self.use_now(number);
        Some((number, head.arrives))
    }

    /// Records a fill of line `key`, and returns whether a stream begins with it. `next` is the
    /// following line, if it is in the same page.
    pub(super) fn begins(&mut self, key: u64, next: Option<u64>) -> bool {
        self.runs.is_long_enough(key, next)
    }

    /// Assigns an empty buffer, or else the least recently used one, to a new stream. Returns the
    /// index of the buffer, which is then empty.
    pub(super) fn allot(&mut self, next: Address) -> usize {
        let key = |buffer: &Stream| {
            (
                !buffer.lines.is_empty(),
                if buffer.lines.is_empty() {
                    0
                } else {
                    buffer.used
                },
            )
        };
        let number = (0..self.buffers.len())
            .min_by_key(|&number| key(&self.buffers[number]))
            .unwrap_or(0);
        self.buffers[number].lines.clear();
        self.buffers[number].next = next;
        self.use_now(number);
        number
    }

    fn use_now(&mut self, number: usize) {
        self.now += 1;
        self.buffers[number].used = self.now;
    }

    pub(super) fn lose(&mut self, is_lost: impl Fn(u64) -> bool) {
        self.buffers
            .iter_mut()
            .for_each(|buffer| buffer.lines.retain(|line| !is_lost(line.key)));
    }

    /// Empties all buffers and forgets all runs of fills.
    pub(super) fn clear(&mut self) {
        self.lose(|_| true);
        self.runs.known.clear();
    }
}

/// Runs of consecutive fills that are still too short to begin a stream.
#[derive(Debug, Default)]
struct Runs {
    most: usize,
    /// Number of fills after which a stream begins.
    enough: u32,
    /// Next line of each run, with the number of the run's fills; the oldest run is first.
    known: VecDeque<(u64, u32)>,
}

impl Runs {
    fn is_long_enough(&mut self, key: u64, next: Option<u64>) -> bool {
        if self.enough <= 1 {
            return true;
        }
        let at = self.known.iter().position(|run| run.0 == key);
        let length = at
            .and_then(|at| self.known.remove(at))
            .map_or(1, |(_, length)| length + 1);
        if length >= self.enough {
            return true;
        }
        if let Some(next) = next {
            if self.known.len() >= self.most {
                self.known.pop_front();
            }
            self.known.push_back((next, length));
        }
        false
    }
}

/// Bus from a level to the next one, which transfers one line at a time.
#[derive(Debug, Default)]
pub(super) struct Bus {
    /// Number of cycles for which a line occupies the bus; 0 if transfers take no time.
    cycles: u64,
    free: u64,
}

impl Bus {
    pub(super) fn new(cycles: u32) -> Bus {
        Bus {
            cycles: cycles.into(),
            free: 0,
        }
    }

    /// Returns whether lines take time on the bus.
    pub(super) fn is_counted(&self) -> bool {
        self.cycles > 0
    }

    /// Transfers a line, starting at `time`; returns how long the line waits for earlier lines.
    #[inline]
    pub(super) fn take(&mut self, time: u64) -> u64 {
        if self.cycles == 0 {
            return 0;
        }
        let start = self.free.max(time);
        self.free = start + self.cycles;
        start - time
    }
}

/// Queue of stores that wait for the next level.
#[derive(Debug, Default)]
pub(super) struct WriteQueue {
    drain_cycles: u64,
    /// Time at which the last store of each buffer is written, as a ring. The oldest entry is at
    /// index `at`.
    written: Vec<u64>,
    at: usize,
    /// Time at which the newest store is written.
    newest: u64,
}

impl WriteQueue {
    pub(super) fn new(count: u32, drain_cycles: u32) -> WriteQueue {
        WriteQueue {
            drain_cycles: drain_cycles.into(),
            written: vec![0; count as usize],
            at: 0,
            newest: 0,
        }
    }

    pub(super) fn is_absent(&self) -> bool {
        self.written.is_empty()
    }

    /// Returns the number of cycles until a buffer is free.
    #[inline]
    pub(super) fn wait(&self, now: u64) -> u64 {
        self.written[self.at].saturating_sub(now)
    }

    /// Returns whether all stores are written at `now`.
    #[inline]
    pub(super) fn is_idle(&self, now: u64) -> bool {
        self.newest <= now
    }

    /// Returns the time at which the last store is written.
    pub(super) fn last_written(&self) -> u64 {
        self.newest
    }

    /// Copies the contents of another queue, with all times shifted by `later` cycles (earlier if
    /// negative).
    pub(super) fn copy_from(&mut self, other: &WriteQueue, later: i64) {
        let moved = |time: u64| time.saturating_add_signed(later);
        self.written.clear();
        self.written
            .extend(other.written.iter().map(|&time| moved(time)));
        (self.at, self.newest) = (other.at, moved(other.newest));
    }

    /// Queues a store in the buffer that is free at `now`. The write to the next level takes
    /// `next_level_cycles`.
    #[inline]
    pub(super) fn put(&mut self, now: u64, next_level_cycles: u64) {
        self.newest = self.newest.max(now) + self.drain_cycles + next_level_cycles;
        self.written[self.at] = self.newest;
        self.at = if self.at + 1 == self.written.len() {
            0
        } else {
            self.at + 1
        };
    }
}
