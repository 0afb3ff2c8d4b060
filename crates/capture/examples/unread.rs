//! Runs a command under the capture frontend and returns its buffers unread, to measure the cost of
//! the tool alone.

use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use switchcost_capture::{Command, Options, Output, Tool, run_unread};
use switchcost_facts::{Root, allowed_cpus};
use switchcost_host::control::pin;

fn main() -> ExitCode {
    let command = Command::new(std::env::args_os().skip(1));
    let tool = match Tool::find() {
        Ok(tool) => tool,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    // The CPUs are chosen as by `switchcost trace`.
    let mut allowed = allowed_cpus(&Root::system());
    let cpu = allowed.pop();
    let _guard = if allowed.is_empty() {
        None
    } else {
        pin(&allowed).ok()
    };
    let options = Options {
        cpu,
        output: Output::Nowhere,
        ..Options::new(tool)
    };
    match run_unread(&[command], options, &AtomicBool::new(false)) {
        Ok(words) => {
            println!("{words} words");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("failed to capture: {error}");
            ExitCode::FAILURE
        }
    }
}
