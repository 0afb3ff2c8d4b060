//! Checks the ways of a level that each program may fill.

use super::{LONGEST_DESIGN_NAME_BYTES, is_clean};
use crate::error::{Part, UnrealisableDesign, quoted};
use crate::{Level, Partition};

/// Number of bits of a capacity bitmask.
const MOST_PARTITIONED_WAYS: u64 = 64;
/// Largest number of masks, which exceeds the classes of service of any processor.
const MOST_CLASSES: usize = 64;

pub(super) fn check(place: &Part, level: &Level) -> Result<(), UnrealisableDesign> {
    let Some(partition) = &level.partition else {
        return Ok(());
    };
    let ways = level.ways.of(level.lines());
    place.require(
        ways <= MOST_PARTITIONED_WAYS,
        "partition",
        format_args!("one of {ways} ways"),
        format_args!("at most {MOST_PARTITIONED_WAYS} ways"),
        "take fewer ways, or leave partition out",
    )?;
    place.require(
        (1..=MOST_CLASSES).contains(&partition.masks().count()),
        "partition",
        format_args!("{} capacity bitmasks", partition.masks().count()),
        format_args!("1 to {MOST_CLASSES}"),
        "leave partition out where all programs fill all ways",
    )?;
    for (key, mask) in partition.masks() {
        let is_name = !key.is_empty() && key.len() <= LONGEST_DESIGN_NAME_BYTES && is_clean(key);
        place.require(
            is_name && !Partition::is_numberless(key),
            "partition",
            quoted(key),
            "the name of a program as the trace has it, process:NUMBER, or default",
            "see trace info for names and numbers",
        )?;
        place.require(
            mask.0 != 0 && u128::from(mask.0) >> ways == 0,
            "partition",
            format_args!("{mask} for {}", quoted(key)),
            format_args!(
                "a capacity bitmask of one or more of {ways} ways: 1 to {:x}",
                (1_u128 << ways) - 1
            ),
            "one bit is one way, as in resctrl's schemata",
        )?;
    }
    Ok(())
}
