//! A short record of a measurement, in which only the header and the self-tests matter, because
//! reports take their numbers from findings.

use std::path::Path;

use switchcost_record::{Control, ControlOutcome, MeasureRecord};

pub(crate) fn refused(name: &str, fix: &str) -> Control {
    let text = str::to_owned;
    Control {
        name: text(name),
        wanted: text("no page leaves memory"),
        outcome: ControlOutcome::Refused {
            found: text("RLIMIT_MEMLOCK 64 KiB"),
            needed: text("an unlimited one"),
            fix: text(fix),
            lasting_fix: text("a line in limits.conf"),
        },
    }
}

/// Makes a record of a run on a machine without counters.
pub(crate) fn record() -> MeasureRecord {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/measure_record/small");
    let mut record = MeasureRecord::read(&path).expect("a record of this version");
    record.header.plan.preset = "default".to_owned();
    record.header.core_clock.multiplication_cycles = None;
    let controls = &mut record.header.controls;
    controls[2] = refused("locked-memory", "sudo prlimit --memlock=unlimited --pid $$");
    controls[3].outcome = ControlOutcome::TurnedOff;
    let tests = r#"[
        {"instrument": "tsc", "known_answer": "", "outcome": "admitted"},
        {"instrument": "cycles", "known_answer": "",
         "outcome": {"unavailable": {"why": "no performance monitoring unit in this virtual machine"}}},
        {"instrument": "instructions", "known_answer": "",
         "outcome": {"unavailable": {"why": "no performance monitoring unit in this virtual machine"}}},
        {"instrument": "page-faults", "known_answer": "1,000,000 additions",
         "outcome": {"wrong": {"expected_low": 100, "expected_high": 110, "found": 7}}}
    ]"#;
    record.self_tests = serde_json::from_str(tests).expect("self-tests");
    record
}
