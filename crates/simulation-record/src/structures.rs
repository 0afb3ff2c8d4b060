//! Types of the fields of Parquet's structures that occur in records, as defined in
//! src/main/thrift/parquet.thrift of Apache Parquet Format. Each list ends with the last field that
//! the Parquet reader knows.

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

/// Field numbers on the path from the footer to the number of children of a schema element.
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

/// Fields of `LogicalType`. Of the nineteen types, records use only strings and integers.
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

/// Fields of `PageHeader`: type, sizes, checksum, and the header for each type of page.
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
