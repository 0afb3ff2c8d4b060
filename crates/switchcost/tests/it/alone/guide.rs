//! The pages of the guide that measure, and the README.

use crate::common::Place;
use crate::guide::run_pages;

#[test]
fn every_command_of_a_page_that_measures_runs_and_prints_the_tables_that_the_page_shows() {
    run_pages(true, Place::alone);
}
