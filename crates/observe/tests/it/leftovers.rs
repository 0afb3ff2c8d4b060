//! Tests that nothing is left in the kernel.

use std::process::Command;
use std::time::{Duration, Instant};

use aya::programs::loaded_programs;
use switchcost_observe::{Backend, Options};

use crate::{end, observer, turn};

/// Counts the loaded BPF programs of this crate, by the names of their functions.
fn ours() -> usize {
    let names = [
        "on_switch",
        "on_waking",
        "on_fork",
        "on_free",
        "on_rename",
        "on_fault",
    ];
    let is_ours = |program: &aya::programs::ProgramInfo| {
        program
            .name_as_str()
            .is_some_and(|name| names.contains(&name))
    };
    loaded_programs().flatten().filter(is_ours).count()
}

/// Counts the remaining programs after a while, because the kernel releases a program shortly after
/// its last descriptor is closed.
fn left_after_a_while() -> usize {
    let since = Instant::now();
    while ours() > 0 && since.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(20));
    }
    ours()
}

#[test]
fn started_and_stopped_twice_nothing_is_left() {
    let _turn = turn();
    for _ in 0..2 {
        let Some(mut observer) = observer(Options::default()) else {
            return;
        };
        observer
            .add(&[std::process::id()])
            .expect("there is room for one");
        assert!(ours() > 0, "it is at work");
        observer.finish().expect("the tables are there");
    }
    assert_eq!(left_after_a_while(), 0);
}

/// Observes until it is killed; `killed_nothing_is_left` runs this test as a separate process.
#[test]
#[ignore = "observes until it is killed, for another test"]
fn observes_until_it_is_killed() {
    let Some(mut observer) = observer(Options::default()) else {
        return;
    };
    observer.add_all();
    loop {
        observer.tick();
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn killed_nothing_is_left() {
    let _turn = turn();
    if observer(Options::default()).is_none() {
        return;
    }
    let own = std::env::current_exe().expect("a test is a program");
    let name = "leftovers::observes_until_it_is_killed";
    let mut child = Command::new(own)
        .args([name, "--exact", "--ignored"])
        .spawn()
        .expect("it was run once already");
    let since = Instant::now();
    while ours() == 0 && since.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(ours() > 0, "it is at work");
    end(&mut child);
    assert_eq!(left_after_a_while(), 0);
}
