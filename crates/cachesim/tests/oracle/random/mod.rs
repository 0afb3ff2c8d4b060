//! Generates random designs and random streams, small enough that lines collide often.

pub(crate) mod designs;
pub(crate) mod streams;
