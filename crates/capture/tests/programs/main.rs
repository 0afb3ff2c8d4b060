//! Tests real programs under the real tool. The tests fail if Valgrind or a compiler is missing:
//! nothing is skipped.

mod as_run;
mod building;
mod deaths;
mod dependences;
mod execs;
mod generated;
mod instructions;
mod languages;
mod long;
mod random;
mod scheduled;
mod signals;
mod support;
mod surroundings;
mod waits;
