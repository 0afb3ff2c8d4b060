//! Internal to switchcost: modern counterparts of the programs of Mogul and Borg 1990 (Tables 1 and
//! 2).
//!
//! The input is the name of a set of programs ([`Set`]), a folder and a seed. The output is the
//! inputs in the folder, generated from the seed, and the commands to run there. Every command runs
//! until it is ended: the caller decides when. This crate does not trace or simulate.

mod interactive;
mod magic;
mod make;
mod pingpong;
mod program;
mod scheme;
mod set;
mod verifier;

pub use pingpong::{FLAGS, compile};
pub use program::{MissingProgram, PrepareError, Program};
pub use set::Set;
