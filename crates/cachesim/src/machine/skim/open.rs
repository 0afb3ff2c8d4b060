//! Lends the loop what it touches of a design's three views, and takes over what it counted.

use trace::{BlockRun, Reference};

use super::{Loop, Stop, Sums};
use crate::machine::lane::{First, Next};
use crate::machine::lines::Lines;
use crate::machine::plan::Kind;
use crate::machine::run::Entry;
use crate::machine::views::{Shortcut, Views};

impl Views<'_> {
    /// Runs as many blocks as the filters know all about. `held` is how many blocks from the first one on are known to be
    /// all there; they stay so until somebody fetches what is not.
    pub(in crate::machine) fn skim(
        &mut self,
        entry: &Entry,
        blocks: BlockRun<'_>,
        references: &[Reference],
        held: &mut usize,
    ) -> Stop {
        let none = Stop { blocks: 0, references: 0, begun: None };
        let Some(mut all) = self.open(entry) else { return none };
        let stop = all.run(blocks, references, held);
        let (sums, are_alike) = (all.sums, all.are_alike);
        self.buffers.are_alike = are_alike;
        self.take_sums(entry, &sums);
        stop
    }

    #[inline(always)]
    fn open(&mut self, entry: &Entry) -> Option<Loop<'_>> {
        let (lane, fetch, data) = (entry.lane, entry.fetch_cache, entry.data_cache);
        let (starts, are_alike) = (self.clocks(), self.buffers.are_alike);
        let bits = |at: usize| self.plan.levels[at].process_bits(self.scene.process);
        let process_bits = [bits(fetch), bits(data)];
        let (code_shortcut, data_shortcut, next) = split(self.shortcuts, fetch, data, lane.next)?;
        let both = [fetch, data];
        let [shared_code, shared_data] = self.shared.levels.get_disjoint_mut(both).ok()?.map(Lines::keys_and_writes);
        let [private_code, private_data] = self.private.levels.get_disjoint_mut(both).ok()?.map(Lines::keys_and_writes);
        let [flushed_code, flushed_data] = self.flushed.levels.get_disjoint_mut(both).ok()?.map(Lines::keys_and_writes);
        let [replaces_code, replaces_data] = lane.replaces();
        Some(Loop {
            lane,
            code: First {
                filter: code_shortcut.filter.as_mut(),
                keys: [shared_code.0, private_code.0, flushed_code.0],
                process_bits: process_bits[0],
                next,
                replaces: replaces_code,
            },
            data: First {
                filter: data_shortcut.filter.as_mut(),
                keys: [shared_data.0, private_data.0, flushed_data.0],
                process_bits: process_bits[1],
                next,
                replaces: replaces_data,
            },
            writes: [shared_data.1, private_data.1, flushed_data.1],
            are_alike,
            starts,
            sums: Sums::default(),
        })
    }

    pub(in crate::machine) fn take_sums(&mut self, entry: &Entry, sums: &Sums) {
        let lane = entry.lane;
        self.ahead += sums.ahead;
        self.buffers.stall_cycles += sums.stall_cycles;
        let code = &mut self.shortcuts[entry.fetch_cache];
        code.count_misses(Kind::Fetch, sums.code_misses);
        code.count_fills(sums.code_fills, sums.code_fills * lane.code_miss_cycles);
        let data = &mut self.shortcuts[entry.data_cache];
        data.count_misses(Kind::Load, sums.load_misses);
        data.count_fills(sums.load_fills, sums.load_fills * lane.data_miss_cycles);
        for (hierarchy, misses) in [&mut *self.shared, self.private, self.flushed].into_iter().zip(sums.store_misses) {
            hierarchy.levels[entry.data_cache].counts.misses[Kind::Store as usize] += misses;
        }
        if let Some(next) = lane.next {
            let next = &mut self.shortcuts[next];
            next.count_accesses(Kind::Fetch, sums.code_fills);
            next.count_accesses(Kind::Load, sums.load_fills);
            next.count_accesses(Kind::Store, sums.next_stores);
            next.count_fills(0, (sums.code_fills + sums.load_fills) * lane.next_hit_cycles);
        }
    }
}

/// The first level of fetches, that of data, and what the one behind both knows.
fn split(
    shortcuts: &mut [Shortcut],
    fetch: usize,
    data: usize,
    next: Option<usize>,
) -> Option<(&mut Shortcut, &mut Shortcut, Next<'_>)> {
    match next {
        Some(next) => {
            let [fetch, data, next] = shortcuts.get_disjoint_mut([fetch, data, next]).ok()?;
            Some((fetch, data, Next { filter: Some(next.filter.as_ref()) }))
        }
        None => {
            let [fetch, data] = shortcuts.get_disjoint_mut([fetch, data]).ok()?;
            Some((fetch, data, Next { filter: None }))
        }
    }
}
