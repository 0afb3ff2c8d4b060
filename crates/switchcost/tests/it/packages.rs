//! Tests the wheels of the program under test as users install them; `make packages-test` tests the
//! other packages, and the released files.

use std::process::Command;

use crate::common::{PROGRAM, Place, repository};

fn script(name: &str) -> Command {
    let mut command = Command::new(repository("scripts").join(name));
    command.current_dir(repository(""));
    command
}

#[test]
#[ignore = "takes long: make test ARGS=--all"]
fn wheels_do_the_main_jobs_from_a_fresh_environment() {
    let has_venv = Command::new("python3")
        .args(["-c", "import venv, ensurepip"])
        .status();
    if !has_venv.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no python3 with venv; scripts/setup.sh test installs it");
        return;
    }
    let place = Place::new();
    let folder = place.path("packages");
    let mut pack = script("packages.sh");
    pack.arg("--to")
        .arg(&folder)
        .args(["--of", PROGRAM, "wheels"]);
    let packed = pack.output().expect("the script starts");
    let why = String::from_utf8_lossy(&packed.stderr);
    if why.contains("No matching distribution found") {
        eprintln!("skipped: hatchling, which packs wheels, cannot be had here");
        return;
    }
    assert!(packed.status.success(), "{why}");
    assert_eq!(
        String::from_utf8_lossy(&packed.stdout).lines().count(),
        2,
        "the program, and what captures"
    );
    let tried = script("test-packages.sh")
        .arg(&folder)
        .arg("--wheels-only")
        .output()
        .expect("the script starts");
    let said = String::from_utf8_lossy(&tried.stdout);
    assert!(
        tried.status.success() && said.ends_with("1 passed, 0 failed, 0 skipped\n"),
        "{said}"
    );
}
