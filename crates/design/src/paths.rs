//! Checks whether the levels on the path of instruction fetches fit together, and those on the path
//! of loads and stores.

use crate::error::{Checked, Part, quoted};
use crate::{AddressKind, Design, Holds, Inclusion, Level, TlbLevel, WritePolicy};

pub(crate) fn check(design: &Design) -> Checked {
    for kind in [Holds::Instructions, Holds::Data] {
        let is_on = |holds: Holds| holds == Holds::Both || holds == kind;
        let path: Vec<&Level> = design
            .levels
            .iter()
            .filter(|level| is_on(level.holds))
            .collect();
        Part::design(design).require(
            !path.is_empty(),
            format_args!("no level holds {kind}"),
            format_args!("add a [[level]] with holds = \"{kind}\" or \"both\""),
        )?;
        for (position, level) in path.iter().enumerate() {
            check_level(level, &path[..position])?;
        }
        let tlbs: Vec<&TlbLevel> = design.tlbs.iter().filter(|tlb| is_on(tlb.holds)).collect();
        tlbs.windows(2)
            .try_for_each(|pair| check_pages(pair[0], pair[1]))?;
    }
    let data: Vec<&Level> = design
        .levels
        .iter()
        .filter(|level| level.holds.data())
        .collect();
    data.windows(2)
        .try_for_each(|pair| check_stores(pair[0], pair[1]))
}

fn check_level(level: &Level, before: &[&Level]) -> Checked {
    let place = Part::level(level);
    for earlier in before {
        check_line(&place, level, earlier)?;
        check_addresses(&place, level, earlier)?;
    }
    match level.inclusion {
        Inclusion::Neither => Ok(()),
        Inclusion::Inclusive => check_inclusive(&place, level, before),
        Inclusion::Exclusive => check_exclusive(&place, level, before),
    }
}

fn check_line(place: &Part, level: &Level, earlier: &Level) -> Checked {
    place.require(
        level.line >= earlier.line,
        format_args!(
            "line is {}, less than the {} of level {} before it",
            level.line,
            earlier.line,
            quoted(&earlier.name)
        ),
        "lengthen this line, or shorten that one",
    )
}

/// Checks that a level after a physically tagged level also uses physical addresses, because a line
/// evicted from the earlier level is known only by its physical address.
fn check_addresses(place: &Part, level: &Level, earlier: &Level) -> Checked {
    if earlier.tag == AddressKind::Virtual {
        return Ok(());
    }
    for (field, kind) in [("index", level.index), ("tag", level.tag)] {
        place.require(
            kind == AddressKind::Physical,
            format_args!(
                "{field} is virtual, but level {} before it has physical tags",
                quoted(&earlier.name)
            ),
            format_args!("set {field} = \"physical\""),
        )?;
    }
    Ok(())
}

fn check_inclusive(place: &Part, level: &Level, before: &[&Level]) -> Checked {
    check_not_first(place, before, "inclusive")?;
    before.iter().try_for_each(|earlier| {
        place.require(
            level.size >= earlier.size,
            format_args!(
                "size is {}, less than the {} of level {}, which an inclusive level includes",
                level.size,
                earlier.size,
                quoted(&earlier.name)
            ),
            "enlarge it, or set inclusion = \"neither\"",
        )?;
        check_same_tags(place, level, earlier)
    })
}

fn check_exclusive(place: &Part, level: &Level, before: &[&Level]) -> Checked {
    check_not_first(place, before, "exclusive")?;
    if let Some(last) = before.last() {
        // A line that moves out of stream buffers would lose its modified state, which they cannot
        // store.
        place.require(
            last.streams.is_none(),
            format_args!(
                "inclusion is exclusive, but level {} before it has stream buffers",
                quoted(&last.name)
            ),
            "leave streams out there, or set inclusion = \"neither\" here",
        )?;
    }
    before.iter().try_for_each(|earlier| {
        place.require(
            level.line == earlier.line,
            format_args!(
                "line is {}, not the {} of level {}, whose lines an exclusive level takes",
                level.line,
                earlier.line,
                quoted(&earlier.name)
            ),
            "use one line size, or set inclusion = \"neither\"",
        )?;
        place.require(
            !earlier.holds.data() || earlier.write == WritePolicy::Back,
            format_args!(
                "inclusion is exclusive, but level {} before it is write-through",
                quoted(&earlier.name)
            ),
            "set write = \"back\" there, or inclusion = \"neither\" here",
        )?;
        check_same_tags(place, level, earlier)
    })
}

fn check_not_first(place: &Part, before: &[&Level], kind: &str) -> Checked {
    place.require(
        !before.is_empty(),
        format_args!("inclusion is {kind}, but no level is before it"),
        "leave inclusion out",
    )
}

/// Checks that two levels have the same kind of tags, so that each line of one level corresponds to
/// exactly one line of the other for all processes.
fn check_same_tags(place: &Part, level: &Level, earlier: &Level) -> Checked {
    place.require(
        level.tag == earlier.tag,
        format_args!(
            "inclusion is {} and tags are {}, but level {} before it has {} tags",
            level.inclusion,
            level.tag,
            quoted(&earlier.name),
            earlier.tag
        ),
        "set the same tag on both, or inclusion = \"neither\"",
    )
}

/// Checks that `earlier` passes no stores on to `level` if `level` is exclusive.
fn check_stores(earlier: &Level, level: &Level) -> Checked {
    Part::level(level).require(
        level.inclusion != Inclusion::Exclusive || earlier.allocates_on_write(),
        format_args!(
            "inclusion is exclusive, but level {} before it allocates no lines on writes",
            quoted(&earlier.name)
        ),
        "leave write_allocate out there, or set inclusion = \"neither\" here",
    )
}

fn check_pages(earlier: &TlbLevel, tlb: &TlbLevel) -> Checked {
    Part::tlb(tlb).require(
        tlb.page >= earlier.page,
        format_args!(
            "page is {}, less than the {} of tlb {} before it",
            tlb.page,
            earlier.page,
            quoted(&earlier.name)
        ),
        "use one page size",
    )
}
