//! Counts lines lost to other processes, by the levels that missed the lines, and by kind of
//! request. Lines of data are also counted by instruction: the kind of a request also depends on
//! other requests, which this module does not see.

use std::collections::BTreeMap;

use switchcost_design::result::Detail;
use switchcost_record::prices::Kind;
use switchcost_reuse::{Access, Arrival, Classifier, LINE_BITS};

use crate::machine::{Levels, Listener, Lookup, Took};

/// Way in which lines were lost: the level that would have held the line and the farthest level
/// that missed it, the kind of request, and for data the address of the instruction.
type Group = ((usize, usize), Kind, Option<u64>);

/// Number of lost lines of all processes together.
#[derive(Debug)]
pub(crate) struct LostLines {
    caches: usize,
    instructions: u64,
    classifier: Classifier,
    lines: BTreeMap<Group, u64>,
}

/// Returns the age, in the classifier's unit, that is assumed for a lost line. `missed` is the
/// index of the farthest level that missed the line; each level multiplies the age by four.
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
            // The same address in two address spaces is two lines, except in the kernel's half.
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
                age: age(levels.1),
                chain: None,
            };
            let kind = self.classifier.kind(&arrival);
            let instruction = lookup.instruction.filter(|_| !lookup.is_code);
            *self.lines.entry((levels, kind, instruction)).or_default() += 1;
        }
    }

    fn report(&mut self, levels: &[String], detail: &mut Detail) {
        let named = self
            .lines
            .iter()
            .map(|(((found_alone, missed), kind, instruction), lines)| {
                let name = |level: &usize| levels[*level].clone();
                switchcost_design::result::LostLines {
                    found_alone: name(found_alone),
                    missed: name(missed),
                    kind: *kind,
                    instruction: *instruction,
                    lines: *lines,
                }
            });
        detail.lost_lines = named.collect();
    }
}
