//! Tests hardware counters, even if this machine has none: in an emulated machine that counts its
//! instructions.

use std::process::Command;

use crate::common::repository;

#[test]
#[ignore = "takes long: make test ARGS=--all"]
fn counters_of_an_emulated_machine_agree_with_what_it_executed() {
    let output = Command::new("scripts/test-counters-arm64.sh")
        .current_dir(repository(""))
        .output()
        .expect("the script runs");
    let words = String::from_utf8_lossy(&output.stdout);
    match output.status.code() {
        Some(3) => println!(
            "skipped: no emulated machine of 64-bit Arm here: {}",
            words.lines().last().unwrap_or_default()
        ),
        code => assert_eq!(code, Some(0), "{words}"),
    }
}
