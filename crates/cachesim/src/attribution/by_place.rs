//! Attributions to places in memory: excess cycles to the code that waited and to the data for
//! which it waited, and lost lines to the places for which they were evicted.

use switchcost_design::Design;
use switchcost_design::result::{Detail, EvictorPlace, PlaceCost};

use super::kernel_code::{KernelBlocks, KernelCode};
use super::places::{Names, Places, Sum};
use crate::address::{KERNEL, owner};
use crate::machine::{
    Context, Departure, Levels, Listener, Lookup, Origin, Requester, RunContext, Took,
};
use crate::mappings::Mappings;

/// Owner of a line that replaced an evicted line: a program, or [`KERNEL`]; and whether the owner's
/// line is code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Evictor {
    program: u32,
    is_code: bool,
}

/// Attributions of one design's cycles and lost lines to places in memory.
#[derive(Debug)]
pub(crate) struct ByPlace {
    code: Places<Context>,
    data: Places<Context>,
    /// Number of evicted lines by the place of the line that replaced each; one element per cache.
    evictors: Vec<Places<Evictor>>,
    kernel: KernelCode,
}

impl Listener for ByPlace {
    const COMPARES: bool = true;

    fn new(levels: Levels) -> ByPlace {
        let evictors = std::iter::repeat_with(Places::new_data)
            .take(levels.caches)
            .collect();
        ByPlace {
            code: Places::new_code(),
            data: Places::new_data(),
            evictors,
            kernel: KernelCode::new(levels.all),
        }
    }

    #[inline]
    fn filled(&mut self, _: &Lookup<'_>, level: usize, _: Origin, _: u32) {
        self.kernel.filled(level);
    }

    #[inline]
    fn block_ended(&mut self, address: u64) {
        self.kernel.block_ended(address);
    }

    #[inline]
    fn ran(&mut self, address: u64, longer: i64, context: &RunContext<'_>) {
        self.code
            .add(address, longer, context.code, context.mappings);
    }

    #[inline]
    fn took(&mut self, lookup: &Lookup<'_>, took: &Took) {
        if took.longer != 0 && !lookup.is_code && !took.is_first_touch() {
            self.data.add(
                lookup.address,
                took.longer,
                lookup.context.code,
                lookup.context.mappings,
            );
        }
    }

    /// Records that a line of another owner left a cache because of this lookup.
    #[inline]
    fn left(&mut self, lookup: &Lookup<'_>, level: usize, line: Requester, how: Departure) {
        if line.owner() != lookup.requester.owner()
            && how.is_eviction()
            && let Some(evictors) = self.evictors.get_mut(level)
        {
            let &Lookup {
                address,
                is_code,
                context,
                ..
            } = lookup;
            let program = owner(context.code.program, address);
            evictors.add(address, 1, Evictor { program, is_code }, context.mappings);
        }
    }

    fn mappings_change(&mut self, mappings: &Mappings) {
        self.code.flush(mappings);
        self.data.flush(mappings);
        self.evictors
            .iter_mut()
            .for_each(|places| places.flush(mappings));
    }

    fn parts_begin(&mut self) {
        *self = ByPlace::new(Levels {
            caches: self.evictors.len(),
            all: self.kernel.levels(),
        });
    }
}

impl ByPlace {
    /// Adds to `detail` the `most` largest places of code, of data, and of evictors in each cache,
    /// and the kernel's functions. Places of data and of evictors with one name are added up.
    /// `kernel` has the instructions of the kernel's blocks.
    pub(crate) fn fill(
        &self,
        design: &Design,
        detail: &mut Detail,
        most: usize,
        (programs, kernel): (&[String], &KernelBlocks),
        names: &mut Names<'_>,
    ) {
        detail.kernel_functions = self.kernel.functions(kernel, names);
        detail.code = costs(&self.code, most, programs, &mut |_, _| None);
        detail.data = costs(&self.data, most, programs, names);
        for (level, places) in design.levels.iter().zip(&self.evictors) {
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
            detail
                .evictors
                .extend(places.largest(most, key, names).into_iter().map(place));
        }
    }
}

fn costs(
    places: &Places<Context>,
    most: usize,
    programs: &[String],
    names: &mut Names<'_>,
) -> Vec<PlaceCost> {
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
    places
        .largest(most, key, names)
        .into_iter()
        .map(cost)
        .collect()
}
