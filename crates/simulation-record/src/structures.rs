//! Parquet's own structures, field by field, as far as records have them. Their definition is
//! src/main/thrift/parquet.thrift of Apache Parquet Format. A list of fields ends with the last
//! field that the Parquet reader knows.

use crate::compact::Kind::{Binary, Boolean, Byte, I16, I32, I64, List, Struct, Unused};
use crate::compact::Shape;

/// Fields of `FileMetaData`: version, schema, rows, row groups, key-value metadata, writer, column
/// orders, encryption.
pub(crate) const FOOTER: Shape = &[
    I32,
    List(&Struct(SCHEMA_ELEMENT)),
    I64,
    List(&Struct(ROW_GROUP)),
    List(&Struct(KEY_VALUE)),
    Binary,
    List(&Struct(COLUMN_ORDER)),
    Unused,
    Unused,
];

/// Fields on the way to the number of children of an element of the schema.
pub(crate) const CHILDREN: &[i16] = &[2, 5];

const SCHEMA_ELEMENT: Shape = &[
    I32,
    I32,
    I32,
    Binary,
    I32,
    I32,
    I32,
    I32,
    I32,
    Struct(LOGICAL_TYPE),
];

/// Fields of a logical type: only texts and integers, of nineteen types.
const LOGICAL_TYPE: Shape = &[
    Struct(&[]),
    Unused,
    Unused,
    Unused,
    Unused,
    Unused,
    Unused,
    Unused,
    Unused,
    Struct(&[Byte, Boolean]),
    Unused,
    Unused,
    Unused,
    Unused,
    Unused,
    Unused,
    Unused,
    Unused,
    Unused,
];

const ROW_GROUP: Shape = &[List(&Struct(COLUMN_CHUNK)), I64, I64, Unused, I64, I64, I16];

const COLUMN_CHUNK: Shape = &[
    Binary,
    I64,
    Struct(COLUMN_META_DATA),
    I64,
    I32,
    I64,
    I32,
    Unused,
    Unused,
];

const COLUMN_META_DATA: Shape = &[
    I32,
    List(&I32),
    List(&Binary),
    I32,
    I64,
    I64,
    I64,
    Unused,
    I64,
    I64,
    I64,
    Struct(STATISTICS),
    List(&Struct(&[I32, I32, I32])),
    I64,
    I32,
    Struct(&[I64, List(&I64), List(&I64)]),
    Unused,
];

const STATISTICS: Shape = &[
    Binary, Binary, I64, I64, Binary, Binary, Boolean, Boolean, Unused,
];

const KEY_VALUE: Shape = &[Binary, Binary];

const COLUMN_ORDER: Shape = &[Struct(&[])];

/// Fields of `PageHeader`: kind, sizes, checksum, and the header of each kind of page.
pub(crate) const PAGE_HEADER: Shape = &[
    I32,
    I32,
    I32,
    I32,
    Struct(&[I32, I32, I32, I32, Struct(STATISTICS)]),
    Unused,
    Struct(&[I32, I32, Boolean]),
    Struct(&[I32, I32, I32, I32, I32, I32, Boolean, Struct(STATISTICS)]),
];
