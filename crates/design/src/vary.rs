//! Families of designs for sweeps: the axis `L1D.size=4KiB,8KiB` turns one design into two.
//!
//! An axis names a field of the design's TOML form, and the values of that field. The reader of
//! design files checks each value.

use serde::Deserialize;
use toml::{Table, Value};

use crate::file::describe;
use crate::{Design, PageAllocation, PageOrder, Partition, UnrealisableDesign};

/// Largest number of designs that [`vary`] returns, which limits memory.
const MOST_DESIGNS: usize = 4096;
/// Name in an axis that stands for all caches of the design.
const CACHES: &str = "caches";
/// Value of an axis that removes an optional part from the design.
const NONE: &str = "none";
/// Name in an axis of the combined field for `index` and `tag`, whose values are `vivt`, `vipt` and
/// `pipt`, as in processors' manuals.
const ADDRESSING: &str = "addressing";
/// Optional parts of a level whose value in an axis is several numbers joined by colons, each with
/// the fields of these numbers. Other fields of the part keep the design's values.
const PARTS: [(&str, &[&str]); 5] = [
    ("victim", &["lines", "hit_cycles"]),
    ("streams", &["count", "depth", "hit_cycles"]),
    ("stride", &["entries", "degree", "distance"]),
    ("streamer", &["entries", "degree", "distance"]),
    ("write_buffers", &["count", "drain_cycles"]),
];

/// Error of varying a design.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VaryError {
    /// The text of an axis is malformed.
    #[error(
        "'{found}' is not of the form LEVEL.FIELD=VALUE,VALUE...; write L1D.size=4KiB,8KiB or L1I+L1D.ways=1,2,4"
    )]
    Form {
        /// Text of the malformed axis.
        found: String,
    },
    /// The design has no level or TLB of this name.
    #[error("{axis}: design {design:?} has no level or TLB {place:?}; use one of {known}")]
    UnknownPlace {
        /// Axis in which the unknown name occurs, without values.
        axis: String,
        /// Name that is not in the design.
        place: String,
        /// Name of the design that was to be varied.
        design: String,
        /// Names of all levels and TLBs of the design.
        known: String,
    },
    /// The design has no such field, or the field does not accept this value.
    #[error("{axis}={value}: {message}")]
    Value {
        /// Axis that names the field, without values.
        axis: String,
        /// Value that the field does not accept.
        value: String,
        /// Message of the reader of designs.
        message: String,
    },
    /// Two axes set the same field, or an axis repeats a value.
    #[error("{what} is given twice; remove one")]
    Twice {
        /// Name of the field or value that occurs twice.
        what: String,
    },
    /// The axes give more than 4096 designs.
    #[error("{found} designs are too many (at most {MOST_DESIGNS}); give fewer values")]
    TooMany {
        /// Number of values of each axis, joined by ` x `.
        found: String,
    },
    /// A combination of values gives a design that cannot exist in hardware.
    #[error("{design}: {unrealisable}")]
    Unrealisable {
        /// Name of the varied design that cannot exist.
        design: String,
        /// Impossible field of the varied design.
        unrealisable: Box<UnrealisableDesign>,
    },
}

/// Position of a TOML table in a design: a level or TLB by index, or the design itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Level(usize),
    Tlb(usize),
    Design,
}

/// Position of a field in a design: its table, and the keys within the table.
#[derive(Clone, Debug)]
struct Path {
    place: Place,
    keys: Vec<String>,
}

/// One value of an axis, with the fields that this value sets.
struct Setting {
    /// Text that stands for this value in the name of a varied design.
    label: String,
    /// Fields with their new values; `None` removes a field.
    assignments: Vec<(Path, Option<Value>)>,
}

/// Returns a design for every combination of the axes' values. The values of the last axis change
/// fastest. Without axes the result is the design `base` alone.
///
/// # Errors
///
/// If an axis is malformed, names something unknown or repeats a field; if there are more than 4096
/// designs; or if a combination cannot exist in hardware.
pub fn vary(base: &Design, axes: &[impl AsRef<str>]) -> Result<Vec<Design>, VaryError> {
    let axes = axes
        .iter()
        .map(|text| parse_axis(base, text.as_ref()))
        .collect::<Result<Vec<_>, _>>()?;
    check_overlap(base, &axes)?;
    let count = count_designs(&axes)?;
    (0..count)
        .map(|number| build_combination(base, &axes, number))
        .collect()
}

fn count_designs(axes: &[Vec<Setting>]) -> Result<usize, VaryError> {
    let lengths: Vec<usize> = axes.iter().map(Vec::len).collect();
    let product = lengths.iter().copied().try_fold(1, usize::checked_mul);
    product
        .filter(|count| *count <= MOST_DESIGNS)
        .ok_or_else(|| VaryError::TooMany {
            found: lengths
                .iter()
                .map(usize::to_string)
                .collect::<Vec<_>>()
                .join(" x "),
        })
}

fn parse_axis(base: &Design, text: &str) -> Result<Vec<Setting>, VaryError> {
    let form = || VaryError::Form {
        found: text.to_owned(),
    };
    let (axis, values) = text.split_once('=').ok_or_else(form)?;
    let axis = axis.replace(' ', "");
    if values.trim().is_empty() || axis.split('.').count() < 2 || axis.split('.').any(str::is_empty)
    {
        return Err(form());
    }
    let paths = find_paths(base, &axis)?;
    let mut settings = Vec::new();
    let mut made = Vec::new();
    for value in values.split(',').map(str::trim) {
        let refuse = |message| VaryError::Value {
            axis: axis.clone(),
            value: value.to_owned(),
            message,
        };
        let setting = Setting {
            label: format!("{axis}={value}"),
            assignments: assign(base, &paths, value).map_err(refuse)?,
        };
        let design = build(base, std::iter::once(&setting)).map_err(refuse)?;
        if made.contains(&design) {
            return Err(VaryError::Twice {
                what: setting.label,
            });
        }
        made.push(design);
        settings.push(setting);
    }
    Ok(settings)
}

/// Returns the positions of the fields that an axis names, such as `L1I+L1D.size` or
/// `L2.streams.depth`.
fn find_paths(base: &Design, axis: &str) -> Result<Vec<Path>, VaryError> {
    let (names, field) = axis.split_once('.').unwrap_or((axis, ""));
    let keys: Vec<String> = field.split('.').map(str::to_owned).collect();
    let places = find_places(base, names).map_err(|place| {
        let levels = base.levels.iter().map(|level| level.name.as_str());
        let tlbs = base.tlbs.iter().map(|tlb| tlb.name.as_str());
        VaryError::UnknownPlace {
            axis: axis.to_owned(),
            place,
            design: base.name.clone(),
            known: levels.chain(tlbs).collect::<Vec<_>>().join(", "),
        }
    })?;
    let path = |place| Path {
        place,
        keys: keys.clone(),
    };
    Ok(places.into_iter().map(path).collect())
}

/// Returns the positions of the levels and TLBs whose names are joined by `+`. The error is the
/// unknown name.
fn find_places(base: &Design, names: &str) -> Result<Vec<Place>, String> {
    if names == CACHES {
        return Ok((0..base.levels.len()).map(Place::Level).collect());
    }
    let find = |name: &str| {
        let level = base.levels.iter().position(|level| level.name == name);
        let tlb = || base.tlbs.iter().position(|tlb| tlb.name == name);
        level
            .map(Place::Level)
            .or_else(|| tlb().map(Place::Tlb))
            .ok_or_else(|| name.to_owned())
    };
    names.split('+').map(find).collect()
}

/// Returns the fields to be set for one value of an axis, and a page allocation if the value needs
/// one and the design has none.
fn assign(base: &Design, paths: &[Path], text: &str) -> Result<Vec<(Path, Option<Value>)>, String> {
    let mut assignments = Vec::new();
    for path in paths {
        match path.keys.last().map(String::as_str) {
            Some(ADDRESSING) => {
                let kinds = addressing(text, is_first(base, path.place))?;
                for (key, kind) in ["index", "tag"].into_iter().zip(kinds) {
                    let keys = vec![key.to_owned()];
                    assignments.push((Path { keys, ..*path }, Some(kind.into())));
                }
            }
            Some("partition") if text != NONE => {
                let partition: Partition = text.parse()?;
                let value = Value::try_from(partition).map_err(|error| error.to_string())?;
                assignments.push((path.clone(), Some(value)));
            }
            Some("partition") => assignments.push((path.clone(), None)),
            Some(key) => match PARTS.iter().find(|(part, _)| *part == key) {
                Some(_) if text == NONE => assignments.push((path.clone(), None)),
                Some((_, fields)) => assignments.extend(assign_part(path, fields, text)?),
                None => assignments.push((path.clone(), Some(scalar(text)))),
            },
            None => {}
        }
    }
    if base.pages.is_none() && assignments.iter().any(|(_, value)| is_physical(value)) {
        assignments.push((page_allocation_path(), Some(page_allocation()?)));
    }
    Ok(assignments)
}

/// Returns the fields of an optional part with their values, from numbers joined by colons, one
/// number per field.
fn assign_part(
    path: &Path,
    fields: &[&str],
    text: &str,
) -> Result<Vec<(Path, Option<Value>)>, String> {
    let numbers: Option<Vec<u32>> = text.split(':').map(|number| number.parse().ok()).collect();
    let numbers = numbers.filter(|numbers| numbers.len() == fields.len());
    let numbers = numbers.ok_or_else(|| {
        let form = fields.join(":").to_uppercase();
        format!("write {form} in whole numbers, or none")
    })?;
    let assignment = |(field, number): (&&str, u32)| {
        let mut keys = path.keys.clone();
        keys.push((*field).to_owned());
        (Path { keys, ..*path }, Some(Value::from(number)))
    };
    Ok(fields.iter().zip(numbers).map(assignment).collect())
}

fn scalar(text: &str) -> Value {
    let number = text.parse().map(Value::Integer);
    let truth = |_| text.parse().map(Value::Boolean);
    number.or_else(truth).unwrap_or_else(|_| Value::from(text))
}

/// Returns the values of `index` and `tag` for `vivt`, `vipt` or `pipt`. A level that is not the
/// first on its path is physically indexed even with `vipt`.
fn addressing(text: &str, is_first: bool) -> Result<[&'static str; 2], String> {
    match (text, is_first) {
        // Tags contain the address-space ID, so a line of the kernel is cached once per address
        // space.
        ("vivt", _) => Ok(["virtual", "virtual"]),
        ("vipt", true) => Ok(["virtual", "physical"]),
        ("vipt", false) | ("pipt", _) => Ok(["physical", "physical"]),
        _ => Err("write vivt, vipt or pipt".to_owned()),
    }
}

/// Whether no earlier cache of the design holds the same kind of content. True for a TLB.
fn is_first(design: &Design, place: Place) -> bool {
    let Place::Level(index) = place else {
        return true;
    };
    let own = design.levels[index].holds;
    !design.levels[..index].iter().any(|before| {
        let other = before.holds;
        own.data() && other.data() || own.instructions() && other.instructions()
    })
}

fn is_physical(value: &Option<Value>) -> bool {
    value.as_ref().and_then(Value::as_str) == Some("physical")
}

fn page_allocation_path() -> Path {
    Path {
        place: Place::Design,
        keys: vec!["pages".to_owned()],
    }
}

/// Returns the page allocation for a design without `pages`: random frames of 4 KiB, the base page
/// size of x86-64 and of the DECstation.
fn page_allocation() -> Result<Value, String> {
    let pages = PageAllocation {
        size: switchcost_units::Bytes::kib(4),
        order: PageOrder::Random,
        seed: 0,
    };
    Value::try_from(pages).map_err(|error| error.to_string())
}

/// Returns an error if two axes set the same field. Otherwise the value of the last axis would win,
/// and the design's name would show both.
fn check_overlap(base: &Design, axes: &[Vec<Setting>]) -> Result<(), VaryError> {
    let mut seen: Vec<&Path> = Vec::new();
    for setting in axes.iter().filter_map(|axis| axis.first()) {
        for (path, _) in &setting.assignments {
            let name = match path.place {
                Place::Level(index) => &base.levels[index].name,
                Place::Tlb(index) => &base.tlbs[index].name,
                // Several axes may each add the same page allocation.
                Place::Design => continue,
            };
            let is_same = |other: &&Path| {
                other.place == path.place && other.keys.iter().zip(&path.keys).all(|(a, b)| a == b)
            };
            if seen.iter().any(is_same) {
                return Err(VaryError::Twice {
                    what: format!("{name}.{}", path.keys.join(".")),
                });
            }
            seen.push(path);
        }
    }
    Ok(())
}

fn build_combination(
    base: &Design,
    axes: &[Vec<Setting>],
    number: usize,
) -> Result<Design, VaryError> {
    let mut rest = number;
    let mut settings = Vec::with_capacity(axes.len());
    for axis in axes.iter().rev() {
        settings.push(&axis[rest % axis.len()]);
        rest /= axis.len();
    }
    settings.reverse();
    let labels: Vec<&str> = settings
        .iter()
        .map(|setting| setting.label.as_str())
        .collect();
    let name = match labels.is_empty() {
        true => base.name.clone(),
        false => format!("{}[{}]", base.name, labels.join(",")),
    };
    let mut design = build(base, settings.iter().copied()).map_err(|message| VaryError::Value {
        axis: base.name.clone(),
        value: labels.join(","),
        message,
    })?;
    design.name = name;
    match design.check() {
        Ok(()) => Ok(design),
        Err(error) => Err(VaryError::Unrealisable {
            design: design.name,
            unrealisable: Box::new(error),
        }),
    }
}

/// Returns the design `base` with the fields of these settings changed.
///
/// # Errors
///
/// If the changed design is invalid: the message of the reader of designs.
fn build<'a>(base: &Design, settings: impl Iterator<Item = &'a Setting>) -> Result<Design, String> {
    let mut table = Table::try_from(base).map_err(|error| error.to_string())?;
    for (path, value) in settings.flat_map(|setting| &setting.assignments) {
        set_field(&mut table, path, value.clone())
            .ok_or_else(|| format!("{} is no table", path.keys.join(".")))?;
    }
    Design::deserialize(table).map_err(|error| describe(&error))
}

/// Sets a field in the design's TOML table, or removes the field if `value` is `None`; returns
/// `None` if a key on the path to the field is not a table.
fn set_field(design: &mut Table, path: &Path, value: Option<Value>) -> Option<()> {
    let mut table = match path.place {
        Place::Level(index) => design.get_mut("level")?.get_mut(index)?.as_table_mut()?,
        Place::Tlb(index) => design.get_mut("tlb")?.get_mut(index)?.as_table_mut()?,
        Place::Design => design,
    };
    let (last, way) = path.keys.split_last()?;
    for key in way {
        let next = table
            .entry(key.as_str())
            .or_insert_with(|| Table::new().into());
        table = next.as_table_mut()?;
    }
    match value {
        Some(value) => table.insert(last.clone(), value),
        None => table.remove(last),
    };
    Some(())
}

#[cfg(test)]
mod tests;
