use std::os::unix::fs::PermissionsExt;

use super::*;
use std::fs::Permissions;

fn message(command: &Command) -> String {
    command.check().expect_err("unfit").to_string()
}

fn with_file(content: &[u8], mode: u32) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("program");
    std::fs::write(&path, content).expect("written");
    std::fs::set_permissions(&path, Permissions::from_mode(mode)).expect("permissions");
    message(&Command::new([&path])).replace(folder.path().to_str().expect("text"), "FOLDER")
}

#[test]
fn usual_programs_are_fit() {
    Command::new(["sh", "-c", "true"])
        .check()
        .expect("a program in PATH");
    Command::new(["/bin/true"])
        .check()
        .expect("a program with a path");
    let here = Command {
        directory: Some("/".into()),
        ..Command::new(["bin/true"])
    };
    here.check().expect("a program from where it starts");
}

#[test]
fn a_program_gives_rights_that_its_caller_has_not() {
    const ROOT: [u32; 2] = [0; 2];
    assert!(!gives_rights(0o755, 0, 0, [1000; 2], [1000; 2]));
    assert!(
        !gives_rights(0o6755, 0, 0, ROOT, ROOT),
        "root has root's rights"
    );
    assert!(gives_rights(0o4755, 0, 0, [1000; 2], [1000; 2]));
    assert!(
        gives_rights(0o4755, 0, 0, [1000, 0], ROOT),
        "the effective ones alone"
    );
    assert!(gives_rights(0o2755, 0, 5, ROOT, ROOT), "another group's");
}

#[test]
fn each_unfit_program_is_named_with_the_reason() {
    assert_eq!(
        message(&Command::default()),
        "no command is given; put it after `--`"
    );
    assert_eq!(
        message(&Command::new(["no-such-program", "-x"])),
        "the command 'no-such-program -x' cannot be traced: no-such-program is not in PATH; check PATH, or give the full path"
    );
    assert_eq!(
        message(&Command::new(["/no/such/program"])),
        "the command '/no/such/program' cannot be traced: /no/such/program: No such file or directory (os error 2); name a \
         program that is there"
    );
    assert_eq!(
        message(&Command::new(["/"])),
        "the command '/' cannot be traced: / is no file; name a program"
    );
    assert_eq!(
        with_file(b"#!/bin/sh\n", 0o644),
        "the command 'FOLDER/program' cannot be traced: FOLDER/program may not be executed; give it execute permission (chmod \
         +x)"
    );
    assert_eq!(
        with_file(b"#!\n", 0o755),
        "the command 'FOLDER/program' cannot be traced: the script FOLDER/program has no interpreter; name one after its #!"
    );
    assert_eq!(
        with_file(b"#!/no/such/shell -e\n", 0o755),
        "the command 'FOLDER/program' cannot be traced: /no/such/shell: No such file or directory (os error 2); name a program \
         that is there"
    );
    assert_eq!(
        with_file(b"\x7fELF\x01\x01\x01", 0o755),
        "the command 'FOLDER/program' cannot be traced: FOLDER/program is a program of 32 bits; name a 64-bit x86 program"
    );
    let mut arm = [0; 20];
    arm[..6].copy_from_slice(b"\x7fELF\x02\x01");
    arm[18] = 183;
    assert_eq!(
        with_file(&arm, 0o755),
        "the command 'FOLDER/program' cannot be traced: FOLDER/program is for another kind of processor; name a 64-bit x86 \
         program"
    );
    assert_eq!(
        with_file(b"hello", 0o755),
        "the command 'FOLDER/program' cannot be traced: FOLDER/program is neither an ELF file nor a script with #!; name a \
         program"
    );
}
