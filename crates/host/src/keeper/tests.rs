use super::*;
use std::ffi::CString;

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
    std::fs::OpenOptions::new().read(true).write(true).open("/dev/null").expect("/dev/null").into()
}

fn keeper(programs: &[Program]) -> (Keeper, std::io::PipeReader) {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let setting = Setting {
        cpu: Some(CpuId(0)),
        has_fixed_addresses: true,
        input: null(),
        output: writer.into(),
        errors: null(),
    };
    (Keeper::start(programs, setting).expect("a keeper"), reader)
}

fn next(keeper: &mut Keeper) -> Report {
    keeper.report(Duration::from_secs(20)).expect("the keeper lives").expect("a report in time")
}

#[test]
fn starts_a_program_as_told_and_reports_its_end() {
    let (mut keeper, mut output) = keeper(&[
        shell("exit 1"),
        shell("echo $ANSWER $(pwd) $(cat /proc/self/personality); grep Cpus_allowed_list /proc/self/status; exit 7"),
    ]);
    keeper.launch(1).expect("a keeper at work");
    assert!(matches!(next(&mut keeper), Report::Launched { program: 1, pid } if pid > 0));
    let Report::Ended { program: 1, status } = next(&mut keeper) else { panic!("an end") };
    assert_eq!(status.code(), Some(7));
    keeper.dismiss();
    let mut text = String::new();
    output.read_to_string(&mut text).expect("text");
    assert_eq!(text, "42 / 00040000\nCpus_allowed_list:\t0\n");
}

#[test]
fn a_program_that_cannot_start_is_reported() {
    let mut missing = shell("");
    missing.path = CString::new("/no/such/program").expect("no zero inside");
    let (mut keeper, _output) = keeper(&[missing]);
    keeper.launch(0).expect("a keeper at work");
    let reports = [next(&mut keeper), next(&mut keeper), next(&mut keeper)];
    assert!(reports.contains(&Report::Refused { program: 0, error: libc::ENOENT }), "{reports:?}");
}

fn is_alive(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z"))
}

#[test]
fn nothing_is_left_when_the_keeper_is_dismissed() {
    // One stays, one leaves its parent, one leaves its session.
    let (mut keeper, mut output) =
        keeper(&[shell("sleep 1000 & echo $!; (sleep 1001 & echo $!); setsid sleep 1002 & echo $!; echo $$; wait")]);
    keeper.launch(0).expect("a keeper at work");
    let mut text = Vec::new();
    while text.iter().filter(|&&byte| byte == b'\n').count() < 4 {
        let mut byte = [0];
        output.read_exact(&mut byte).expect("four lines");
        text.push(byte[0]);
    }
    let pids: Vec<_> = std::str::from_utf8(&text).expect("digits").lines().map(str::to_owned).collect();
    assert!(pids.iter().all(|pid| is_alive(pid)), "{pids:?}");
    keeper.dismiss();
    assert!(!pids.iter().any(|pid| is_alive(pid)), "{pids:?}");
}
