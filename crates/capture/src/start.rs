//! Starts a command as a process under the capture tool.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;

use switchcost_host::supervisor::{Program, Variables};

use crate::command::Command;
use crate::ring::SLOTS;
use crate::tool::Tool;

/// Length of the options that name the shared memory, in bytes. The length is the same in each run,
/// because addresses in a process depend on it.
const RING_TEXT: usize = 64;
/// Number of threads at which Valgrind gives up (by default 500). The number exceeds the number of
/// task slots, because Valgrind counts some threads that have ended.
const MOST_THREADS: usize = SLOTS + 64;
/// Environment variable with the launcher, the program that Valgrind starts for each executed
/// program.
const LAUNCHER: &str = "VALGRIND_LAUNCHER";

/// Returns the supervisor's program that runs `command` under `tool`. `ring` is the path of the
/// shared memory.
pub(crate) fn program(command: &Command, tool: &Tool, ring: &Path) -> io::Result<Program> {
    let ring = ring.to_string_lossy();
    let options = [
        "--tool=switchcost".to_owned(),
        "--trace-children=yes".to_owned(),
        "--fair-sched=yes".to_owned(),
        "--quiet".to_owned(),
        // The user's settings for other uses of Valgrind (VALGRIND_OPTS and .valgrindrc) have no
        // effect.
        "--command-line-only=yes".to_owned(),
        format!("--max-threads={MOST_THREADS}"),
        // No pipes for a debugger, which a killed program would leave behind.
        "--vgdb=no".to_owned(),
        format!("--ring={ring}"),
        format!("--pad={}", "x".repeat(RING_TEXT.saturating_sub(ring.len()))),
    ];
    let words = std::iter::once(tool.launcher.clone().into_os_string())
        .chain(options.map(OsString::from))
        .chain(command.words.iter().cloned());
    Program::new(
        words,
        environment(command, tool),
        command.directory.as_deref(),
    )
}

fn environment(command: &Command, tool: &Tool) -> Variables {
    let own = (
        OsString::from("VALGRIND_LIB"),
        tool.folder.clone().into_os_string(),
    );
    let added: Vec<_> = command.environment.iter().cloned().chain([own]).collect();
    let is_replaced =
        |name: &OsStr| name == LAUNCHER || added.iter().any(|(other, _)| other == name);
    std::env::vars_os()
        .filter(|(name, _)| !is_replaced(name))
        .chain(added.iter().cloned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_have_one_length_whatever_the_number_of_the_process() {
        let tool = Tool::new("/tool".into());
        let command = Command {
            environment: vec![("A".into(), "b".into())],
            ..Command::new(["prog", "-x"])
        };
        let length = |ring: &str| -> usize {
            let program = program(&command, &tool, Path::new(ring)).expect("plain text");
            assert!(
                program
                    .environment
                    .contains(&c"VALGRIND_LIB=/tool".to_owned())
            );
            assert!(program.environment.contains(&c"A=b".to_owned()));
            assert_eq!(
                program.arguments[10..],
                [c"prog".to_owned(), c"-x".to_owned()]
            );
            program
                .arguments
                .iter()
                .map(|text| text.as_bytes().len())
                .sum()
        };
        assert_eq!(length("/proc/1/fd/3"), length("/proc/4194304/fd/1023"));
    }

    #[test]
    fn a_zero_inside_is_an_error() {
        let tool = Tool::new("/tool".into());
        assert!(program(&Command::new(["a\0b"]), &tool, Path::new("/proc/1/fd/3")).is_err());
    }
}
