//! Groups the designs that `--vary` made from one base design, with the varied fields as axes.

use super::findings::DesignFinding;
use crate::lists::find_or_add;
use itertools::Itertools;

/// Designs that vary the same fields of one base design, with these fields as axes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sweep {
    /// Name of the base design.
    pub base: String,
    /// Varied fields that have several values. The values of the last one change fastest.
    pub axes: Vec<Axis>,
    /// For each design, the index of its value on each axis, and the index of the design.
    pub members: Vec<(Vec<usize>, usize)>,
}

/// A field of the design that is varied, with its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Levels and field of the axis in the notation of `--vary`: `L1I+L1D.size`.
    pub field: String,
    /// Values of the field in the order of first occurrence.
    pub values: Vec<String>,
}

impl Axis {
    /// Returns the names of the levels that the axis varies.
    pub fn levels(&self) -> impl Iterator<Item = &str> {
        self.field
            .rsplit_once('.')
            .map_or("", |(levels, _)| levels)
            .split('+')
    }
}

impl Sweep {
    /// Returns the names of all varied fields, as a heading for [`Sweep::label`].
    pub fn fields(&self) -> String {
        self.axes
            .iter()
            .map(|axis| axis.field.as_str())
            .collect::<Vec<_>>()
            .join(",")
    }

    /// Returns the label of a design: the values of its varied fields. `values` has the index of
    /// the value on each axis.
    pub fn label(&self, values: &[usize]) -> String {
        let of_axes = self.axes.iter().zip(values);
        of_axes
            .map(|(axis, value)| axis.values[*value].as_str())
            .collect::<Vec<_>>()
            .join(",")
    }
}

/// Name of a base design, and its varied fields with their values.
type Parts<'a> = (&'a str, Vec<(&'a str, &'a str)>);

/// Parses the name of a varied design, such as `mogul-1a[L1D.size=8KiB,L1D.ways=2]`; `None` for
/// other names.
fn parts(name: &str) -> Option<Parts<'_>> {
    let (base, fields) = name.strip_suffix(']')?.split_once('[')?;
    let fields: Option<Vec<_>> = fields
        .split(',')
        .map(|field| field.split_once('='))
        .collect();
    fields
        .filter(|fields| fields.iter().all(|(field, _)| field.contains('.')))
        .map(|fields| (base, fields))
}

/// Returns one sweep for each base design with several variants of the same fields.
pub fn sweeps(designs: &[DesignFinding]) -> Vec<Sweep> {
    let named: Vec<(usize, Parts<'_>)> = designs
        .iter()
        .enumerate()
        .filter_map(|(place, design)| Some((place, parts(&design.name)?)))
        .collect();
    let mut groups: Vec<Vec<&(usize, Parts<'_>)>> = Vec::new();
    for one in &named {
        let is_alike = |group: &Vec<&(usize, Parts<'_>)>| likeness(group[0]) == likeness(one);
        find_or_add(&mut groups, is_alike, Vec::new).push(one);
    }
    groups
        .iter()
        .map(|group| sweep(group))
        .filter(|sweep| !sweep.axes.is_empty())
        .collect()
}

fn likeness<'a>((_, (base, fields)): &'a (usize, Parts<'a>)) -> (&'a str, Vec<&'a str>) {
    (base, fields.iter().map(|(field, _)| *field).collect())
}

fn sweep(group: &[&(usize, Parts<'_>)]) -> Sweep {
    let (_, (base, fields)) = group[0];
    let axis = |(number, (field, _)): (usize, &(&str, &str))| {
        let values = group
            .iter()
            .map(|(_, (_, fields))| fields[number].1.to_owned());
        let axis = Axis {
            field: (*field).to_owned(),
            values: values.unique().collect(),
        };
        (number, axis)
    };
    let axes: Vec<(usize, Axis)> = fields
        .iter()
        .enumerate()
        .map(axis)
        .filter(|(_, axis)| axis.values.len() > 1)
        .collect();
    let place = |fields: &[(&str, &str)], (number, axis): &(usize, Axis)| {
        axis.values
            .iter()
            .position(|value| value == fields[*number].1)
            .unwrap_or(0)
    };
    let member = |(design, (_, fields)): &&(usize, Parts<'_>)| {
        (
            axes.iter().map(|axis| place(fields, axis)).collect(),
            *design,
        )
    };
    let members = group.iter().map(member).collect();
    Sweep {
        base: (*base).to_owned(),
        members,
        axes: axes.into_iter().map(|(_, axis)| axis).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Run;
    use super::*;

    fn of(names: &[&str]) -> Vec<Sweep> {
        let design = Run::turns(&[0]).design();
        let named = |name: &&str| DesignFinding {
            name: (*name).to_owned(),
            ..design.clone()
        };
        sweeps(&names.iter().map(named).collect::<Vec<_>>())
    }

    #[test]
    fn variants_of_a_base_stand_at_their_values() {
        let names = [
            "plain",
            "a[L1I+L1D.size=8KiB,L2.ways=1]",
            "a[L1I+L1D.size=8KiB,L2.ways=2]",
            "b[L2.ways=1]",
        ];
        let found = of(&[&names[..], &["a[L1I+L1D.size=16KiB,L2.ways=1]"]].concat());
        let axis = |field: &str, values: [&str; 2]| Axis {
            field: field.into(),
            values: values.map(str::to_owned).into(),
        };
        assert_eq!(found.len(), 1, "the other base has one value: {found:?}");
        assert_eq!(found[0].base, "a");
        assert_eq!(
            found[0].axes,
            [
                axis("L1I+L1D.size", ["8KiB", "16KiB"]),
                axis("L2.ways", ["1", "2"])
            ]
        );
        assert_eq!(
            found[0].members,
            [(vec![0, 0], 1), (vec![0, 1], 2), (vec![1, 0], 4)]
        );
        assert_eq!(
            (found[0].fields(), found[0].label(&[1, 0])),
            ("L1I+L1D.size,L2.ways".into(), "16KiB,1".into())
        );
        assert_eq!(
            found[0].axes[0].levels().collect::<Vec<_>>(),
            ["L1I", "L1D"]
        );
    }

    #[test]
    fn a_field_of_one_value_is_no_axis_and_other_brackets_are_no_variant() {
        let found = of(&["a[L2.size=1MiB,L2.ways=8]", "a[L2.size=2MiB,L2.ways=8]"]);
        assert_eq!(found[0].axes.len(), 1);
        assert!(of(&["my[best]", "my[other]", "x]", "[", "y[a=1]", "y[a=2]"]).is_empty());
    }
}
