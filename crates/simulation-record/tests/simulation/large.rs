//! Measures the memory for ten million intervals.

use switchcost_simulation_record::{SimulationRecord, SimulationWriter};

use crate::Folder;
use crate::fixture::{head, intervals};

/// Returns the largest amount of memory that this process has used, in KiB.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .expect("a peak");
    line.split_whitespace()
        .nth(1)
        .and_then(|number| number.parse().ok())
        .expect("a number")
}

#[test]
#[ignore = "takes half a minute; run it alone: cargo test --release --test simulation large -- --ignored --nocapture"]
fn ten_million_intervals_are_read_within_a_gibibyte() {
    const BATCHES: u32 = 100;
    let folder = Folder::new();
    let batch = intervals(100_000);
    let mut writer = SimulationWriter::create(&folder.file()).expect("a free name");
    for _ in 0..BATCHES {
        writer.write(&batch).expect("room");
    }
    writer.finish(&head()).expect("room");
    let record = SimulationRecord::read(&folder.file()).expect("whole");
    let mut rows = 0;
    for intervals in record.intervals().expect("intervals") {
        let intervals = intervals.expect("whole");
        assert_eq!(intervals[0], batch[rows % batch.len()]);
        rows += intervals.len();
    }
    assert_eq!(rows, batch.len() * BATCHES as usize);
    let peak = peak_kib();
    assert!(peak < 1 << 20, "{peak} KiB");
}
