//! Measurements whose numbers are checked; no other test runs at the same time. `scripts/test.sh`
//! recognises these tests by the name of this folder, and runs them before it runs programs
//! concurrently.

mod ab;
mod compare;
mod honesty;
mod measure;
mod observe;
