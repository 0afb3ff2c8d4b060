//! Prefetches lines before they are requested.

use super::{Answer, Request};
use crate::address::Address;
use crate::machine::Hierarchies;
use crate::machine::buffers::Prefetched;
use crate::machine::line::Line;
use crate::machine::listener::Listener;
use crate::machine::plan::{Kind, SMALLEST_PAGE_BITS};

impl<L: Listener> Hierarchies<'_, L> {
    /// Starts the prefetches that follow a fill of line `key`.
    pub(super) fn prefetch_behind(&mut self, request: Request<'_>, key: u64) {
        if !self.lines(request.view, request.at).streams.is_absent() {
            self.consider_stream(request, key);
        }
        if self.plan_of(request.at).fetches_next_line {
            self.prefetch_next_line(request);
        }
    }

    fn consider_stream(&mut self, request: Request<'_>, key: u64) {
        let level = self.plan_of(request.at);
        let next = request.address.next_line(level.line_bits);
        let next_key = (!starts_page(&next)).then(|| level.key(&next));
        if self
            .lines(request.view, request.at)
            .streams
            .begins(key, next_key)
        {
            self.start_stream(request);
        }
    }

    fn start_stream(&mut self, request: Request<'_>) {
        let bits = self.plan_of(request.at).line_bits;
        let streams = &mut self.lines(request.view, request.at).streams;
        let depth = streams.depth;
        let number = streams.allot(request.address.next_line(bits));
        for _ in 0..depth {
            self.prefetch_into_stream(request, number);
        }
    }

    pub(super) fn prefetch_into_stream(&mut self, request: Request<'_>, number: usize) {
        let Request { view, at, .. } = request;
        let level = self.plan_of(at);
        let address = self.lines(view, at).streams.buffers[number].next;
        if starts_page(&address) {
            return;
        }
        let cycles = self
            .prefetch(Request {
                address: &address,
                ..request
            })
            .cycles;
        let arrives = if self.lines(view, at).streams.is_timed {
            self.time(view) + cycles
        } else {
            0
        };
        let buffer = &mut self.lines(view, at).streams.buffers[number];
        buffer.lines.push_back(Prefetched {
            key: level.key(&address),
            arrives,
        });
        buffer.next = address.next_line(level.line_bits);
    }

    fn prefetch_next_line(&mut self, request: Request<'_>) {
        let address = request
            .address
            .next_line(self.plan_of(request.at).line_bits);
        if !starts_page(&address) {
            self.prefetch_into_set(request, address);
        }
    }

    /// Fills a line into its set, if the set does not have it.
    fn prefetch_into_set(&mut self, request: Request<'_>, address: Address) {
        let Request { view, at, .. } = request;
        let level = self.plan_of(at);
        let (set, key) = (level.set(&address), level.key(&address));
        let is_held = self.lines(view, at).find(set, key).is_some()
            || self.lines(view, at).victims.get_mut(key).is_some();
        if is_held {
            return;
        }
        let is_modified = self
            .prefetch(Request {
                address: &address,
                ..request
            })
            .is_modified;
        let line = Line {
            address,
            is_modified,
            requester: self.lookup.requester,
        };
        let slot = self.insert(view, at, set, key, &line);
        self.lines(view, at).note_prefetched(slot);
    }

    /// Updates the prefetchers after a demand request, and starts their prefetches.
    #[inline(never)]
    pub(super) fn train(&mut self, request: Request<'_>) {
        self.follow_stride(request);
        self.follow_stream(request);
    }

    fn follow_stride(&mut self, request: Request<'_>) {
        let level = self.plan_of(request.at);
        let is_seen = request.kind != Kind::Fetch && self.is_first_line;
        let Some(settings) = level.stride.filter(|_| is_seen) else {
            return;
        };
        let (address, instruction) = (self.lookup.address, self.lookup.instruction);
        let prefetchers = self.lines(request.view, request.at).prefetchers.as_mut();
        let kept =
            prefetchers.and_then(|prefetchers| prefetchers.stride(settings, instruction, address));
        let Some(stride) = kept else { return };
        for times in (settings.distance..).take(settings.degree as usize) {
            let Some(ahead) = lines_ahead(address, stride, times, level.line_bits) else {
                return;
            };
            self.prefetch_into_set(request, request.address.lines_away(level.line_bits, ahead));
        }
    }

    fn follow_stream(&mut self, request: Request<'_>) {
        let level = self.plan_of(request.at);
        let prefetchers = self.lines(request.view, request.at).prefetchers.as_mut();
        let Some((settings, prefetchers)) = level.streamer.zip(prefetchers) else {
            return;
        };
        for ahead in prefetchers.ahead(settings, level.key(request.address)) {
            self.prefetch_into_set(request, request.address.lines_away(level.line_bits, ahead));
        }
    }

    fn prefetch(&mut self, request: Request<'_>) -> Answer {
        self.lines(request.view, request.at).counts.prefetches += 1;
        let kind = if request.kind == Kind::Store {
            Kind::Load
        } else {
            request.kind
        };
        let delay = self.clocks.delays[request.view];
        let answer = self.fetch_from_next(
            Request {
                is_demand: false,
                ..request
            },
            kind,
        );
        self.clocks.delays[request.view] = delay;
        answer
    }
}

fn starts_page(address: &Address) -> bool {
    address.virtual_address.trailing_zeros() >= SMALLEST_PAGE_BITS
}

/// Returns the distance in lines to the address `times` strides ahead; `None` if that address is in
/// another page. A stride counts as at least one line.
fn lines_ahead(address: u64, stride: i64, times: u32, line_bits: u32) -> Option<i64> {
    let step = stride.signum() * i64::try_from(stride.unsigned_abs().max(1 << line_bits)).ok()?;
    let target = address.checked_add_signed(step.checked_mul(times.into())?)?;
    let is_in_page = target >> SMALLEST_PAGE_BITS == address >> SMALLEST_PAGE_BITS;
    is_in_page.then(|| (target >> line_bits) as i64 - (address >> line_bits) as i64)
}
