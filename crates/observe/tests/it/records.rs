//! Tests the kernel's records of switches (perf), which are used if the kernel accepts no BPF
//! programs.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use switchcost_observe::{Backend, Options};
use switchcost_record::observation::Observation;

use crate::in_flight::kernels;
use crate::{
    by_records, end, is_counted, observed, observer, program_traced, sum, sum_of, trace, turn,
};

#[test]
fn short_processes_and_their_names_are_report() {
    let script = r#"for (1..300) { my $p = fork; if (!$p) { exec "/bin/true" } waitpid($p, 0) }"#;
    let Some((_, counted)) = observed(script, by_records()) else {
        return;
    };
    let ended = sum_of(&counted, "true", |tasks| tasks.count);
    assert_eq!((ended, counted.lost.records), (300, 0));
    assert_eq!(sum_of(&counted, "perl", |tasks| tasks.count), 1);
    assert!(sum_of(&counted, "true", |tasks| tasks.run_ns.0) > 0);
}

#[test]
fn time_off_the_cpu_is_that_of_sleeps() {
    let _turn = turn();
    let begun = Instant::now();
    let script = "for (1..50) { select(undef, undef, undef, 0.004) }";
    let mut perl = Command::new("perl");
    let Some((_, counted, _)) = trace(perl.args(["-e", script]), by_records()) else {
        return;
    };
    let off = sum(&counted, |tasks| tasks.off_ns.0);
    assert!(
        (200_000_000..begun.elapsed().as_nanos() as u64).contains(&off),
        "{off} ns of fifty sleeps of 4 ms"
    );
    assert!(
        counted
            .tasks
            .iter()
            .all(|tasks| tasks.causes.is_empty() && tasks.wait_ns.0 == 0),
        "what is not reported is not 0"
    );
}

#[test]
fn threads_that_run_already_are_recorded() {
    let _turn = turn();
    let Some(mut observer) = observer(by_records()) else {
        return;
    };
    let script = "for (1..200) { select(undef, undef, undef, 0.005) } sleep 60";
    let mut child = Command::new("perl")
        .args(["-e", script])
        .spawn()
        .expect("perl is there");
    std::thread::sleep(Duration::from_millis(100));
    let switches = || kernels(child.id()).1;
    let before = switches();
    observer.add(&[child.id()]).expect("there is room");
    let begun = switches();
    std::thread::sleep(Duration::from_millis(300));
    observer.tick();
    let least = (switches() - begun).saturating_sub(1);
    let counted = observer.finish().expect("records are read");
    let most = switches() - before + 1;
    end(&mut child);
    if !is_counted(&counted, by_records()) {
        return;
    }
    let mut own = counted.tasks;
    own.retain(|tasks| tasks.process == Some(child.id()));
    let [own] = &own[..] else { panic!("{own:?}") };
    assert_eq!((own.name.as_str(), own.count), ("perl", 1));
    assert!(
        own.voluntary > 0 && (least..=most).contains(&own.switches()),
        "{} switches, the kernel: {least} to {most}",
        own.switches()
    );
}

#[test]
fn counters_are_closed_when_the_last_descendant_of_their_thread_has_ended() {
    let _turn = turn();
    let script = "<STDIN>; if (!fork) { select(undef, undef, undef, 0.01) for 1..50 }";
    let mut child = Command::new("perl")
        .args(["-e", script])
        .stdin(Stdio::piped())
        .spawn()
        .expect("perl is there");
    let Some(mut observer) = observer(by_records()) else {
        return end(&mut child);
    };
    let open = || {
        let files = std::fs::read_dir("/proc/self/fd").expect("this process has files");
        let paths = files
            .flatten()
            .filter_map(|file| file.path().read_link().ok());
        paths
            .filter(|path| path.ends_with("anon_inode:[perf_event]"))
            .count()
    };
    let before = open();
    observer.add(&[child.id()]).expect("there is room");
    let with_child = open();
    drop(child.stdin.take());
    child.wait().expect("it ends with its input");
    let begun = Instant::now();
    while open() > before && begun.elapsed() < Duration::from_secs(20) {
        observer.tick();
        std::thread::sleep(Duration::from_millis(10));
    }
    let after = open();
    let counted = observer.finish().expect("records are read");
    if !is_counted(&counted, by_records()) {
        return;
    }
    assert!(with_child > before, "{before} and {with_child} counters");
    assert_eq!(after, before);
    let voluntary = sum_of(&counted, "perl", |tasks| tasks.voluntary);
    assert!(voluntary >= 50, "sleeps of the second process: {voluntary}");
}

#[test]
fn a_thread_that_executes_another_program_goes_on_under_the_number_of_its_process() {
    let script = r#"
import os, threading, time
def run():
    for _ in range(20): time.sleep(0.001)
    os.execv("/bin/sleep", ["sleep", "0.05"])
threading.Thread(target=run).start()
time.sleep(60)"#;
    for options in [by_records(), Options::default()] {
        let Some(counted) = of_python(script, options) else {
            return;
        };
        let count = |name| sum_of(&counted, name, |tasks| tasks.count);
        // The thread is listed with its earlier activity, and so is the first thread, which ended
        // when the other took its number.
        assert_eq!(
            (count("sleep"), count("python3")),
            (1, 1),
            "{:?}",
            counted.tasks
        );
        let sleeps = sum_of(&counted, "sleep", |tasks| tasks.voluntary);
        assert!(sleeps >= 21, "before and after: {:?}", counted.tasks);
    }
}

#[test]
fn the_first_thread_may_end_before_the_others() {
    let script = r#"
import ctypes, threading, time
def run():
    for _ in range(30): time.sleep(0.005)
threading.Thread(target=run).start()
ctypes.CDLL(None).syscall(60 if ctypes.sizeof(ctypes.c_void_p) == 8 and __import__("platform").machine() == "x86_64" else 93, 0)"#;
    for options in [by_records(), Options::default()] {
        let Some(counted) = of_python(script, options) else {
            return;
        };
        let mut own = counted.tasks.clone();
        own.retain(|tasks| tasks.name == "python3");
        assert!(
            own.iter().all(|tasks| tasks.process.is_none()),
            "both have ended: {own:?}"
        );
        assert_eq!(
            sum_of(&counted, "python3", |tasks| tasks.count),
            2,
            "{own:?}"
        );
        let voluntary = sum_of(&counted, "python3", |tasks| tasks.voluntary);
        assert!(
            voluntary >= 31,
            "sleeps of the second are counted to its end: {own:?}"
        );
    }
}

#[test]
fn tasks_that_have_the_same_id_one_after_another_are_counted_each() {
    let script = r#"
import os, time
first = None
if not os.access("/proc/sys/kernel/ns_last_pid", os.W_OK): raise SystemExit(print(0))
for number in range(20):
    if first:
        with open("/proc/sys/kernel/ns_last_pid", "w") as last: last.write(str(first - 1))
    child = os.fork()
    if not child:
        with open("/proc/self/comm", "w") as name: name.write("again")
        for _ in range(5): time.sleep(0.002)
        os._exit(0)
    same = same + (child == first) if first else 0
    first = first or child
    os.waitpid(child, 0)
print(same)"#;
    let mut python = Command::new("python3");
    let reported = program_traced(python.args(["-c", script]), by_records());
    let Some((same, counted, _)) = reported else {
        return;
    };
    if same.trim().parse::<u32>().is_ok_and(|same| same < 10) {
        return println!("skipped: others took the IDs");
    }
    // Each child sleeps five times, and ends.
    let count = sum_of(&counted, "again", |tasks| tasks.count);
    assert_eq!(count, 20, "{same} times the same ID");
    let switches = sum_of(&counted, "again", |tasks| tasks.voluntary);
    assert!(switches >= 20 * 6, "{switches}");
}

fn of_python(script: &str, options: Options) -> Option<Observation> {
    let (_, counted, _) = program_traced(Command::new("python3").args(["-c", script]), options)?;
    Some(counted)
}
