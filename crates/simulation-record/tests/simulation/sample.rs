//! A record of each version stays readable.

use std::path::Path;

use switchcost_simulation_result::{Interval, PlaceCost};

use crate::fixture::{head, tuples};
use crate::read;

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/samples/simulation-1.parquet");

/// It was written before lookups of the two views were compared.
#[test]
fn the_sample_of_version_1_is_read() {
    let (found_head, found) = read(Path::new(SAMPLE)).unwrap_or_else(|error| panic!("{error}"));
    let mut head = head();
    for design in &mut head.designs {
        design.miss_differences.clear();
        design.lost_cycles = None;
        design.gained_cycles = None;
        design.most_held.clear();
        design.calls.clear();
        design.data.clear();
        design.evictors.clear();
        design.physical_pages = None;
    }
    assert_eq!(found_head, head);
    let without = |tuple: Interval| Interval { of_others: None, ..tuple };
    assert_eq!(found, tuples(300).into_iter().map(without).collect::<Vec<_>>());
}

/// It was called a function before variables had names, too.
#[test]
fn a_function_is_a_symbol() {
    let old = r#"{"program":"cat","cause":0,"object":null,"build_id":null,"offset":1,"function":"main","line":null,"excess_cycles":2}"#;
    let cost: PlaceCost = serde_json::from_str(old).expect("an older record's");
    assert_eq!(cost.symbol.as_deref(), Some("main"));
}
