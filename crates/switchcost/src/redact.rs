//! Removes the arguments of commands and the name of the machine (`--redact`). The names of
//! programs and tasks stay.

use std::path::Path;

use switchcost_record::{HostManifest, LEFT_OUT};
use switchcost_trace::TraceHeader;

/// Redacts a command: removes its arguments, and the folder of its program.
pub(crate) fn command(words: &[String]) -> Vec<String> {
    let program = words.first().map(|word| program(word));
    let arguments = (words.len() > 1).then(|| LEFT_OUT.to_owned());
    program.into_iter().chain(arguments).collect()
}

fn program(word: &str) -> String {
    Path::new(word).file_name().map_or_else(
        || LEFT_OUT.to_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// Returns a command as it may be recorded, redacted if `is_redacted`.
pub(crate) fn shown(words: Vec<String>, is_redacted: bool) -> Vec<String> {
    if is_redacted { command(&words) } else { words }
}

/// Returns this process' command line as it may be recorded, redacted if `is_redacted`.
pub(crate) fn own_command(is_redacted: bool) -> Vec<String> {
    shown(
        std::env::args_os()
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
        is_redacted,
    )
}

/// Returns the facts about the machine as they may be recorded, redacted if `is_redacted`.
pub(crate) fn host(host: HostManifest, is_redacted: bool) -> HostManifest {
    if is_redacted { host.redacted() } else { host }
}

/// Returns the header of a trace as it may be recorded, redacted if `is_redacted`.
pub(crate) fn trace(mut header: TraceHeader, is_redacted: bool) -> TraceHeader {
    if is_redacted {
        header
            .commands
            .iter_mut()
            .for_each(|words| *words = command(words));
        header
            .guest
            .iter_mut()
            .for_each(|guest| guest.command_line = LEFT_OUT.to_owned());
    }
    header
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchcost_trace::{Guest, TraceOrder};

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn of_a_command_its_program_stays() {
        for (given, left) in [
            (
                &["/opt/acme/bin/mysql", "-psecret", "db"][..],
                &["mysql", "(left-out)"][..],
            ),
            (&["ls"], &["ls"]),
            (&["/"], &["(left-out)"]),
            (&[], &[]),
        ] {
            assert_eq!(command(&words(given)), words(left), "{given:?}");
        }
        assert_eq!(shown(words(&["a", "b"]), false), words(&["a", "b"]));
    }

    #[test]
    fn the_header_of_a_trace_keeps_neither_arguments_nor_what_its_guest_was_started_with() {
        let guest = Guest {
            kernel: "vmlinuz-6.1".to_owned(),
            command_line: "quiet key=secret".to_owned(),
            slice_ns: None,
            instructions_per_second: 1,
        };
        let header = TraceHeader {
            commands: vec![words(&["a", "secret"]), words(&["b"])],
            guest: Some(guest),
            ..TraceHeader::new("qemu", TraceOrder::AsRun, "x86_64")
        };
        assert_eq!(trace(header.clone(), false), header);
        let left = trace(header, true);
        assert!(!format!("{left:?}").contains("secret"), "{left:?}");
        assert_eq!(left.commands, [words(&["a", "(left-out)"]), words(&["b"])]);
    }
}
