//! Runs a command under the capture frontend and drops the chunks: what capture alone costs.

use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use switchcost_capture::{Command, Options, Order, Output, Tool, run};

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    let commands: Vec<_> = words
        .split(|word| word == "--with")
        .map(|words| Command::new(words.to_vec()))
        .collect();
    let tool = match Tool::find() {
        Ok(tool) => tool,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let mut options = Options::new(tool);
    options.cpu = std::env::var("CPU")
        .ok()
        .and_then(|cpu| cpu.parse().ok())
        .map(switchcost_units::CpuId);
    if std::env::var_os("AS_RUN").is_some() {
        options.order = Order::AsRun;
    }
    if std::env::var_os("QUIET").is_some() {
        options.output = Output::Nowhere;
    }
    let is_shown = std::env::var_os("MARKS").is_some();
    let (mut references, mut blocks) = (0, 0);
    let summary = run(&commands, options, &AtomicBool::new(false), |chunk| {
        references += chunk.references.len();
        blocks += chunk.blocks.len();
        for placed in chunk.marks.iter().filter(|_| is_shown) {
            eprintln!("{:?}", placed.mark);
        }
        Ok::<(), std::io::Error>(())
    });
    for task in std::fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten()
    {
        let spent = std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
        eprintln!(
            "thread {:?}: {} ns on a CPU",
            task.file_name(),
            spent.split(' ').next().unwrap_or_default()
        );
    }
    eprintln!("{blocks} blocks, {references} references, {summary:?}");
    if summary.is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
