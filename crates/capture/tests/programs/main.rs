//! Tests real programs under the real tool. If Valgrind or the C compiler is missing, the tests
//! fail: they are not skipped.

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
