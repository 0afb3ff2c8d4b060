//! What is attributed to places in memory: excess cycles to the code that waited and to the data that it waited for, lines that others
//! lost to what came in for them.

use simulation_result::{EvictorPlace, PlaceCost};

use super::places::{Object, Places, Sum};
use crate::address::{KERNEL, owner};
use crate::mappings::Mappings;

/// Data and evictors are listed by address, so many of each, for whoever knows the names to add up.
const LISTED: usize = 1 << 15;

/// Where code runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Context {
    pub(crate) program: u32,
    pub(crate) cause: u32,
}

/// What is looked up: its first byte in the line or page, and whether it is an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lookup {
    pub(crate) address: u64,
    pub(crate) is_code: bool,
}

/// Whose line came in for others': a program's, or [`KERNEL`]'s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Evictor {
    program: u32,
    is_code: bool,
}

/// All of one design.
#[derive(Debug)]
pub(crate) struct ByPlace {
    code: Places<Context>,
    data: Places<Context>,
    /// By cache.
    evictors: Vec<Places<Evictor>>,
}

impl ByPlace {
    /// Of so many caches.
    pub(crate) fn new(caches: usize) -> ByPlace {
        let evictors = std::iter::repeat_with(Places::of_data).take(caches).collect();
        ByPlace { code: Places::of_code(), data: Places::of_data(), evictors }
    }

    /// A block at this address took longer (or less long) than with a machine of its own.
    #[inline]
    pub(crate) fn add_code(&mut self, address: u64, excess: i64, context: Context, mappings: &Mappings) {
        self.code.add(address, excess, context, mappings);
    }

    /// So did a lookup, if it was one of data.
    #[inline]
    pub(crate) fn add_lookup(&mut self, lookup: Lookup, excess: i64, context: Context, mappings: &Mappings) {
        if excess != 0 && !lookup.is_code {
            self.data.add(lookup.address, excess, context, mappings);
        }
    }

    /// Somebody else lost a line of a cache in this lookup.
    #[inline]
    pub(crate) fn add_evicted(&mut self, cache: usize, lookup: Lookup, context: Context, mappings: &Mappings) {
        let Lookup { address, is_code } = lookup;
        let program = owner(context.program, address);
        self.evictors[cache].add(address, 1, Evictor { program, is_code }, mappings);
    }

    /// Looks the places up, before the mappings change.
    pub(crate) fn settle(&mut self, mappings: &Mappings) {
        self.code.settle(mappings);
        self.data.settle(mappings);
        self.evictors.iter_mut().for_each(|places| places.settle(mappings));
    }

    /// The blocks of code with the most excess.
    pub(crate) fn code<'a>(&self, most: usize, programs: &impl Fn(u32) -> &'a str) -> Vec<PlaceCost> {
        costs(&self.code, most, programs)
    }

    /// The addresses of data with the most excess.
    pub(crate) fn data<'a>(&self, programs: &impl Fn(u32) -> &'a str) -> Vec<PlaceCost> {
        costs(&self.data, LISTED, programs)
    }

    /// For each cache the addresses that others lost most lines for.
    pub(crate) fn evictors<'a>(&self, names: &[String], programs: &impl Fn(u32) -> &'a str) -> Vec<EvictorPlace> {
        let program = |program: u32| (program != KERNEL).then(|| programs(program));
        let of_cache = |(level, places): (&String, &Places<Evictor>)| {
            let place = |sum: Sum<'_, Evictor>| EvictorPlace {
                level: level.clone(),
                program: program(sum.context.program).map(str::to_owned),
                is_code: sum.context.is_code,
                object: sum.object.map(path),
                build_id: sum.object.and_then(build_id),
                offset: sum.offset,
                symbol: None,
                lines: sum.sum as u64,
            };
            let key = |evictor: Evictor| (program(evictor.program), evictor.is_code);
            places.largest(LISTED, key).into_iter().map(place).collect::<Vec<_>>()
        };
        names.iter().zip(&self.evictors).flat_map(of_cache).collect()
    }
}

fn costs<'a>(places: &Places<Context>, most: usize, programs: &impl Fn(u32) -> &'a str) -> Vec<PlaceCost> {
    let cost = |sum: Sum<'_, Context>| PlaceCost {
        program: programs(sum.context.program).to_owned(),
        cause: sum.context.cause,
        object: sum.object.map(path),
        build_id: sum.object.and_then(build_id),
        offset: sum.offset,
        symbol: None,
        line: None,
        excess_cycles: sum.sum,
    };
    let key = |context: Context| (programs(context.program), context.cause);
    places.largest(most, key).into_iter().map(cost).collect()
}

fn path(object: &Object) -> String {
    object.path.clone()
}

fn build_id(object: &Object) -> Option<String> {
    object.build_id.clone()
}
