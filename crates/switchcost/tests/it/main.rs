//! The program as a user runs it: one file a theme. All are one program, which is linked once, and in which they take turns at
//! the machine.

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
