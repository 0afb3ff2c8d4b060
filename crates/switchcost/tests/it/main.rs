//! Tests the program as a user runs it, one file per theme. All tests are one program, which is
//! linked once and in which tests that need the machine exclude each other.

mod ab;
mod alone;
mod bad_input;
mod common;
mod compare;
mod counters;
mod earlier;
mod emitted_code;
mod fuzz_corpus;
mod guide;
mod inject;
mod kernel_compared;
mod leftovers;
mod lifetime;
mod made_traces;
mod measure;
mod messages;
mod mistakes;
mod observe;
mod outputs;
mod packages;
mod pages;
mod report;
mod reproduce;
mod results;
mod runtimes;
mod screens;
mod services;
mod system;
mod trace;
