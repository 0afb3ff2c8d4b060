//! A level of a hierarchy: its sets, and the choice of the line that leaves. The module knows no
//! other levels.

use std::collections::{HashMap, VecDeque};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use switchcost_design::Replacement;
use switchcost_design::result::LevelCounts;

use super::address::{Address, Tag};
use super::fault::Fault;
use super::prefetchers::{PageSeen, StrideSeen};
use super::shape::Shape;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    pub(crate) address: Address,
    pub(crate) is_modified: bool,
    pub(crate) owner: u32,
    /// Process that ran when the line came in.
    pub(crate) by: u32,
    used: u64,
    came: u64,
    interval: u8,
    /// Signature of the instruction that brought the line in.
    pub(crate) signature: u64,
    is_reused: bool,
    /// Whether the line was prefetched and not looked up since.
    pub(crate) is_unused: bool,
}

impl Line {
    pub(crate) fn new(address: Address, is_modified: bool, run: &super::stack::Run<'_>) -> Line {
        Line {
            address,
            is_modified,
            owner: run.owner,
            by: run.process,
            used: 0,
            came: 0,
            interval: 0,
            signature: run.signature,
            is_reused: false,
            is_unused: false,
        }
    }
}

/// A run of fills: the line that would continue the run, and the number of fills.
pub(crate) struct Run {
    pub(crate) waits_for: Address,
    pub(crate) length: u32,
}

#[derive(Clone, Default)]
pub(crate) struct Stream {
    /// Prefetched lines, each with its arrival time.
    pub(crate) lines: VecDeque<(Address, u64)>,
    /// Last line that was prefetched.
    pub(crate) last: Option<Address>,
    pub(crate) used: u64,
}

pub(crate) struct Cache {
    pub(crate) shape: Shape,
    pub(crate) sets: Vec<Vec<Option<Line>>>,
    /// Lines of the victim cache; the line that left last is the last.
    pub(crate) victims: Vec<Line>,
    pub(crate) streams: Vec<Stream>,
    /// Runs of fills, the oldest first.
    pub(crate) runs: Vec<Run>,
    /// Time at which the bus has carried all lines so far.
    pub(crate) bus_free_at: u64,
    /// Times at which the stores in the write buffers will be written.
    pub(crate) pending: VecDeque<u64>,
    pub(crate) written_last: u64,
    pub(crate) counts: LevelCounts,
    /// Tracked strides, the oldest first.
    pub(crate) strides: Vec<StrideSeen>,
    pub(crate) pages: Vec<PageSeen>,
    /// Ways that the running process may fill, one bit each.
    open: u64,
    /// Policy counter from 0 to 1023 (512 plus the misses of the leader sets for SRRIP, minus those
    /// for BRRIP), and the number of lines that BRRIP brought in.
    duel: (i64, u64),
    /// SHiP counters by signature.
    histories: HashMap<u64, u8>,
    tree: Vec<Vec<bool>>,
    random: ChaCha8Rng,
    ticks: u64,
    fault: Option<Fault>,
}

impl Cache {
    pub(crate) fn new(shape: Shape, fault: Option<Fault>) -> Cache {
        let streams = shape.streams.map_or(0, |streams| streams.count as usize);
        Cache {
            sets: vec![vec![None; shape.ways]; shape.sets as usize],
            tree: vec![vec![false; shape.ways]; shape.sets as usize],
            victims: Vec::new(),
            streams: vec![Stream::default(); streams],
            runs: Vec::new(),
            bus_free_at: 0,
            pending: VecDeque::new(),
            written_last: 0,
            counts: LevelCounts {
                name: shape.name.clone(),
                ..LevelCounts::default()
            },
            strides: Vec::new(),
            pages: Vec::new(),
            open: u64::MAX,
            duel: (512, 0),
            histories: HashMap::new(),
            random: ChaCha8Rng::seed_from_u64(shape.seed),
            ticks: 0,
            shape,
            fault,
        }
    }

    pub(crate) fn tick(&mut self) -> u64 {
        self.ticks += 1;
        self.ticks
    }

    pub(crate) fn tag(&self, address: Address) -> Tag {
        address.tag(&self.shape)
    }

    pub(crate) fn find(&self, address: Address) -> Option<(usize, usize)> {
        let set = address.set(&self.shape);
        self.way_of(set, self.tag(address)).map(|way| (set, way))
    }

    pub(crate) fn way_of(&self, set: usize, tag: Tag) -> Option<usize> {
        self.sets[set]
            .iter()
            .position(|line| line.is_some_and(|line| self.tag(line.address) == tag))
    }

    pub(crate) fn find_victim(&self, address: Address) -> Option<usize> {
        self.victims
            .iter()
            .position(|line| self.tag(line.address) == self.tag(address))
    }

    /// Returns the line if the main array or the victim cache holds it.
    pub(crate) fn holding(&mut self, address: Address) -> Option<&mut Line> {
        if let Some((set, way)) = self.find(address) {
            return self.sets[set][way].as_mut();
        }
        self.find_victim(address)
            .map(|index| &mut self.victims[index])
    }

    /// Sets the ways that the running process may fill.
    pub(crate) fn let_fill(&mut self, program: &str, process: u32) {
        let mask = self
            .shape
            .partition
            .as_ref()
            .and_then(|partition| partition.bitmask(program, process));
        self.open = mask
            .filter(|_| self.fault != Some(Fault::PartitionIsForgotten))
            .map_or(u64::MAX, |mask| mask.0);
    }

    fn is_open(&self, way: usize) -> bool {
        way >= 64 || self.open & 1 << way != 0
    }

    fn history(&mut self, signature: u64) -> &mut u8 {
        self.histories.entry(signature).or_insert(1)
    }

    /// Updates the replacement state for a line that was found.
    pub(crate) fn touch(&mut self, set: usize, way: usize) {
        let now = self.tick();
        let line = self.sets[set][way].as_mut().expect("found");
        line.used = now;
        line.interval = 0;
        line.is_reused = true;
        let signature = line.signature;
        let history = self.history(signature);
        *history = (*history + 1).min(7);
        let line = self.sets[set][way].as_mut().expect("found");
        if self.fault == Some(Fault::FifoSeesHits) {
            line.came = now;
        }
        self.turn_away(set, way);
    }

    /// Makes room in the line's set and inserts the line; returns the line that was evicted for
    /// this, if any.
    pub(crate) fn put(&mut self, mut line: Line) -> Option<Line> {
        let set = line.address.set(&self.shape);
        let empty =
            (0..self.shape.ways).find(|&way| self.is_open(way) && self.sets[set][way].is_none());
        let way = empty.unwrap_or_else(|| self.leaving_way(set));
        self.remember(self.sets[set][way]);
        let now = self.tick();
        (line.used, line.came, line.is_reused) = (now, now, false);
        line.interval = self.comes_in_with(set, line.signature);
        if self.fault == Some(Fault::SrripComesInWithThree) {
            line.interval = 3;
        }
        let left = self.sets[set][way].replace(line);
        if self.fault != Some(Fault::TreeForgetsFills) {
            self.turn_away(set, way);
        }
        left
    }

    /// Updates SHiP for a line that is replaced: a line that was never found counts against other
    /// lines of its instruction.
    fn remember(&mut self, left: Option<Line>) {
        let Some(left) = left.filter(|left| !left.is_reused) else {
            return;
        };
        if self.fault != Some(Fault::ShipForgivesAll) {
            let history = self.history(left.signature);
            *history = history.saturating_sub(1);
        }
    }

    /// Returns the prediction of a line that comes in.
    fn comes_in_with(&mut self, set: usize, signature: u64) -> u8 {
        let replacement = self.shape.replacement;
        match replacement {
            Replacement::Ship if *self.history(signature) == 0 => 3,
            Replacement::Drrip if self.is_bimodal(set) => {
                self.duel.1 += 1;
                if self.duel.1.is_multiple_of(32) { 2 } else { 3 }
            }
            _ => 2,
        }
    }

    /// Returns whether a set uses BRRIP, and updates the duel if the set is a leader.
    fn is_bimodal(&mut self, set: usize) -> bool {
        let sets = self.shape.sets as usize;
        let period = if sets < 8 { sets } else { (sets / 32).max(8) };
        let score = &mut self.duel.0;
        match set % period {
            0 => *score = (*score + 1).min(1023),
            1 => *score = (*score - 1).max(0),
            _ => return *score > 512 && self.fault != Some(Fault::DrripIsSrrip),
        }
        set % period == 1
    }

    /// Returns the way that leaves in a set that is full.
    fn leaving_way(&mut self, set: usize) -> usize {
        let open: Vec<usize> = (0..self.shape.ways)
            .filter(|&way| self.is_open(way))
            .collect();
        let lines = &mut self.sets[set];
        let full = |line: &Option<Line>| line.expect("the set is full");
        let open_ways = || open.iter().copied();
        let first_by = |key: &dyn Fn(Line) -> u64| {
            let first = open_ways().min_by_key(|&way| key(full(&lines[way])));
            first.expect("a way")
        };
        match self.shape.replacement {
            Replacement::Lru if self.fault == Some(Fault::LruTakesNewest) => {
                first_by(&|line| u64::MAX - line.used)
            }
            Replacement::Lru => first_by(&|line| line.used),
            Replacement::Fifo => first_by(&|line| line.came),
            Replacement::Random => open[self.random.next_u32() as usize % open.len()],
            Replacement::TreePlru => pointed_at(&self.tree[set], self.shape.ways, &open),
            Replacement::Srrip | Replacement::Drrip | Replacement::Ship => loop {
                if let Some(way) = open_ways().find(|&way| full(&lines[way]).interval == 3) {
                    break way;
                }
                open_ways()
                    .for_each(|way| lines[way].as_mut().expect("the set is full").interval += 1);
            },
        }
    }

    /// Turns the tree's bits away from a way. Node 1 is the root; node n has the children 2n (lower
    /// half) and 2n + 1. A set bit points to the upper half.
    fn turn_away(&mut self, set: usize, way: usize) {
        if self.shape.replacement != Replacement::TreePlru {
            return;
        }
        let (mut node, mut first, mut ways) = (1, 0, self.shape.ways);
        while ways > 1 {
            ways /= 2;
            let is_upper = way >= first + ways;
            self.tree[set][node] = !is_upper;
            node = 2 * node + usize::from(is_upper);
            first += if is_upper { ways } else { 0 };
        }
    }

    /// Returns all sets and ways, ascending.
    pub(crate) fn places(&self) -> Vec<(usize, usize)> {
        (0..self.sets.len())
            .flat_map(|set| (0..self.shape.ways).map(move |way| (set, way)))
            .collect()
    }

    /// Resets the order of the lines; the caller removes the lines themselves.
    pub(crate) fn reset_replacement(&mut self) {
        self.tree.iter_mut().flatten().for_each(|bit| *bit = false);
    }
}

/// Follows the tree's bits to a way, skipping halves without an open way.
fn pointed_at(tree: &[bool], ways: usize, open: &[usize]) -> usize {
    let (mut node, mut first, mut ways) = (1, 0, ways);
    while ways > 1 {
        ways /= 2;
        let lower = first..first + ways;
        let upper = first + ways..first + 2 * ways;
        let has_any = |half: &std::ops::Range<usize>| open.iter().any(|way| half.contains(way));
        let is_upper = if tree[node] {
            has_any(&upper)
        } else {
            !has_any(&lower)
        };
        node = 2 * node + usize::from(is_upper);
        first += if is_upper { ways } else { 0 };
    }
    first
}
