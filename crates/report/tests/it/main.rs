//! Reports from outside, as text and as pages. All tests are one program, which is linked once.

mod observe;
mod pages;
mod report;
mod simulate;
