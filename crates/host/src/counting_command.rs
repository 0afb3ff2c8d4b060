//! Runs a shell command that prints a number: the amount of work that a service has done so far.

use std::ffi::OsStr;
use std::time::Duration;

use crate::bounded::{Bounds, Streams, read};
use crate::supervisor::Program;

/// Longest time that the command may take.
const LONGEST: Duration = Duration::from_secs(10);

/// Runs a command that prints only a number, and returns the number.
///
/// # Errors
///
/// If the command does not print just a number: a description of what it did. The text is
/// untrusted: escape it before display.
pub fn counted(command: &str, should_stop: &dyn Fn() -> bool) -> Result<u64, String> {
    let bounds = Bounds {
        longest: LONGEST,
        grace: Duration::ZERO,
        should_stop,
    };
    let program = Program::shell(OsStr::new(command), &[]).map_err(|error| error.to_string())?;
    let printed = read(program, Streams::Output, &bounds).map_err(|why| why.to_string())?;
    if !printed.status.success() {
        // A failing command may have printed something before.
        return Err(format!("it ended with {}", printed.status));
    }
    let text = printed.text.trim();
    text.parse()
        .map_err(|_| format!("it printed '{}'", text.chars().take(40).collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_prints_a_number_and_nothing_else() {
        let counted = |command| counted(command, &|| false);
        assert_eq!(counted("echo ' 17'"), Ok(17));
        assert_eq!(counted("echo many"), Err("it printed 'many'".to_owned()));
        assert_eq!(counted("true"), Err("it printed ''".to_owned()));
        assert_eq!(
            counted("echo 17; exit 3"),
            Err("it ended with exit status: 3".to_owned())
        );
        assert_eq!(
            counted("echo 17; exec >&-; sleep 0.1; exit 3"),
            Err("it ended with exit status: 3".to_owned())
        );
    }
}
