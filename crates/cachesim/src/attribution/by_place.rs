//! What is attributed to places in memory: excess cycles to the code that waited and to the data that it waited for, lines that others
//! lost to what came in for them.

use simulation_result::{DesignResult, EvictorPlace, PlaceCost};

use super::places::{Names, Places, Sum};
use crate::address::{KERNEL, owner};
use crate::mappings::Mappings;

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

    /// What one design makes of it: so many blocks of code, data and, of each cache, evictors, the largest first. Data and evictors of one name
    /// are added up.
    pub(crate) fn fill(&self, result: &mut DesignResult, most: usize, programs: &[String], names: &mut Names<'_>) {
        result.code = costs(&self.code, most, programs, &mut |_, _| None);
        result.data = costs(&self.data, most, programs, names);
        for (level, places) in result.design.levels.iter().zip(&self.evictors) {
            let program = |number: u32| (number != KERNEL).then(|| &programs[number as usize]);
            let key = |evictor: Evictor| (program(evictor.program), evictor.is_code);
            let place = |sum: Sum<'_, Evictor>| EvictorPlace {
                level: level.name.clone(),
                program: program(sum.context.program).cloned(),
                is_code: sum.context.is_code,
                object: sum.object.map(|object| object.path.clone()),
                build_id: sum.object.and_then(|object| object.build_id.clone()),
                offset: sum.offset,
                symbol: sum.symbol,
                lines: sum.sum as u64,
            };
            result.evictors.extend(places.largest(most, key, names).into_iter().map(place));
        }
    }
}

fn costs(places: &Places<Context>, most: usize, programs: &[String], names: &mut Names<'_>) -> Vec<PlaceCost> {
    let cost = |sum: Sum<'_, Context>| PlaceCost {
        program: programs[sum.context.program as usize].clone(),
        cause: sum.context.cause,
        object: sum.object.map(|object| object.path.clone()),
        build_id: sum.object.and_then(|object| object.build_id.clone()),
        offset: sum.offset,
        symbol: sum.symbol,
        line: None,
        excess_cycles: sum.sum,
    };
    let key = |context: Context| (&programs[context.program as usize], context.cause);
    places.largest(most, key, names).into_iter().map(cost).collect()
}
