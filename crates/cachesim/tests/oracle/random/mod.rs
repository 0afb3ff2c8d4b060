//! Random designs and random streams, small enough that everything collides.

pub(crate) mod designs;
pub(crate) mod streams;
