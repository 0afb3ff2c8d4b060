//! The trace file: what goes in comes out, and what is broken is named.

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
