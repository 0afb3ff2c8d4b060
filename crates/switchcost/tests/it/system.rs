//! `trace --system` where there is no guest to be had: what is said, and that nothing is left. QEMU is played by scripts; a real guest is
//! run by the tests of `capture`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::common::{Place, Ran, ran};

/// A folder with what the program looks for: a first process and a kernel that are none, and a QEMU that does `script`.
fn stage(script: &str) -> Place {
    let place = Place::new();
    for folder in ["parts", "path"] {
        fs::create_dir(place.path(folder)).expect("a folder");
    }
    fs::write(place.path("parts/guest-init"), b"").expect("a file");
    fs::write(place.path("vmlinuz"), b"").expect("a file");
    let qemu = place.path("path/qemu-system-x86_64");
    let version = "[ \"$1\" = --version ] && { echo 'QEMU emulator version 7.2.22'; exit; }";
    fs::write(&qemu, format!("#!/bin/sh\n{version}\n{script}\n")).expect("a script");
    fs::set_permissions(&qemu, fs::Permissions::from_mode(0o755)).expect("a program");
    place
}

fn trace(place: &Place, path: &str, words: &[&str]) -> Ran {
    let kernel = place.path("vmlinuz").display().to_string();
    let output = place.path("guest.sct").display().to_string();
    let arguments = [&["trace", "--system", "--kernel", &kernel, "-o", &output, "--"], words].concat();
    let ran = ran(place
        .command(&arguments)
        .env("SWITCHCOST_QEMU_DIR", place.path("parts"))
        .env("PATH", path)
        .output()
        .expect("starts"));
    assert!(!place.path("guest.sct").exists(), "no half file: {}", ran.stderr);
    ran
}

fn on_stage(script: &str, words: &[&str]) -> Ran {
    let place = stage(script);
    let path = place.path("path").display().to_string();
    trace(&place, &path, words)
}

#[test]
fn without_qemu_the_package_is_named() {
    let ran = trace(&stage(""), "", &["/bin/true"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(
        ran.stderr.contains(
            "found no working qemu-system-x86_64 (not in PATH), need QEMU 7.2 or newer for x86; apt-get install qemu-system-x86"
        ),
        "{}",
        ran.stderr
    );
}

#[test]
fn what_the_guest_says_is_told() {
    let ran = on_stage("echo 'error a kernel without BTF'", &["/bin/true"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(
        ran.stderr.contains(
            "found a kernel without BTF, need one with BTF (CONFIG_DEBUG_INFO_BTF) and /proc/kallsyms; Debian's have both: --kernel \
             linux-image-cloud-amd64"
        ),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_guest_that_panics_is_an_error_with_its_last_words() {
    let ran =
        on_stage("echo ready; echo 'Kernel panic - not syncing: Attempted to kill init!' >&2; exit 3", &["/bin/true"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("found the guest ended before its programs (exit status: 3), need it to run to their end"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("Kernel panic - not syncing: Attempted to kill init!"), "{}", ran.stderr);
}

#[test]
fn a_program_or_file_that_no_guest_can_have_is_refused_before_it_boots() {
    let ran = on_stage("echo booted >&2", &["switchcost-no-such-program"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("found no program 'switchcost-no-such-program' in PATH"), "{}", ran.stderr);
    let ran = on_stage("echo booted >&2", &["/bin/cat", "/dev/tty"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("found the device /dev/tty among the arguments"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("booted"), "{}", ran.stderr);
}

#[test]
fn turns_of_ours_and_those_of_a_guest_exclude_each_other() {
    let place = Place::new();
    let ran = place.run(&["trace", "--system", "--quantum", "100000", "--", "true"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    let ran = place.run(&["trace", "--slice", "3ms", "--", "true"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
}
