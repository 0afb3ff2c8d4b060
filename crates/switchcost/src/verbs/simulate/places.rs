//! Names for the places in code and data that excess cycles and evictions are attributed to.

use std::fs::File;
use std::path::Path;

use simulation_result::{DesignResult, EvictorPlace, PlaceCost};
use symbols::Symbols;
use trace::KernelSymbols;

/// The kernel's symbols that a trace has; none where it has none, or is no whole trace.
pub(super) fn symbols_of(trace: &Path) -> KernelSymbols {
    let file = File::open(trace).ok().filter(|file| file.metadata().is_ok_and(|facts| facts.is_file()));
    file.and_then(|mut file| trace::kernel_symbols(&mut file).ok()).unwrap_or_default()
}

/// Fills in symbols and lines, where the traced files are still there and say them; those of the kernel by its own table. What has one
/// name is added up then, and of data and evictors as many are left as of code.
pub(super) fn name(designs: &mut [DesignResult], kernel: &KernelSymbols, most: usize) {
    let mut names = Names { kernel, of_files: Symbols::default() };
    for design in designs {
        design.code.iter_mut().for_each(|cost| names.name_code(cost));
        for cost in &mut design.data {
            cost.symbol = names.of_data(cost.object.as_deref(), cost.build_id.as_deref(), cost.offset);
        }
        add_up(&mut design.data);
        design.data.truncate(most);
        for evictor in &mut design.evictors {
            evictor.symbol = names.of_data(evictor.object.as_deref(), evictor.build_id.as_deref(), evictor.offset);
        }
        add_up(&mut design.evictors);
        keep_of_each_level(&mut design.evictors, most);
    }
}

struct Names<'a> {
    kernel: &'a KernelSymbols,
    of_files: Symbols,
}

impl Names<'_> {
    fn name_code(&mut self, cost: &mut PlaceCost) {
        let Some(object) = &cost.object else {
            cost.symbol = self.kernel.at(cost.offset).map(str::to_owned);
            return;
        };
        let place = self.of_files.resolve(Path::new(object), cost.build_id.as_deref(), cost.offset);
        cost.symbol = place.function;
        cost.line = place.line;
    }

    fn of_data(&mut self, object: Option<&str>, build_id: Option<&str>, offset: u64) -> Option<String> {
        match object {
            Some(object) => self.of_files.symbol_or_section(Path::new(object), build_id, offset),
            None => self.kernel.at(offset).map(str::to_owned),
        }
    }
}

/// Parts of what has one name.
trait Part {
    /// What parts of the same have in common; without a name each is another.
    fn whole(&self) -> (impl Ord + '_, Option<&str>, Option<u64>);
    fn add(&mut self, other: &Self);
    fn size(&self) -> i64;
}

impl Part for PlaceCost {
    fn whole(&self) -> (impl Ord + '_, Option<&str>, Option<u64>) {
        let offset = self.symbol.is_none().then_some(self.offset);
        ((&self.program, self.cause, &self.object), self.symbol.as_deref(), offset)
    }

    fn add(&mut self, other: &PlaceCost) {
        self.excess_cycles = self.excess_cycles.saturating_add(other.excess_cycles);
    }

    fn size(&self) -> i64 {
        self.excess_cycles
    }
}

impl Part for EvictorPlace {
    fn whole(&self) -> (impl Ord + '_, Option<&str>, Option<u64>) {
        let offset = self.symbol.is_none().then_some(self.offset);
        ((&self.level, &self.program, self.is_code, &self.object), self.symbol.as_deref(), offset)
    }

    fn add(&mut self, other: &EvictorPlace) {
        self.lines = self.lines.saturating_add(other.lines);
    }

    fn size(&self) -> i64 {
        i64::try_from(self.lines).unwrap_or(i64::MAX)
    }
}

/// Adds up what is a part of the same, the largest first.
fn add_up<P: Part>(parts: &mut Vec<P>) {
    parts.sort_by(|a, b| a.whole().cmp(&b.whole()));
    parts.dedup_by(|next, first| {
        let is_same = next.whole() == first.whole();
        if is_same {
            first.add(next);
        }
        is_same
    });
    parts.sort_by_key(|part| std::cmp::Reverse(part.size()));
}

/// Levels stay in the order of their names' first evictor.
fn keep_of_each_level(evictors: &mut Vec<EvictorPlace>, most: usize) {
    let mut kept: Vec<(String, usize)> = Vec::new();
    evictors.retain(|evictor| {
        let place = kept.iter().position(|(level, _)| *level == evictor.level).unwrap_or_else(|| {
            kept.push((evictor.level.clone(), 0));
            kept.len() - 1
        });
        kept[place].1 += 1;
        kept[place].1 <= most
    });
}
