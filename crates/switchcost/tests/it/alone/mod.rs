//! Measurements whose numbers are looked at: no other test runs meanwhile. `scripts/test.sh` knows them by the name of this
//! folder, and runs them before it runs programs beside each other.

mod ab;
mod compare;
mod honesty;
mod measure;
mod observe;
