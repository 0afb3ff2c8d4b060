//! Prefetchers, and the earlier requests from which they learn.

use std::collections::VecDeque;

use switchcost_design::{Streamer, StrideKey, StridePrefetcher};

use super::plan::{LevelPlan, SMALLEST_PAGE_BITS};

/// Prefetchers of one level of one hierarchy.
#[derive(Debug)]
pub(super) struct Prefetchers {
    strides: Strides,
    streamer: StreamerPages,
}

impl Prefetchers {
    /// Makes the prefetchers; returns `None` if the level has none.
    pub(super) fn new(plan: &LevelPlan) -> Option<Box<Prefetchers>> {
        let most = |entries: Option<u32>| entries.unwrap_or(0) as usize;
        plan.trains.then(|| {
            Box::new(Prefetchers {
                strides: Strides {
                    most: most(plan.stride.map(|stride| stride.entries)),
                    entries: VecDeque::new(),
                },
                streamer: StreamerPages {
                    most: most(plan.streamer.map(|streamer| streamer.entries)),
                    lines: 1 << (SMALLEST_PAGE_BITS - plan.line_bits),
                    pages: VecDeque::new(),
                },
            })
        })
    }

    /// Records a load or store. Returns the distance in bytes between the present access and the
    /// preceding one of the same key, if the distance repeats.
    pub(super) fn stride(
        &mut self,
        settings: StridePrefetcher,
        instruction: Option<u64>,
        address: u64,
    ) -> Option<i64> {
        let key = match settings.by {
            StrideKey::Instruction => instruction?,
            StrideKey::Page => address >> SMALLEST_PAGE_BITS,
        };
        self.strides.follow(key, address)
    }

    /// Records a request for a line. Returns the lines to prefetch, as distances in lines from the
    /// requested one.
    pub(super) fn ahead(
        &mut self,
        settings: Streamer,
        key: u64,
    ) -> impl Iterator<Item = i64> + use<> {
        self.streamer.follow(settings, key)
    }

    pub(super) fn clear(&mut self) {
        self.strides.entries.clear();
        self.streamer.pages.clear();
    }
}

/// Last load or store of one instruction, or in one page.
#[derive(Clone, Copy, Debug)]
struct Stride {
    key: u64,
    last: u64,
    /// Distance between the last two addresses, in bytes; 0 before the second.
    stride: i64,
}

/// Tracked strides, the most recently used at the end.
#[derive(Debug)]
struct Strides {
    most: usize,
    entries: VecDeque<Stride>,
}

impl Strides {
    fn follow(&mut self, key: u64, address: u64) -> Option<i64> {
        let known = self
            .entries
            .iter()
            .rposition(|entry| entry.key == key)
            .and_then(|at| self.entries.remove(at));
        let Some(mut entry) = known else {
            put(
                &mut self.entries,
                self.most,
                Stride {
                    key,
                    last: address,
                    stride: 0,
                },
            );
            return None;
        };
        let stride = address.wrapping_sub(entry.last) as i64;
        let is_kept = stride == entry.stride;
        if stride != 0 {
            (entry.last, entry.stride) = (address, stride);
        }
        put(&mut self.entries, self.most, entry);
        (stride != 0 && is_kept).then_some(stride)
    }
}

/// A page that is being traversed. Lines are numbered from the start of the page.
#[derive(Clone, Copy, Debug)]
struct Page {
    key: u64,
    last: i64,
    /// Direction of the traversal: 1 up, -1 down, 0 until a second line of the page is requested.
    direction: i64,
    /// Number of steps so far in the present direction.
    steps: u32,
    /// Number of the farthest prefetched line, or of the last requested line.
    head: i64,
}

/// Tracked pages, the most recently used at the end.
#[derive(Debug)]
struct StreamerPages {
    most: usize,
    /// Number of lines in a page.
    lines: i64,
    pages: VecDeque<Page>,
}

/// Number of steps in one direction after which lines are prefetched.
const STEPS: u32 = 2;

impl StreamerPages {
    fn follow(&mut self, settings: Streamer, key: u64) -> impl Iterator<Item = i64> + use<> {
        let (line, key) = (
            key as i64 & (self.lines - 1),
            key & !(self.lines as u64 - 1),
        );
        let known = self
            .pages
            .iter()
            .rposition(|page| page.key == key)
            .and_then(|at| self.pages.remove(at));
        let mut page = known.unwrap_or(Page {
            key,
            last: line,
            direction: 0,
            steps: 0,
            head: line,
        });
        let most = if page.steps_to(line) {
            i64::from(settings.degree)
        } else {
            0
        };
        let (start, direction, distance, lines) = (
            page.head - line,
            page.direction,
            i64::from(settings.distance),
            self.lines,
        );
        let ahead = (1..=most).map(move |step| start + step * direction);
        let is_near = move |ahead: &i64| {
            ahead * direction <= distance && (0..lines).contains(&(line + ahead))
        };
        let fetched = ahead.take_while(is_near);
        page.head = fetched
            .clone()
            .last()
            .map_or(page.head, |ahead| line + ahead);
        put(&mut self.pages, self.most, page);
        fetched
    }
}

impl Page {
    /// Records a request for a line of the page. Returns whether at least [`STEPS`] steps in a row
    /// had the same direction.
    fn steps_to(&mut self, line: i64) -> bool {
        let direction = (line - self.last).signum();
        if direction == 0 {
            return false;
        }
        self.last = line;
        if direction != self.direction {
            (self.direction, self.steps, self.head) = (direction, 0, line);
        }
        self.steps = self.steps.saturating_add(1);
        if (line - self.head) * direction > 0 {
            self.head = line;
        }
        self.steps >= STEPS
    }
}

/// Appends an entry. If there are already `most` entries, the first one is removed.
fn put<T>(entries: &mut VecDeque<T>, most: usize, entry: T) {
    if entries.len() >= most {
        entries.pop_front();
    }
    entries.push_back(entry);
}
