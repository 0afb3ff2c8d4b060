//! Reads any text as a design. A design without an error passes its check, and is the same after it
//! was written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use switchcost_design::{read_design, write_design};

fuzz_target!(|text: &str| {
    if let Ok(design) = read_design(text, "fuzz") {
        assert_eq!(design.check(), Ok(()));
        let again = write_design(&design).expect("what was read can be written");
        assert_eq!(
            read_design(&again, "fuzz").expect("what was written can be read"),
            design
        );
    }
});
