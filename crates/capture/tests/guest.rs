//! A guest under QEMU: the same trace twice, and no instruction and no switch more or less than QEMU and the guest's own kernel count.
//! Two small guests, for all that is looked at: each takes its time to boot.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use switchcost_capture::{Command, GuestError, GuestSummary, Parts, System, find_kernel, record_system};
use trace::{Cause, Chunk, Mark, Recorder, TraceHeader, TraceOrder, TraceReader, check, summarize};

/// Instructions between the two looks at the guest's clock and the ends of the recording: eight to ten, as the compiler has it.
const AROUND: u64 = 16;

/// None, and why, where this machine has no guest to offer.
fn system() -> Option<System> {
    let made = || -> Result<System, GuestError> {
        let built = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/qemu");
        let parts = if built.join("guest-init").is_file() { Parts::of(built) } else { Parts::find()? };
        let kernel = find_kernel(&[parts.folder.join("kernel/boot")])?;
        Ok(System {
            parts,
            kernel,
            append: None,
            memory: None,
            slice: None,
            halvings: 0,
            seconds: 60,
            files: Vec::new(),
        })
    };
    let has_qemu = std::process::Command::new("qemu-system-x86_64").arg("--version").output().is_ok();
    match made() {
        Ok(system) if has_qemu => Some(system),
        Ok(_) => {
            eprintln!("skipped: found no qemu-system-x86_64");
            None
        }
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

fn record(commands: &[Command], system: &System) -> (GuestSummary, Vec<u8>) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("guest.sct");
    let file = std::fs::File::create(&path).expect("a file");
    let header = TraceHeader::new("qemu", TraceOrder::AsRun, "x86_64");
    let mut recorder = Recorder::create(file, &header).expect("a trace");
    let summary = record_system(commands, system, &AtomicBool::new(false), &mut recorder).expect("a guest that runs");
    recorder.finish().expect("a whole trace");
    (summary, std::fs::read(path).expect("a trace"))
}

fn marks(trace: &[u8]) -> Vec<Mark> {
    let mut reader = TraceReader::new(trace).expect("a trace");
    let mut marks = Vec::new();
    let mut chunk = Chunk::default();
    while reader.next_into(&mut chunk).expect("a whole trace") {
        marks.extend(chunk.marks.drain(..).map(|placed| placed.mark));
    }
    marks
}

#[test]
fn a_guest_is_the_same_each_time_and_counts_as_qemu_and_its_kernel_do() {
    let Some(system) = system() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let input = folder.path().join("input");
    std::fs::write(&input, "some words\n".repeat(2000)).expect("a file");
    let commands = [Command::new(["/bin/true"]), Command::new(["wc".as_ref(), "-l".as_ref(), input.as_os_str()])];
    let (summary, trace) = record(&commands, &system);
    assert!(summary.statuses.iter().all(std::process::ExitStatus::success), "{summary:?}");
    assert_eq!(summary.outputs, [Vec::new(), format!("2000 {}\n", input.display()).into_bytes()]);
    // The switches are compared with the kernel's own count there.
    assert_eq!(summary.warnings, [""; 0]);
    assert!(summary.switches > 3, "{summary:?}");
    assert!(summary.instructions.abs_diff(summary.guest_ns) <= AROUND, "{summary:?}");

    let report = check(TraceReader::new(&trace[..]).expect("a trace"));
    assert!(report.is_sound(), "{report:?}");
    let counts = summarize(TraceReader::new(&trace[..]).expect("a trace"));
    assert_eq!(counts.instructions, summary.instructions);
    let kernel = counts.kernel_instructions as f64 / counts.instructions as f64;
    assert!((0.2..0.95).contains(&kernel), "short programs are mostly the kernel's work: {kernel}");

    let marks = marks(&trace);
    let execs = |of: &[u8]| marks.iter().filter(|mark| matches!(mark, Mark::Exec { name, .. } if name == of)).count();
    assert_eq!((execs(b"true"), execs(b"wc")), (1, 1));
    let exits =
        marks.iter().filter(|mark| matches!(mark, Mark::Switch { cause: Cause::Exit, is_voluntary: true, .. })).count();
    assert_eq!(exits, 2, "each command leaves the CPU for the last time");
    const EXECVE: u16 = 59;
    let calls = |number| marks.iter().filter(|mark| **mark == Mark::SyscallEnter { number }).count();
    assert_eq!(calls(EXECVE), 2);

    let (again, same) = record(&commands, &system);
    assert_eq!(again, summary);
    assert!(same == trace, "the same guest gives the same trace");
}
