//! Adds up samples that have the same stack.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use switchcost_facts::Root;
use switchcost_record::observation::{Frame, Module, SampledStacks, UserStack};

use super::layout::Sample;
use super::mappings::{Mappings, Place, is_for_runtime_code};
use super::runtime_code::RuntimeCode;
use crate::sums::trim_at_zero;

/// Maximum number of different stacks. Samples of further stacks are counted as lost.
const STACKS: usize = 1 << 16;

/// Maximum number of programs whose published names are read.
const PROGRAMS: usize = 64;

/// Shortest time between two reads of a process's mappings. Some addresses are in no mapping, and
/// each would cause a read.
const EACH: Duration = Duration::from_millis(10);

/// Name for an address without a mapping, for example if the process ended before its mappings were
/// read.
const UNKNOWN: &str = "[unknown]";

#[derive(Default)]
pub(crate) struct Sums {
    mappings: HashMap<u32, (Mappings, Instant)>,
    modules: Numbers<(String, u64)>,
    frames: Numbers<(u32, u64, Option<String>)>,
    runtime_code: HashMap<u32, RuntimeCode>,
    stacks: BTreeMap<Stack, (u64, u64)>,
    no_room: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Stack {
    process: u32,
    name: String,
    is_wait: bool,
    frames: Vec<u32>,
}

impl Sums {
    pub(crate) fn add(&mut self, sample: &Sample) {
        let stack = Stack {
            process: sample.process,
            name: String::from_utf8_lossy(trim_at_zero(&sample.name)).into_owned(),
            is_wait: sample.waits != 0,
            frames: self.frames_of(sample),
        };
        if self.stacks.len() >= STACKS && !self.stacks.contains_key(&stack) {
            self.no_room += sample.switches;
            return;
        }
        let sum = self.stacks.entry(stack).or_default();
        sum.0 += 1;
        sum.1 += sample.switches;
    }

    fn frames_of(&mut self, sample: &Sample) -> Vec<u32> {
        let frames = sample.frames().iter().enumerate();
        // A return address is that of the instruction after the call, which may already be in
        // another function.
        let places = frames.map(|(depth, &address)| {
            self.place(
                sample.process,
                address - u64::from(depth > 0 && address > 0),
            )
        });
        let places: Vec<Place> = places.collect();
        let number = |place: Place| {
            let module = self.modules.number(place.module);
            self.frames.number((module, place.offset, place.function))
        };
        places.into_iter().map(number).collect()
    }

    fn place(&mut self, process: u32, address: u64) -> Place {
        let mut place = self.place_in_file(process, address);
        if is_for_runtime_code(&place.module)
            && let Some((mappings, _)) = self.mappings.get(&process)
            && (self.runtime_code.len() < PROGRAMS || self.runtime_code.contains_key(&process))
        {
            let code = self.runtime_code.entry(process).or_default();
            place.function = code.name_at(process, mappings, address).map(str::to_owned);
            if place.function.is_some() {
                // Generated functions may move, but keep their names.
                place.offset = 0;
            }
        }
        place
    }

    fn place_in_file(&mut self, process: u32, address: u64) -> Place {
        let known =
            |mappings: &HashMap<u32, (Mappings, Instant)>| mappings.get(&process)?.0.find(address);
        if let Some(place) = known(&self.mappings) {
            return place;
        }
        // The mappings are out of date: the process is new, has executed a program, or has loaded a
        // library.
        if self
            .mappings
            .get(&process)
            .is_none_or(|(_, read)| read.elapsed() >= EACH)
            && let Ok(text) = Root::system().read(&format!("/proc/{process}/maps"))
            && !text.is_empty()
        {
            self.mappings
                .insert(process, (Mappings::parse(&text), Instant::now()));
        }
        known(&self.mappings).unwrap_or_else(|| Place {
            module: (UNKNOWN.to_owned(), 0),
            offset: 0,
            function: None,
        })
    }

    /// Removes an ended process, whose ID may be reused.
    pub(crate) fn forget(&mut self, process: u32) {
        self.mappings.remove(&process);
        self.runtime_code.remove(&process);
    }

    pub(crate) fn into_stacks(self, per_second: u64, lost: u64) -> SampledStacks {
        let stack = |(stack, (samples, switches)): (Stack, (u64, u64))| UserStack {
            process: stack.process,
            name: stack.name,
            is_wait: stack.is_wait,
            samples,
            switches,
            frames: stack.frames,
        };
        let frame = |(module, offset, function)| Frame {
            module,
            offset,
            function,
        };
        let mut stacks: Vec<UserStack> = self.stacks.into_iter().map(stack).collect();
        stacks.sort_by_key(|stack| std::cmp::Reverse(stack.switches));
        SampledStacks {
            per_second,
            lost_switches: lost + self.no_room,
            modules: self
                .modules
                .values
                .into_iter()
                .map(|(path, inode)| Module { path, inode })
                .collect(),
            frames: self.frames.values.into_iter().map(frame).collect(),
            stacks,
        }
    }
}

/// Numbers of values, in the order of their first occurrence.
struct Numbers<T> {
    numbers: BTreeMap<T, u32>,
    values: Vec<T>,
}

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Numbers {
            numbers: BTreeMap::new(),
            values: Vec::new(),
        }
    }
}

impl<T: Ord + Clone> Numbers<T> {
    fn number(&mut self, value: T) -> u32 {
        if let Some(&number) = self.numbers.get(&value) {
            return number;
        }
        let number = self.values.len() as u32;
        self.values.push(value.clone());
        self.numbers.insert(value, number);
        number
    }
}
