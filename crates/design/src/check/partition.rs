//! Checks the cache partition of a level: the ways that each program may fill.

use super::{LONGEST_DESIGN_NAME_BYTES, is_clean};
use crate::error::{Checked, Part, quoted};
use crate::{Level, Partition};

/// Largest number of ways of a partitioned level: the bits of a capacity bitmask.
const MOST_PARTITIONED_WAYS: u64 = 64;
/// Largest number of masks in a partition, which exceeds the classes of service of any processor.
const MOST_CLASSES: usize = 64;

pub(super) fn check(place: &Part, level: &Level) -> Checked {
    let Some(partition) = &level.partition else {
        return Ok(());
    };
    let ways = level.ways.of(level.lines());
    place.require(
        ways <= MOST_PARTITIONED_WAYS,
        format_args!("partition is set on {ways} ways, more than {MOST_PARTITIONED_WAYS}"),
        "use fewer ways, or leave partition out",
    )?;
    place.require(
        (1..=MOST_CLASSES).contains(&partition.masks().count()),
        format_args!(
            "partition has {} capacity bitmasks, not 1 to {MOST_CLASSES}",
            partition.masks().count()
        ),
        "leave partition out if all programs may fill all ways",
    )?;
    for (key, mask) in partition.masks() {
        let is_name = !key.is_empty() && key.len() <= LONGEST_DESIGN_NAME_BYTES && is_clean(key);
        place.require(
            is_name && !Partition::is_numberless(key),
            format_args!(
                "partition has {}, which is no name of a program, process:NUMBER or default",
                quoted(key)
            ),
            "trace info shows names and numbers",
        )?;
        place.require(
            mask.0 != 0 && u128::from(mask.0) >> ways == 0,
            format_args!(
                "partition has {mask} for {}, not a capacity bitmask of {ways} ways: 1 to {:x}",
                quoted(key),
                (1_u128 << ways) - 1
            ),
            "one bit is one way, as in resctrl's schemata",
        )?;
    }
    Ok(())
}
