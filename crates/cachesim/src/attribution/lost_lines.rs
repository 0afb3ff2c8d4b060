//! Lines lost to others, by the level in which the process would have found them alone, and by the
//! kind of request.

use std::collections::BTreeMap;

use switchcost_design::result::Detail;
use switchcost_record::profile::Kind;
use switchcost_reuse::{Access, Arrival, Classifier, LINE_BITS};

use crate::machine::{Levels, Listener, Lookup, Took};

/// Lost lines of all processes.
#[derive(Debug)]
pub(crate) struct LostLines {
    caches: usize,
    instructions: u64,
    classifier: Classifier,
    lines: BTreeMap<((usize, usize), Kind), u64>,
}

/// Returns the age that the classifier assumes for lines found after a level: four times as old
/// from each level to the next.
fn age(missed: usize) -> u32 {
    1 << (10 + 2 * missed.min(10))
}

impl Listener for LostLines {
    const COMPARES: bool = true;

    fn new(levels: Levels) -> LostLines {
        LostLines {
            caches: levels.caches,
            instructions: 0,
            classifier: Classifier::default(),
            lines: BTreeMap::new(),
        }
    }

    #[inline]
    fn executed(&mut self, instructions: u64) {
        self.instructions += instructions;
    }

    #[inline]
    fn took(&mut self, lookup: &Lookup<'_>, took: &Took) {
        if lookup.level < self.caches
            && let Some(levels) = took.lost_in(lookup.level)
        {
            let access = match (lookup.is_code, lookup.is_store) {
                (true, _) => Access::Fetch,
                (_, true) => Access::Store,
                _ => Access::Load,
            };
            // One address in two spaces is two lines, except for the kernel's lines.
            let space = if lookup.requester.is_kernel() {
                0
            } else {
                lookup.context.space + 1
            };
            let arrival = Arrival {
                line: lookup.address >> LINE_BITS ^ u64::from(space) << (u64::BITS - 20),
                at: self.instructions,
                instruction: lookup.instruction.unwrap_or(0),
                access,
                age: Some(age(levels.1)),
                chain: None,
            };
            *self
                .lines
                .entry((levels, self.classifier.kind(&arrival)))
                .or_default() += 1;
        }
    }

    fn report(&mut self, levels: &[String], detail: &mut Detail) {
        let named = self
            .lines
            .iter()
            .map(|(((found_alone, missed), kind), lines)| {
                let name = |level: &usize| levels[*level].clone();
                switchcost_design::result::LostLines {
                    found_alone: name(found_alone),
                    missed: name(missed),
                    kind: *kind,
                    lines: *lines,
                }
            });
        detail.lost_lines = named.collect();
    }
}
