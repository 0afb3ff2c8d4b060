//! Tests the trace file: everything written is read back, and damage is reported.

mod ahead;
mod check;
mod compatibility;
mod damage;
mod hostile;
mod messages;
mod round_trip;
mod seeking;
mod shapes;
mod summary;
mod support;
mod write_errors;
