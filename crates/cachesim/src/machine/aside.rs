//! What stands beside a level: its victim cache, its stream buffers, its write buffers.

use std::collections::VecDeque;

use super::address::Address;
use super::lines::Line;

/// Lines that have left a set, fully associative, LRU. A line that is found is taken out, so the order of arrival is
/// the order of use.
#[derive(Debug, Default)]
pub(super) struct Victims {
    most: usize,
    lines: VecDeque<(u64, Line)>,
}

impl Victims {
    pub(super) fn new(most: u32) -> Victims {
        Victims { most: most as usize, lines: VecDeque::new() }
    }

    pub(super) fn is_absent(&self) -> bool {
        self.most == 0
    }

    pub(super) fn take(&mut self, key: u64) -> Option<Line> {
        let at = self.lines.iter().position(|line| line.0 == key)?;
        self.lines.remove(at).map(|line| line.1)
    }

    pub(super) fn get_mut(&mut self, key: u64) -> Option<&mut Line> {
        self.lines.iter_mut().find(|line| line.0 == key).map(|line| &mut line.1)
    }

    /// Puts a line in; gives the one that leaves for it.
    pub(super) fn put(&mut self, key: u64, line: Line) -> Option<(u64, Line)> {
        let leaves = if self.lines.len() >= self.most { self.lines.pop_front() } else { None };
        self.lines.push_back((key, line));
        leaves
    }

    pub(super) fn pop(&mut self) -> Option<(u64, Line)> {
        self.lines.pop_front()
    }
}

/// One queue of lines that follow a miss.
#[derive(Debug, Default)]
pub(super) struct Stream {
    pub(super) keys: VecDeque<u64>,
    /// Start of the line behind the last one.
    pub(super) next: Address,
    /// When it was last given to a stream or hit.
    pub(super) used: u64,
}

/// All stream buffers of a level.
#[derive(Debug, Default)]
pub(super) struct Streams {
    pub(super) buffers: Vec<Stream>,
    pub(super) depth: u32,
    now: u64,
}

impl Streams {
    pub(super) fn new(count: u32, depth: u32) -> Streams {
        Streams { buffers: (0..count).map(|_| Stream::default()).collect(), depth, now: 0 }
    }

    pub(super) fn is_absent(&self) -> bool {
        self.buffers.is_empty()
    }

    /// The first buffer with this line at its head, which is taken out.
    pub(super) fn take_head(&mut self, key: u64) -> Option<usize> {
        let number = self.buffers.iter().position(|buffer| buffer.keys.front() == Some(&key))?;
        self.buffers[number].keys.pop_front();
        self.use_now(number);
        Some(number)
    }

    /// Empties the buffer not used for longest and gives it to a new stream.
    pub(super) fn allot(&mut self, next: Address) -> usize {
        let key = |buffer: &Stream| (!buffer.keys.is_empty(), if buffer.keys.is_empty() { 0 } else { buffer.used });
        let number = (0..self.buffers.len()).min_by_key(|&number| key(&self.buffers[number])).unwrap_or(0);
        self.buffers[number].keys.clear();
        self.buffers[number].next = next;
        self.use_now(number);
        number
    }

    fn use_now(&mut self, number: usize) {
        self.now += 1;
        self.buffers[number].used = self.now;
    }

    pub(super) fn lose(&mut self, is_lost: impl Fn(u64) -> bool) {
        self.buffers.iter_mut().for_each(|buffer| buffer.keys.retain(|&key| !is_lost(key)));
    }
}

/// Stores on their way to the next level.
#[derive(Debug, Default)]
pub(super) struct WriteQueue {
    /// When each buffer's last store is written; a ring, oldest first from `at`.
    written: Vec<u64>,
    at: usize,
    newest: u64,
    drain_cycles: u64,
}

impl WriteQueue {
    pub(super) fn new(count: u32, drain_cycles: u32) -> WriteQueue {
        WriteQueue { written: vec![0; count as usize], at: 0, newest: 0, drain_cycles: drain_cycles.into() }
    }

    pub(super) fn is_absent(&self) -> bool {
        self.written.is_empty()
    }

    /// Cycles until a buffer is free.
    #[inline]
    pub(super) fn wait(&self, now: u64) -> u64 {
        self.written.get(self.at).map_or(0, |written| written.saturating_sub(now))
    }

    /// Whether all stores are written at `now`.
    #[inline]
    pub(super) fn is_idle(&self, now: u64) -> bool {
        self.newest <= now
    }

    /// Takes over what another queue holds, some cycles later (or earlier).
    pub(super) fn copy_from(&mut self, other: &WriteQueue, later: i64) {
        let moved = |time: u64| time.saturating_add_signed(later);
        self.written.iter_mut().zip(&other.written).for_each(|(own, &other)| *own = moved(other));
        (self.at, self.newest) = (other.at, moved(other.newest));
    }

    /// Takes the buffer that is free at `now`.
    #[inline]
    pub(super) fn put(&mut self, now: u64, next_level_cycles: u64) {
        self.newest = self.newest.max(now) + self.drain_cycles + next_level_cycles;
        if let Some(written) = self.written.get_mut(self.at) {
            *written = self.newest;
        }
        self.at += 1;
        if self.at == self.written.len() {
            self.at = 0;
        }
    }
}
