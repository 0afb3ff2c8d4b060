//! Tests of text reports and pages through the public interface. All tests are one program, so that
//! it is linked once.

mod conformity;
mod observe;
mod pages;
mod report;
mod simulate;

use switchcost_report::schema::schemas;
