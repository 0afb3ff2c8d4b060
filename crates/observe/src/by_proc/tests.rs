use switchcost_host::machine::manifest;

use super::*;

fn counted(proc: &mut ByProc) -> Observation {
    proc.snapshot(&Observation::empty(
        manifest(&Root::system()),
        String::new(),
    ))
}

#[test]
fn sleeps_of_a_child_are_voluntary_switches() {
    let script = "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.01; done; read line";
    let mut child = std::process::Command::new("sh")
        .args(["-c", script])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .expect("a shell");
    let mut proc = ByProc::default();
    proc.add(&[child.id()]);
    std::thread::sleep(std::time::Duration::from_millis(600));
    let counted = counted(&mut proc);
    child
        .kill()
        .and_then(|()| child.wait())
        .expect("it waits for its line");
    let voluntary: u64 = counted
        .tasks
        .iter()
        .filter(|tasks| tasks.process == Some(child.id()))
        .map(|tasks| tasks.voluntary)
        .sum();
    // It waits for each of ten children, and once for its line.
    assert!(
        (8..60).contains(&voluntary),
        "{voluntary} of {:?}",
        counted.tasks
    );
}

#[test]
fn a_process_that_has_ended_has_only_a_name() {
    let mut child = std::process::Command::new("cat")
        .stdin(std::process::Stdio::piped())
        .spawn()
        .expect("a program");
    let mut proc = ByProc::default();
    proc.add(&[child.id()]);
    let process = |proc: &mut ByProc| counted(proc).tasks[0].process;
    assert_eq!(process(&mut proc), Some(child.id()));
    drop(child.stdin.take());
    child.wait().expect("our child");
    assert_eq!(process(&mut proc), None);
}

#[test]
fn of_all_tasks_those_that_were_not_seen_are_counted_as_lost() {
    if started().is_none() {
        return println!("skipped: this is a PID namespace of its own");
    }
    // Other programs may run `true`, too.
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("seen-by-none");
    std::os::unix::fs::symlink("/bin/true", &program).expect("a name of its own");
    let mut proc = ByProc::default();
    proc.add_all();
    for _ in 0..50 {
        assert!(
            std::process::Command::new(&program)
                .status()
                .is_ok_and(|status| status.success())
        );
    }
    let counted = counted(&mut proc);
    // Other programs may start tasks, too, and some may have been seen.
    assert!(counted.lost.tasks >= 50, "{:?}", counted.lost);
    assert!(
        !counted
            .tasks
            .iter()
            .any(|tasks| tasks.name == "seen-by-none"),
        "they are gone"
    );
}

#[test]
fn of_all_tasks_new_threads_of_the_observer_are_not_lost() {
    let mut proc = ByProc::default();
    proc.add_all();
    let own = |proc: &ByProc| proc.found_tasks() - proc.found - proc.no_room.len();
    let before = own(&proc);
    let barrier = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| barrier.wait());
        proc.tick();
        barrier.wait();
    });
    assert!(own(&proc) > before, "{before}");
}

#[test]
fn children_that_were_there_before_are_not_observed_and_later_ones_are() {
    let mut parent = std::process::Command::new("sh")
        .args([
            "-c",
            "sleep 60 & read line; sleep 61 & echo; read line; kill %1 %2",
        ])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("a shell");
    let children = || children(parent.id(), parent.id());
    while children().is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let older = children();
    let mut proc = ByProc::default();
    proc.add(&[parent.id()]);
    assert_eq!(proc.processes(), BTreeSet::from([parent.id()]));
    let mut lines = parent.stdin.take().expect("a pipe");
    std::io::Write::write_all(&mut lines, b"go\n").expect("it reads");
    let mut answer = [0];
    std::io::Read::read_exact(parent.stdout.as_mut().expect("a pipe"), &mut answer)
        .expect("it has another child");
    proc.tick();
    let seen = proc.processes();
    drop(lines);
    parent.wait().expect("our child");
    assert_eq!(seen.len(), 2, "{seen:?}");
    assert!(
        older.iter().all(|child| !seen.contains(child)),
        "{older:?} and {seen:?}"
    );
}

/// Creates a task that was found at a tick and has these counters since.
fn task(found_at: u64, last: Counters) -> Task {
    Task {
        name: [0; 16],
        process_name: [0; 16],
        identity: Identity::default(),
        first: Counters::default(),
        last,
        found_at,
    }
}

/// Adds as many tasks as there is room for. Their IDs belong to no thread.
fn fill(proc: &mut ByProc, found_at: u64) {
    let one = Counters {
        voluntary: 1,
        ..Counters::default()
    };
    let tasks = (0..TASKS as u32).map(|id| ((u32::MAX, u32::MAX - id), task(found_at, one)));
    proc.tasks.extend(tasks);
}

#[test]
fn tasks_without_room_are_counted_once() {
    let mut proc = ByProc::default();
    fill(&mut proc, u64::MAX - 1);
    proc.add_threads(&[std::process::id()]);
    proc.tick();
    assert_eq!(counted(&mut proc).lost.tasks, 1);
}

#[test]
fn ended_tasks_leave_room_and_their_counts() {
    let mut proc = ByProc::default();
    fill(&mut proc, 0);
    proc.tick();
    proc.tick();
    proc.add_threads(&[std::process::id()]);
    let counted = counted(&mut proc);
    assert_eq!((counted.lost.tasks, proc.tasks.len()), (0, 1));
    let ended = counted.tasks.iter().filter(|tasks| tasks.name.is_empty());
    let ended: Vec<_> = ended.map(|tasks| (tasks.count, tasks.voluntary)).collect();
    assert_eq!(ended, [(TASKS as u64, TASKS as u64)]);
    assert!(proc.totals().voluntary >= TASKS as u64);
}

#[test]
fn a_later_task_with_the_same_id_is_another_one() {
    let (_folder, mut child) = crate::subject::tests::start_with_hostile_name();
    let key = (child.id(), child.id());
    while counters(key.0, key.1).is_some_and(|now| now.voluntary == 0) {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let mut proc = ByProc::default();
    proc.tasks.insert(key, task(0, Counters::default()));
    proc.add(&[child.id()]);
    let now = counters(key.0, key.1).expect("it lives");
    let (totals, count) = (proc.totals(), counted(&mut proc).tasks.len());
    drop(child.stdin.take());
    child.wait().expect("our child");
    assert!(now.voluntary > 0, "it has waited for its input: {now:?}");
    assert_eq!((totals.voluntary, totals.run, count), (0, Nanos(0), 2));
}

#[test]
fn a_thread_that_executes_a_program_is_counted_once() {
    let script = r#"
import os, threading, time
def run():
    input()
    for _ in range(400): time.sleep(0.001)
    print("x", end="", flush=True)
    input()
    os.execv("/bin/cat", ["cat"])
threading.Thread(target=run).start()
time.sleep(60)"#;
    let started = std::process::Command::new("python3")
        .args(["-c", script])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn();
    let Ok(mut child) = started else {
        return println!("skipped: there is no python3");
    };
    let (mut stdin, mut stdout) = (child.stdin.take(), child.stdout.take());
    let (stdin, stdout) = (
        stdin.as_mut().expect("a pipe"),
        stdout.as_mut().expect("a pipe"),
    );
    while numbers(&format!("/proc/{}/task", child.id())).count() < 2 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let mut proc = ByProc::default();
    proc.add(&[child.id()]);
    let mut say = |line: &[u8]| std::io::Write::write_all(stdin, line).expect("it reads");
    let mut wait = || std::io::Read::read_exact(stdout, &mut [0]).expect("it writes");
    say(b"go\n");
    wait();
    proc.tick();
    say(b"go\n");
    while fs::read_to_string(format!("/proc/{}/comm", child.id())).is_ok_and(|name| name != "cat\n")
    {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    // What python had not read would be lost by the exec.
    say(b"x");
    wait();
    let counted = counted(&mut proc);
    child.kill().and_then(|()| child.wait()).expect("our child");
    let of = |name: &str| {
        let mut tasks = counted.tasks.iter().filter(|tasks| tasks.name == name);
        let tasks = tasks.next().expect("it is there");
        (tasks.count, tasks.voluntary)
    };
    let (first, executed) = (of("python3"), of("cat"));
    assert_eq!((first.0, executed.0), (1, 1), "{:?}", counted.tasks);
    assert!(
        first.1 < 100 && (400..600).contains(&executed.1),
        "{first:?}, {executed:?}"
    );
}

#[test]
fn a_name_may_have_any_bytes() {
    let (_folder, mut child) = crate::subject::tests::start_with_hostile_name();
    let mut proc = ByProc::default();
    proc.add(&[child.id()]);
    let counted = counted(&mut proc);
    drop(child.stdin.take());
    child.wait().expect("our child");
    let names: Vec<&str> = counted
        .tasks
        .iter()
        .map(|tasks| tasks.name.as_str())
        .collect();
    assert_eq!(names, ["a\u{fffd}) \u{fffd}"]);
}
