//! The columns of the Parquet file. A column has one value for each interval: a number, a text that
//! the interval refers to by index, or whether a switch was voluntary.

use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::schema::types::{Type, TypePtr};

use switchcost_design::result::{Interval, Simulation};

/// Width of the numbers in a column. The file stores 16 and 32 bits as INT32 and 64 bits as INT64,
/// all with an unsigned logical type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    Bits16,
    Bits32,
    Bits64,
}

impl Width {
    pub(crate) fn bits(self) -> u8 {
        match self {
            Width::Bits16 => 16,
            Width::Bits32 => 32,
            Width::Bits64 => 64,
        }
    }

    pub(crate) fn physical(self) -> Physical {
        match self {
            Width::Bits16 | Width::Bits32 => Physical::INT32,
            Width::Bits64 => Physical::INT64,
        }
    }
}

/// Content of a column, with the functions that get it from an interval and set it in an interval.
#[derive(Clone, Copy)]
pub(crate) enum Content {
    /// A number that every interval has: width, getter and setter.
    Number(Width, fn(&Interval) -> u64, fn(&mut Interval, u64)),
    /// A 64-bit number that some intervals do not have: getter and setter.
    Optional(fn(&Interval) -> Option<u64>, fn(&mut Interval, Option<u64>)),
    /// A number derived from the head and the interval. Only other programs read this column.
    Looked(fn(&Simulation, &Interval) -> u32),
    /// A text that an interval refers to by index: the table of the text, and the function that
    /// returns the index.
    Text(Table, fn(&Interval) -> usize),
    /// Whether a switch was voluntary: the function that returns the index of the switch's cause.
    Voluntary(fn(&Interval) -> usize),
}

/// A list of texts in the head of the record, to which intervals refer by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Table {
    Designs,
    ProcessNames,
    CauseEntries,
    CauseSyscalls,
}

impl Table {
    /// Returns the texts of the table from the head; `None` for an entry without text.
    pub(crate) fn texts(self, head: &Simulation) -> Vec<Option<&str>> {
        match self {
            Table::Designs => head
                .designs
                .iter()
                .map(|result| Some(result.design.name.as_str()))
                .collect(),
            Table::ProcessNames => head
                .processes
                .iter()
                .map(|process| Some(process.name.as_str()))
                .collect(),
            Table::CauseEntries => head
                .causes
                .iter()
                .map(|cause| Some(cause.entry.as_str()))
                .collect(),
            Table::CauseSyscalls => head
                .causes
                .iter()
                .map(|cause| cause.syscall.as_deref())
                .collect(),
        }
    }

    fn is_optional(self) -> bool {
        self == Table::CauseSyscalls
    }
}

pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) content: Content,
}

/// Declares a column of numbers: its width, its name, and the field of an interval with the field's
/// type.
macro_rules! number {
    ($width:ident, $name:literal, $($field:ident).+: $type:ty) => {
        Column {
            name: $name,
            content: Content::Number(
                Width::$width,
                |t| t.$($field).+ as u64,
                |t, value| t.$($field).+ = value as $type,
            ),
        }
    };
}

/// Declares a column of cycles that other processes caused. A written interval has all of these
/// numbers or none.
macro_rules! of_others {
    ($name:literal, $field:ident) => {
        Column {
            name: $name,
            content: Content::Optional(
                |t| Some(t.of_others?.$field),
                |t, value| {
                    if let Some(value) = value {
                        t.of_others.get_or_insert_default().$field = value;
                    }
                },
            ),
        }
    };
}

const fn text(name: &'static str, table: Table, index: fn(&Interval) -> usize) -> Column {
    Column {
        name,
        content: Content::Text(table, index),
    }
}

const fn voluntary(name: &'static str, index: fn(&Interval) -> usize) -> Column {
    Column {
        name,
        content: Content::Voluntary(index),
    }
}

/// All columns, in the file's order. A value read from a column always fits in its field.
pub(crate) const COLUMNS: [Column; 25] = [
    text("design", Table::Designs, |t| usize::from(t.design)),
    number!(Bits32, "segment", segment: u32),
    number!(Bits32, "segments", segments: u32),
    number!(Bits32, "task", task: u32),
    Column {
        name: "process",
        content: Content::Looked(|head, t| {
            head.processes
                .get(t.process as usize)
                .map_or(u32::MAX, |p| p.process)
        }),
    },
    text("process_name", Table::ProcessNames, |t| t.process as usize),
    text("cause", Table::CauseEntries, |t| t.cause as usize),
    voluntary("cause_is_voluntary", |t| t.cause as usize),
    text("cause_syscall", Table::CauseSyscalls, |t| t.cause as usize),
    text("end", Table::CauseEntries, |t| t.end as usize),
    voluntary("end_is_voluntary", |t| t.end as usize),
    text("end_syscall", Table::CauseSyscalls, |t| t.end as usize),
    number!(Bits32, "interval", number: u32),
    number!(Bits64, "instructions", instructions: u64),
    number!(Bits64, "shared_cycles", cycles.shared: u64),
    number!(Bits64, "private_cycles", cycles.private: u64),
    number!(Bits64, "flushed_cycles", cycles.flushed: u64),
    number!(Bits16, "design_index", design: u16),
    number!(Bits32, "process_index", process: u32),
    number!(Bits32, "cause_index", cause: u32),
    number!(Bits32, "end_index", end: u32),
    of_others!("lost_to_others_cycles", lost),
    of_others!("gained_from_others_cycles", gained),
    of_others!("first_touch_cycles", first_touches),
    // Position of the interval in its segment, derived so that other programs can plot cycles
    // without the head.
    Column {
        name: "since_switch_instructions",
        content: Content::Looked(|head, t| {
            let since = u64::from(t.number).saturating_mul(head.interval_instructions);
            u32::try_from(since).unwrap_or(u32::MAX)
        }),
    },
];

pub(crate) fn schema() -> parquet::errors::Result<TypePtr> {
    let fields = COLUMNS
        .iter()
        .map(Column::field)
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Arc::new(
        Type::group_type_builder("interval")
            .with_fields(fields)
            .build()?,
    ))
}

impl Column {
    fn field(&self) -> parquet::errors::Result<TypePtr> {
        let unsigned = |bits: u8| {
            let logical = LogicalType::integer(bits.cast_signed(), false);
            (
                Some(logical),
                if bits == 64 {
                    Physical::INT64
                } else {
                    Physical::INT32
                },
            )
        };
        let (logical, physical) = match self.content {
            Content::Number(width, ..) => unsigned(width.bits()),
            Content::Optional(..) => unsigned(64),
            Content::Looked(_) => unsigned(32),
            Content::Text(..) => (Some(LogicalType::String), Physical::BYTE_ARRAY),
            Content::Voluntary(_) => (None, Physical::BOOLEAN),
        };
        let is_optional = match self.content {
            Content::Optional(..) => true,
            Content::Text(table, _) => table.is_optional(),
            _ => false,
        };
        let repetition = if is_optional {
            Repetition::OPTIONAL
        } else {
            Repetition::REQUIRED
        };
        let field = Type::primitive_type_builder(self.name, physical).with_repetition(repetition);
        Ok(Arc::new(field.with_logical_type(logical).build()?))
    }
}
