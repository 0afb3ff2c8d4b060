//! Reports from outside, as text and as pages. All tests are one program, which is linked once.

mod conformity;
mod observe;
mod pages;
mod report;
mod simulate;

use switchcost_report::schema::schemas;
