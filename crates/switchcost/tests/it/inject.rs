//! Tests preemptions of unchanged programs. A test that lacks rights reports that it was skipped.

use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

use crate::common::{
    Arguments, Place, Ran, allowed_cpus, count, finished, items, number, processes_with,
    status_field, text, wait_until,
};

/// Script of about 30 ms of CPU time in a shell.
const BUSY: &str = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done";

/// Locks out other tests that use real-time policies, because two such tests on one CPU would take
/// it from each other.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn inject(place: &Place, arguments: impl Arguments) -> Ran {
    place.run(("inject --footprint 0 --only-cpu", arguments))
}

/// Runs `inject`; returns `None`, with a message, if this user lacks the rights.
fn injected(place: &Place, arguments: impl Arguments) -> Option<Ran> {
    let ran = inject(place, arguments);
    let lacks = ["sched_setscheduler", "PID namespace"]
        .iter()
        .any(|what| ran.stderr.contains(what));
    if lacks {
        println!("skipped: {}", ran.stderr.trim());
    }
    (!lacks).then_some(ran)
}

#[test]
fn a_footprint_that_does_not_fit_into_memory_is_refused_before_anything_runs() {
    let place = Place::new();
    let mark = place.path("mark");
    place
        .run("inject --only-cpu --footprint 1000000GiB -- touch mark")
        .assert_code(2)
        .assert_message(" of memory is free, too little for --footprint ")
        .assert_message("hint: use a smaller --footprint\n");
    assert!(!mark.exists(), "the command was started");
}

#[test]
fn what_a_preemption_costs_is_reported_recorded_and_reported_again() {
    let _alone = alone();
    let place = Place::new();
    let arguments =
        format!("--budget 5s --record run-injection.jsonl --check-output -- sh -c '{BUSY}'");
    // If other real-time tasks run, one run of a few tens of milliseconds may take much longer.
    let tries = || (0..3).map(|_| injected(&place, &arguments));
    let is_fit = |ran: &Option<Ran>| {
        !ran.as_ref()
            .is_some_and(|ran| ran.stderr.contains("fewer than 6 runs"))
    };
    let Some(ran) = tries()
        .find(is_fit)
        .expect("time for six runs in one of three")
    else {
        return;
    };
    ran.assert_result();
    ran.assert_message("of CPU time: 5.00 s has time for at most");
    let json = place.run("report --format json run-injection.jsonl").json();
    assert!(
        json["schema"] == "switchcost.inject/1" && json["is_complete"] == true,
        "{json}"
    );
    let found = &json["footprints"][0];
    assert!(count(&found["preemptions"]) > 100, "{found}");
    assert!(number(&found["hit"]) > 0.9, "{found}");
    assert_eq!(
        place.run("report -o page.html run-injection.jsonl").code,
        ran.code
    );
    let again = inject(&place, &arguments);
    again.assert_failed(2, "records are never overwritten");
}

#[test]
fn what_cannot_be_measured_is_refused_and_said_why() {
    let _alone = alone();
    let place = Place::new();
    for (command, why) in [
        ("no-such-program", "no-such-program cannot be run"),
        ("true", "the command runs too briefly"),
        ("sleep 0.3", "the command mostly waits"),
        (
            "ls /no/such/file",
            "the command failed (exit status: 2): ls: ",
        ),
        (
            &format!("sh -c '{BUSY}; echo $$'"),
            "the outputs of two copies differ from byte 0 on",
        ),
        (
            &format!("sh -c 'sleep 60 & {BUSY}'"),
            "the command exited before its children",
        ),
        (
            "sh -c 'while :; do :; done'",
            "the command was still running after 2.00 s",
        ),
    ] {
        if let Some(ran) = injected(&place, ("--budget 2s --check-output --", command)) {
            assert_refused(&ran, why);
        }
    }
}

fn assert_refused(ran: &Ran, why: &str) {
    assert!(matches!(ran.code, 1 | 2), "{} {}", ran.code, ran.stderr);
    ran.assert_message(why);
}

/// Checks that a command that leaves its process group and writes files in its folder is measured:
/// control groups freeze its copies, and each copy has its own working directory. Both copies
/// create the folder `made`, so they cannot share a working directory.
#[test]
fn who_leaves_its_process_group_and_writes_where_it_is_runs_frozen_and_apart_at_each_period() {
    let _alone = alone();
    let place = Place::new();
    let record = place.path("run-injection.jsonl");
    let folder = place.path("work");
    std::fs::create_dir(&folder).expect("room");
    let busy = format!("{BUSY}; mkdir made");
    // A busy machine needs longer for six runs.
    let said = |budget: &str| {
        let usual = format!("inject --footprint 0 --only-cpu --budget {budget} --apart");
        let files = format!("--period 1ms,250us --record {}", text(&record));
        let mut command = place.command((usual, (files, "-- setsid -w sh -c")));
        finished(command.arg(&busy).current_dir(&folder)).stderr
    };
    // On a busy machine a run takes longer: the budget is refused, or is exceeded.
    let is_fit = |said: &String| {
        !["fewer than 6 runs", "is too short"]
            .iter()
            .any(|why| said.contains(why))
    };
    let said = ["4s", "8s", "16s"]
        .into_iter()
        .map(said)
        .find(is_fit)
        .expect("time for six runs");
    for what in [
        "sched_setscheduler",
        "PID namespace",
        "process group of their own",
        "no working directory of its own",
    ] {
        if said.contains(what) {
            return println!("skipped: {}", said.trim());
        }
    }
    assert!(record.exists(), "{said}");
    let json = place.run("report --format json run-injection.jsonl").json();
    let plan = &json["plan"];
    let is_so = plan["is_frozen"] == true && plan["is_apart"] == true;
    assert!(is_so && plan["period_ns"] == 1_000_000, "{plan} {said}");
    for period in items(&json["periods"]) {
        assert!(number(&period["footprints"][0]["hit"]) > 0.9, "{period}");
    }
    // What they made is gone with them.
    assert_eq!(std::fs::read_dir(&folder).expect("it is there").count(), 0);
}

/// Waits until no process has these words in its command line.
fn wait_for_the_end(words: &[&str]) {
    wait_until(&format!("{words:?} has ended"), || {
        processes_with("cmdline", words).is_empty()
    });
}

/// The test looks for the program, both copies, stopped or not, everything that they have started,
/// and the real-time task.
#[test]
fn a_kill_at_any_moment_leaves_no_one() {
    let _alone = alone();
    let place = Place::new();
    // Only the arguments of the copies and of their children contain the word.
    let word = format!("twin-of-test-{}", std::process::id());
    let busy = format!("sh -c '{BUSY}' {word} & wait; {BUSY}");
    let command = ["sh", "-c", &busy, &word];
    let Some(_) = injected(&place, ("--budget 100ms --", command)) else {
        return;
    };
    let mut random = ChaCha8Rng::seed_from_u64(u64::from(std::process::id()));
    let mut has_seen_twins = false;
    for _ in 0..6 {
        let mut child = place
            .command(("inject --footprint 0 --only-cpu --budget 20s --", command))
            .spawn()
            .expect("it starts");
        std::thread::sleep(Duration::from_millis(random.random_range(100..900)));
        has_seen_twins |= processes_with("cmdline", &[&word]).len() > 1;
        child.kill().expect("it is ours");
        child.wait().expect("it is ours");
        wait_for_the_end(&[&word]);
        wait_for_the_end(&["serve-one-injection", &child.id().to_string()]);
    }
    assert!(has_seen_twins, "no copy was there at any kill");
}

#[test]
fn the_only_cpu_is_not_taken_unasked() {
    let place = Place::new();
    let cpu = allowed_cpus()[0];
    let words = ["inject", "--record", "r.jsonl", "--", "sh", "-c", BUSY];
    let mut command = place.command_behind(format!("taskset -c {cpu}"), words);
    finished(&mut command).assert_message(&format!(
        "CPU {cpu} is the only one allowed, so everything else would wait for the CPU of the copies"
    ));
    assert!(!place.path("r.jsonl").exists());
}

/// A server that again and again computes a little, writes 40 bytes, and sleeps for a millisecond.
/// It ends with the test.
struct Server(std::process::Child);

impl Server {
    fn start() -> Server {
        let script = "for (;;) { $i = 0; $i++ while $i < 12000; syswrite(STDOUT, 'x') for 1 .. 40; select(undef, undef, undef, 0.001) }";
        let mut command = Command::new("perl");
        command
            .args(["-e", script])
            .stdout(std::process::Stdio::null());
        Server(command.spawn().expect("perl is there"))
    }

    fn number(&self) -> String {
        self.0.id().to_string()
    }

    /// Returns whether the server is stopped, and on which CPUs it may run.
    fn condition(&self) -> (bool, String) {
        let field = |name| status_field(self.0.id(), name);
        (
            field("State:").starts_with(['T', 't']),
            field("Cpus_allowed_list:"),
        )
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs `inject` on a service; returns `None`, with a message, if this user lacks the rights or the
/// kernel counts no calls.
fn served(place: &Place, arguments: impl Arguments) -> Option<Ran> {
    let ran = injected(place, arguments)?;
    let lacks = ["tracepoints of system calls", "right to count calls"]
        .iter()
        .any(|what| ran.stderr.contains(what));
    if lacks {
        println!("skipped: {}", ran.stderr.trim());
    }
    (!lacks).then_some(ran)
}

#[test]
fn a_service_is_preempted_where_it_is_and_left_as_it_was() {
    let _alone = alone();
    let (place, server) = (Place::new(), Server::start());
    let before = server.condition();
    let work = format!(
        "-p {} --work syscall:write --footprint 64KiB",
        server.number()
    );
    let more = "--budget 2500ms --record run-injection.jsonl";
    let Some(ran) = served(&place, (work, more)) else {
        return;
    };
    ran.assert_result();
    assert_eq!(server.condition(), before);
    let json = place.run("report --format json run-injection.jsonl").json();
    let service = &json["service"];
    assert_eq!(service["preempted"]["thread"], server.0.id());
    assert!(number(&service["work_per_second"]) > 10.0, "{service}");
    let groups = items(&json["groups"]);
    let has_run = |group: &Value| count(&group["phases"][0]["turns_run"]) > 0;
    assert!(groups.len() > 2 && groups.iter().any(has_run), "{json}");
}

#[test]
fn a_service_that_cannot_be_measured_is_refused_and_said_why() {
    let (place, server) = (Place::new(), Server::start());
    let number = server.number();
    let refused = |pid: &str, work: &str, why: &str| {
        let words = ["-p", pid, "--work", work, "--budget", "1s"];
        if let Some(ran) = served(&place, words) {
            assert_refused(&ran, why);
        }
    };
    for (work, why) in [
        ("syscall:wrote", "'wrote' is not a system call"),
        (
            "syscall:sendfile64",
            "no syscall:sendfile64 in 1.00 s of thread",
        ),
        (
            "echo many",
            "the command 'echo many' of --work does not print a number (it printed 'many')",
        ),
        ("uprobe:libc.so.6:no_such", "has no function no_such"),
    ] {
        refused(&number, work, why);
    }
    refused("4194305", "syscall:write", "no process with PID 4194305");
    let elsewhere = ["-p", &number, "--work", "syscall:write", "--cpu", "4000"];
    if let Some(ran) = served(&place, elsewhere) {
        assert_refused(&ran, "--cpu 4000 is not allowed for both the service and");
    }
    let mut sleeper = Command::new("sleep").arg("60").spawn().expect("it starts");
    refused(
        &sleeper.id().to_string(),
        "syscall:write",
        "but needs 2 % or more",
    );
    sleeper.kill().and_then(|()| sleeper.wait()).expect("ours");
}

/// Whenever the kill comes, the service must continue as before, and no real-time task may be left.
#[test]
fn a_kill_at_any_moment_leaves_a_service_as_it_was() {
    let _alone = alone();
    let (place, server) = (Place::new(), Server::start());
    let (before, number) = (server.condition(), server.number());
    let words = format!("-p {number} --work syscall:write --footprint 64KiB");
    let Some(_) = served(&place, (&words, "--budget 100ms")) else {
        return;
    };
    let mut has_been_placed = before.1.len() == 1;
    for moment in [1_300, 1_700, 2_100] {
        let usual = "inject --only-cpu --budget 20s";
        let mut child = place.command((usual, &words)).spawn().expect("it starts");
        std::thread::sleep(Duration::from_millis(moment));
        has_been_placed |= server.condition() != before;
        child.kill().expect("it is ours");
        child.wait().expect("it is ours");
        wait_for_the_end(&["serve-one-injection", &child.id().to_string()]);
        wait_for_the_end(&["clean-up-when-abandoned", "--affinity", &number]);
        assert_eq!(server.condition(), before);
    }
    assert!(has_been_placed, "it was on its CPU at no kill");
}
