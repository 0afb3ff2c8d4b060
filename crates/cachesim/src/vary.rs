//! Families of designs for sweeps: `L1D.size=4KiB,8KiB` makes two designs of one.

mod field;
mod set;
mod value;

use switchcost_design::{Design, UnrealisableDesign};

use field::{Field, Target};
use value::Value;

/// More than anyone reads; bounds memory.
const MOST_DESIGNS: usize = 4096;

/// Why a design cannot be varied so. Reads well behind "failed to vary the design: ".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VaryError {
    /// Not of the form.
    #[error(
        "found {found:?}, need LEVEL.FIELD=VALUE,VALUE... such as L1D.size=4KiB,8KiB or L1I+L1D.ways=1,2,4"
    )]
    Form {
        /// The text.
        found: String,
    },
    /// No such level or TLB.
    #[error(
        "{place}.{field}: found no level or tlb {place:?} in design {design:?}, need one of {known}"
    )]
    UnknownPlace {
        /// The name.
        place: String,
        /// The field that was meant.
        field: String,
        /// The design.
        design: String,
        /// The names that there are.
        known: String,
    },
    /// No such field, or none that can be varied.
    #[error("{place}.{field}: found no field {field:?} to vary, need one of {known}")]
    UnknownField {
        /// The level or TLB.
        place: String,
        /// The field.
        field: String,
        /// Those that can be varied.
        known: String,
    },
    /// Not a value of the field.
    #[error("{place}.{field}: {message}")]
    Value {
        /// The level or TLB.
        place: String,
        /// The field.
        field: String,
        /// What was found and needed.
        message: String,
    },
    /// The same value or the same field twice.
    #[error("{what}: found it twice, need it once; remove one")]
    Twice {
        /// The field, with its value where that is meant.
        what: String,
    },
    /// Too many.
    #[error("found {found} designs, need at most {MOST_DESIGNS}; give fewer values")]
    TooMany {
        /// How many they would be.
        found: String,
    },
    /// A combination that could not be built.
    #[error("{design}: {unrealisable}")]
    Unrealisable {
        /// The varied design's name.
        design: String,
        /// What is wrong with it.
        unrealisable: Box<UnrealisableDesign>,
    },
}

/// One field of some levels, and the values it takes.
struct Axis {
    places: String,
    field: Field,
    targets: Vec<Target>,
    values: Vec<Value>,
}

/// All combinations of the values that `axes` name, the last axis fastest. Without axes: the design itself.
///
/// # Errors
/// An axis that is not of the form, names what is not there or says something twice; more than 4096 designs; a
/// combination that could not be built.
pub fn vary(base: &Design, axes: &[impl AsRef<str>]) -> Result<Vec<Design>, VaryError> {
    let axes = axes
        .iter()
        .map(|text| parse(base, text.as_ref()))
        .collect::<Result<Vec<Axis>, VaryError>>()?;
    check_overlap(base, &axes)?;
    let count = count(&axes)?;
    (0..count)
        .map(|number| combination(base, &axes, number))
        .collect()
}

fn count(axes: &[Axis]) -> Result<usize, VaryError> {
    let lengths = axes.iter().map(|axis| axis.values.len());
    let product = lengths.clone().try_fold(1_usize, usize::checked_mul);
    product
        .filter(|count| *count <= MOST_DESIGNS)
        .ok_or_else(|| VaryError::TooMany {
            found: lengths
                .map(|length| length.to_string())
                .collect::<Vec<_>>()
                .join(" x "),
        })
}

fn parse(base: &Design, text: &str) -> Result<Axis, VaryError> {
    let form = || VaryError::Form {
        found: text.to_owned(),
    };
    let (left, values) = text.split_once('=').ok_or_else(form)?;
    let (places, field) = left.rsplit_once('.').ok_or_else(form)?;
    let (places, field, values) = (places.trim(), field.trim(), values.trim());
    if places.is_empty() || field.is_empty() || values.is_empty() {
        return Err(form());
    }
    let targets = targets(base, places, field)?;
    let field = targets
        .iter()
        .map(|target| {
            target
                .field(field)
                .ok_or_else(|| unknown_field(*target, places, field))
        })
        .collect::<Result<Vec<Field>, VaryError>>()?[0];
    let values = values
        .split(',')
        .map(|value| read(places, field, value.trim()))
        .collect::<Result<Vec<_>, _>>()?;
    check_repetition(places, field, &values)?;
    Ok(Axis {
        places: places.replace(' ', ""),
        field,
        targets,
        values,
    })
}

/// In place of a level's name: all caches.
const CACHES: &str = "caches";

fn targets(base: &Design, places: &str, field: &str) -> Result<Vec<Target>, VaryError> {
    if places == CACHES {
        return Ok((0..base.levels.len()).map(Target::Level).collect());
    }
    places
        .split('+')
        .map(|place| target(base, place.trim(), field))
        .collect()
}

fn target(base: &Design, place: &str, field: &str) -> Result<Target, VaryError> {
    let level = base
        .levels
        .iter()
        .position(|level| level.name == place)
        .map(Target::Level);
    let tlb = || {
        base.tlbs
            .iter()
            .position(|tlb| tlb.name == place)
            .map(Target::Tlb)
    };
    level.or_else(tlb).ok_or_else(|| VaryError::UnknownPlace {
        place: place.to_owned(),
        field: field.to_owned(),
        design: base.name.clone(),
        known: names(base),
    })
}

fn names(base: &Design) -> String {
    let levels = base.levels.iter().map(|level| level.name.as_str());
    levels
        .chain(base.tlbs.iter().map(|tlb| tlb.name.as_str()))
        .collect::<Vec<_>>()
        .join(", ")
}

fn unknown_field(target: Target, places: &str, field: &str) -> VaryError {
    VaryError::UnknownField {
        place: places.to_owned(),
        field: field.to_owned(),
        known: target.known_fields(),
    }
}

fn read(places: &str, field: Field, value: &str) -> Result<Value, VaryError> {
    Value::parse(field, value).map_err(|message| VaryError::Value {
        place: places.to_owned(),
        field: field.to_string(),
        message,
    })
}

fn check_repetition(places: &str, field: Field, values: &[Value]) -> Result<(), VaryError> {
    let repeated = values
        .iter()
        .enumerate()
        .find(|(position, value)| values[..*position].contains(value));
    match repeated {
        Some((_, value)) => Err(VaryError::Twice {
            what: format!("{places}.{field}={value}"),
        }),
        None => Ok(()),
    }
}

/// A field that two axes set would take the last one's value and the name of both.
fn check_overlap(base: &Design, axes: &[Axis]) -> Result<(), VaryError> {
    let mut seen = Vec::new();
    for axis in axes {
        for target in &axis.targets {
            if seen
                .iter()
                .any(|(other, field)| other == target && axis.field.meets(*field))
            {
                return Err(VaryError::Twice {
                    what: format!("{}.{}", target.name(base), axis.field),
                });
            }
            seen.push((*target, axis.field));
        }
    }
    Ok(())
}

fn combination(base: &Design, axes: &[Axis], number: usize) -> Result<Design, VaryError> {
    let mut design = base.clone();
    let mut rest = number;
    let mut labels = Vec::with_capacity(axes.len());
    for axis in axes.iter().rev() {
        let value = &axis.values[rest % axis.values.len()];
        rest /= axis.values.len();
        axis.targets
            .iter()
            .for_each(|target| set::set(&mut design, *target, axis.field, value));
        labels.push(format!("{}.{}={value}", axis.places, axis.field));
    }
    if !labels.is_empty() {
        labels.reverse();
        design.name = format!("{}[{}]", base.name, labels.join(","));
    }
    match design.check() {
        Ok(()) => Ok(design),
        Err(error) => Err(VaryError::Unrealisable {
            design: design.name,
            unrealisable: Box::new(error),
        }),
    }
}

#[cfg(test)]
mod tests;
