use std::ffi::CString;
use std::os::fd::OwnedFd;

use switchcost_units::CpuId;

use super::*;

/// Time after which a supervisor counts as hanging.
const LONGEST: Duration = Duration::from_secs(120);

fn shell(script: &str) -> Program {
    let text = |text: &str| CString::new(text).expect("no zero inside");
    Program {
        path: text("/bin/sh"),
        arguments: vec![text("sh"), text("-c"), text(script)],
        environment: vec![text("PATH=/usr/bin:/bin"), text("ANSWER=42")],
        directory: Some(text("/")),
    }
}

fn null() -> OwnedFd {
    std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null")
        .expect("/dev/null")
        .into()
}

/// Starts a supervisor; returns nothing if this machine allows no PID namespaces.
fn supervisor(
    programs: &[Program],
    in_pid_namespace: bool,
) -> Option<(Supervisor, std::io::PipeReader)> {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let setting = Setting {
        in_pid_namespace,
        cpu: Some(CpuId(0)),
        has_fixed_addresses: true,
        has_callers_files: true,
        ..Setting::new(null(), writer.into(), null())
    };
    match Supervisor::start(programs, &setting) {
        Ok(supervisor) => Some((supervisor, reader)),
        Err(error) if in_pid_namespace => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("found {error}, need a supervisor"),
    }
}

/// Runs a test with programs among all other processes, and with programs in a PID namespace.
fn both_ways(programs: &[Program], test: impl Fn(Supervisor, std::io::PipeReader, bool)) {
    for in_pid_namespace in [false, true] {
        if let Some((supervisor, output)) = supervisor(programs, in_pid_namespace) {
            test(supervisor, output, in_pid_namespace);
        }
    }
}

fn next(supervisor: &mut Supervisor) -> Report {
    let report = supervisor.report(LONGEST).expect("the supervisor lives");
    report.expect("a report in time")
}

fn launch(supervisor: &mut Supervisor, program: u32) {
    supervisor.launch(program).expect("a supervisor at work");
}

/// Runs the first program to its end; returns its output and its exit code.
fn run(mut supervisor: Supervisor, mut output: std::io::PipeReader) -> (String, Option<i32>) {
    launch(&mut supervisor, 0);
    assert!(matches!(next(&mut supervisor), Report::Launched { program: 0, pid } if pid > 0));
    let Report::Ended { program: 0, status } = next(&mut supervisor) else {
        panic!("an end")
    };
    supervisor.dismiss();
    let mut text = String::new();
    output.read_to_string(&mut text).expect("text");
    (text, status.code())
}

#[test]
fn starts_a_program_as_asked_and_reports_its_end() {
    let script = "echo $ANSWER $(pwd) $(cat /proc/self/personality); grep Cpus_allowed_list /proc/self/status; exit 7";
    both_ways(
        &[shell(script), shell("exit 1")],
        |supervisor, output, _| {
            let expected = "42 / 00040000\nCpus_allowed_list:\t0\n".to_owned();
            assert_eq!(run(supervisor, output), (expected, Some(7)));
        },
    );
}

#[test]
fn a_program_that_cannot_start_is_reported() {
    let mut missing = shell("");
    missing.path = CString::new("/no/such/program").expect("no zero inside");
    both_ways(&[missing], |mut supervisor, _output, _| {
        launch(&mut supervisor, 0);
        let reports = [(); 3].map(|()| next(&mut supervisor));
        let refused = Report::Refused {
            program: 0,
            error: libc::ENOENT,
        };
        assert!(reports.contains(&refused), "{reports:?}");
    });
}

/// Returns a program and its descendants' mark: a variable in their environment.
fn marked(script: &str, name: &str) -> (Program, String) {
    let mut program = shell(script);
    let variable = format!("{name}={}", std::process::id());
    let text = CString::new(variable.as_str()).expect("no zero inside");
    program.environment.push(text);
    (program, variable)
}

/// Counts the processes that have `variable` in their environment.
fn living_with(variable: &str) -> usize {
    let processes = std::fs::read_dir("/proc").expect("a list of processes");
    let has_variable = |process: &std::fs::DirEntry| {
        let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
        let mut variables = environment.split(|&byte| byte == 0);
        variables.any(|own| own == variable.as_bytes())
    };
    processes.flatten().filter(has_variable).count()
}

/// Waits until `count` processes have `variable` in their environment. A process that is just
/// starting a program has no environment for a moment.
fn await_living_with(variable: &str, count: usize) {
    let deadline = std::time::Instant::now() + LONGEST;
    while living_with(variable) != count {
        assert!(
            std::time::Instant::now() < deadline,
            "found {}, need {count}",
            living_with(variable)
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn nothing_is_left_when_the_supervisor_is_dismissed() {
    // One process stays, one leaves its parent, one leaves its session.
    let (script, variable) = marked(
        "sleep 1000 & echo; (sleep 1001 & echo); setsid sleep 1002 & echo; echo; wait",
        "SUPERVISOR_TEST",
    );
    both_ways(&[script], |mut supervisor, mut output, _| {
        launch(&mut supervisor, 0);
        output.read_exact(&mut [0; 4]).expect("four lines");
        await_living_with(&variable, 4);
        supervisor.dismiss();
        assert_eq!(living_with(&variable), 0);
    });
}

#[test]
fn a_killed_supervisor_takes_all_in_its_pid_namespace_with_it() {
    let (script, variable) = marked("setsid sleep 1000 & echo; wait", "SUPERVISOR_KILL_TEST");
    let Some((mut supervisor, mut output)) = supervisor(&[script], true) else {
        return;
    };
    launch(&mut supervisor, 0);
    output.read_exact(&mut [0]).expect("a line");
    await_living_with(&variable, 2);
    rustix::process::kill_process(supervisor.pid, rustix::process::Signal::KILL)
        .expect("our own child");
    assert!(matches!(next(&mut supervisor), Report::Launched { .. }));
    let error = supervisor.report(LONGEST).expect_err("no more reports");
    assert_eq!(
        error.to_string(),
        "the process that starts the programs was killed"
    );
    supervisor.dismiss();
    assert_eq!(living_with(&variable), 0);
}

#[test]
fn who_lives_in_a_pid_namespace_has_the_same_numbers_each_time_and_sees_no_one_else() {
    let script =
        "set -- /proc/[0-9]*; echo $$ $PPID $#; readlink /proc/self/fd/0; kill -KILL -1; exit 3";
    for _ in 0..2 {
        let Some((supervisor, output)) = supervisor(&[shell(script)], true) else {
            return;
        };
        // The program spares itself, and its reach ends at the namespace.
        let expected = "2 1 2\n/dev/null\n".to_owned();
        assert_eq!(run(supervisor, output), (expected, Some(3)));
    }
}

#[test]
fn the_tasks_in_a_pid_namespace_are_found_by_their_own_numbers() {
    both_ways(
        &[shell("exec sleep 1000")],
        |mut supervisor, _output, in_pid_namespace| {
            launch(&mut supervisor, 0);
            let Report::Launched { pid, .. } = next(&mut supervisor) else {
                panic!("a start")
            };
            let pid = pid as u32;
            let files = supervisor.task_files().clone();
            let mut text = String::new();
            let mut status = files.open(pid, pid, "status").expect("it lives");
            status.read_to_string(&mut text).expect("text");
            let numbers = text
                .lines()
                .find_map(|line| line.strip_prefix("NSpid:"))
                .expect("the kernel reports them");
            assert_eq!(
                numbers.split_whitespace().next_back(),
                Some(pid.to_string().as_str()),
                "{numbers}"
            );
            assert!(
                in_pid_namespace
                    || std::path::Path::new(&format!("/proc/{pid}/task/{pid}")).exists()
            );
            let here = files.number_here(pid, pid).expect("we see it");
            let status = std::fs::read_to_string(format!("/proc/{here}/status")).expect("it lives");
            assert!(
                status.contains(&format!("\nPPid:\t{}\n", supervisor.pid())),
                "{status}"
            );
            assert_eq!(here == pid, !in_pid_namespace);
            supervisor.dismiss();
            let gone = files.open(pid, pid, "stat").expect_err("none is left");
            assert_eq!(gone.kind(), std::io::ErrorKind::NotFound);
        },
    );
}

#[test]
fn who_lives_in_a_pid_namespace_has_the_rights_of_the_user_and_no_more() {
    let script = "grep -E '^(Uid|Gid|Cap...)' /proc/self/status";
    let texts = std::cell::RefCell::new(Vec::new());
    both_ways(&[shell(script)], |supervisor, output, _| {
        texts.borrow_mut().push(run(supervisor, output).0);
    });
    let texts = texts.into_inner();
    let is_alike = |text: &String| text.lines().count() == 7 && *text == texts[0];
    assert!(texts.iter().all(is_alike), "{texts:?}");
}
