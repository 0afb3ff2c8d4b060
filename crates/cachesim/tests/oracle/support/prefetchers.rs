//! Prefetchers, which react to demand requests and fetch ahead of them.

use switchcost_design::{Streamer, StrideKey};

use super::address::Tag;
use super::fault::Fault;
use super::stack::{Ask, Kind, Run, Stack};

const PAGE: u64 = 4096;

/// Loads and stores of one instruction or in one page.
#[derive(Clone, Copy)]
pub(crate) struct StrideSeen {
    key: u64,
    last: u64,
    stride: i128,
}

/// Requests in one page.
#[derive(Clone, Copy)]
pub(crate) struct PageSeen {
    page: Tag,
    last: i64,
    goes_up: bool,
    steps: u32,
    /// Farthest line that was fetched or requested in this direction.
    farthest: i64,
}

impl Stack {
    /// Trains the prefetchers with a finished demand request.
    pub(crate) fn train(&mut self, run: &mut Run<'_>, level: usize, ask: Ask) {
        self.follow_stride(run, level, ask);
        self.follow_page(run, level, ask);
    }

    fn follow_stride(&mut self, run: &mut Run<'_>, level: usize, ask: Ask) {
        let line = self.levels[level].shape.line;
        let is_seen = run.is_first_line || self.fault == Some(Fault::StridesSeeEachLine);
        let Some(settings) = self.levels[level]
            .shape
            .stride
            .filter(|_| ask.kind != Kind::Fetch && is_seen)
        else {
            return;
        };
        let now = run.first_byte;
        let key = if settings.by == StrideKey::Page {
            Some(now / PAGE)
        } else {
            run.instruction
        };
        let Some(key) = key else { return };
        let Some(stride) = self.kept_stride(level, key, now, settings.entries as usize) else {
            return;
        };
        let is_short = stride.unsigned_abs() < u128::from(line)
            && self.fault != Some(Fault::ShortStridesStayShort);
        let step = if is_short {
            stride.signum() * i128::from(line)
        } else {
            stride
        };
        for ahead in 0..settings.degree {
            let target = i128::from(now) + step * i128::from(settings.distance + ahead);
            if target.div_euclid(PAGE.into()) != i128::from(now / PAGE) {
                return;
            }
            let lines = target / i128::from(line) - i128::from(now / line);
            self.bring_ahead(run, level, ask, lines as i64);
        }
    }

    /// Returns the distance from the preceding reference, if it equals the previous distance.
    fn kept_stride(&mut self, level: usize, key: u64, now: u64, most: usize) -> Option<i128> {
        let seen = &mut self.levels[level].strides;
        let Some(at) = seen.iter().position(|seen| seen.key == key) else {
            seen.push(StrideSeen {
                key,
                last: now,
                stride: 0,
            });
            if seen.len() > most {
                seen.remove(0);
            }
            return None;
        };
        let mut entry = seen.remove(at);
        let stride = i128::from(now.wrapping_sub(entry.last) as i64);
        let before = entry.stride;
        if stride != 0 {
            (entry.last, entry.stride) = (now, stride);
        }
        seen.push(entry);
        (stride != 0 && stride == before).then_some(stride)
    }

    fn follow_page(&mut self, run: &mut Run<'_>, level: usize, ask: Ask) {
        let cache = &mut self.levels[level];
        let Some(settings) = cache.shape.streamer else {
            return;
        };
        let tag = cache.tag(ask.address);
        let lines = PAGE / cache.shape.line;
        let (page, line) = (
            Tag {
                line: tag.line / lines,
                ..tag
            },
            (tag.line % lines) as i64,
        );
        let known = cache
            .pages
            .iter()
            .position(|seen| seen.page == page)
            .map(|at| cache.pages.remove(at));
        let before = known.unwrap_or(PageSeen {
            page,
            last: line,
            goes_up: true,
            steps: 0,
            farthest: line,
        });
        let mut seen = stepped(before, line);
        let mut fetched = Vec::new();
        if line != before.last {
            fetched = self.ahead(seen, line, lines as i64, settings);
            seen.farthest = fetched.last().copied().unwrap_or(seen.farthest);
        }
        let cache = &mut self.levels[level];
        cache.pages.push(seen);
        if cache.pages.len() > settings.entries as usize {
            cache.pages.remove(0);
        }
        fetched
            .into_iter()
            .for_each(|fetched| self.bring_ahead(run, level, ask, fetched - line));
    }

    /// Returns the numbers of the lines to be fetched.
    fn ahead(&self, seen: PageSeen, line: i64, lines: i64, settings: Streamer) -> Vec<i64> {
        let enough = if self.fault == Some(Fault::StreamerStartsAtOnce) {
            1
        } else {
            2
        };
        if seen.steps < enough || !seen.goes_up && self.fault == Some(Fault::StreamerGoesUpOnly) {
            return Vec::new();
        }
        let next = |ahead: i64| {
            if seen.goes_up {
                seen.farthest + ahead
            } else {
                seen.farthest - ahead
            }
        };
        let is_wanted = |&next: &i64| {
            (0..lines).contains(&next) && (next - line).abs() <= i64::from(settings.distance)
        };
        (1..=i64::from(settings.degree))
            .map(next)
            .take_while(is_wanted)
            .collect()
    }
}

/// Returns the page's state after a request for a line.
fn stepped(seen: PageSeen, line: i64) -> PageSeen {
    if line == seen.last {
        return seen;
    }
    let goes_up = line > seen.last;
    if seen.steps == 0 || goes_up != seen.goes_up {
        return PageSeen {
            last: line,
            goes_up,
            steps: 1,
            farthest: line,
            ..seen
        };
    }
    let farthest = if goes_up {
        seen.farthest.max(line)
    } else {
        seen.farthest.min(line)
    };
    PageSeen {
        last: line,
        steps: seen.steps.saturating_add(1),
        farthest,
        ..seen
    }
}
