//! Messages on stderr. A notice is one line. An error says what is wrong, and a hint says what to
//! do. Line breaks, escape codes and bidirectional marks in names are escaped. A message that
//! cannot be written is dropped, so that no result is lost.

use std::error::Error;
use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use clap::error::{ContextKind, ContextValue, ErrorKind as MistakeKind};
use clap::{Arg, CommandFactory, Parser};
use switchcost_host::pause::Pause;
use switchcost_record::{printable, split_hint, strip_error_numbers};

use crate::cli::Cli;
use crate::exit::{Failure, Outcome};
use crate::terminal;

static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// Turns notices on or off. Errors are always printed.
pub(crate) fn set_quiet(is_quiet: bool) {
    IS_QUIET.store(is_quiet, Ordering::Relaxed);
}

/// Returns true if notices are turned off.
pub(crate) fn is_quiet() -> bool {
    IS_QUIET.load(Ordering::Relaxed)
}

/// Prints a notice on stderr, formatted as by `format!`.
macro_rules! say {
    ($($words:tt)*) => { $crate::messages::say_text(format_args!($($words)*)) };
}
pub(crate) use say;

/// Returns a notice about a run that was paused from outside.
pub(crate) fn pause_message(pause: Pause) -> String {
    format!(
        "the run was paused for {} (stopped by a signal, frozen with its control group, or suspended); its budget does not count that",
        pause.total()
    )
}

/// Prints a notice as one line on stderr, unless notices are turned off.
pub(crate) fn say_text(message: impl Display) {
    if is_quiet() {
        return;
    }
    write_stderr(&format!(
        "switchcost: {}\n",
        printable(&strip_error_numbers(&message.to_string()))
    ));
}

/// Prints an error and its hint on stderr.
pub(crate) fn report(error: impl Display) {
    let (wrong, hint) = split_hint(&strip_error_numbers(&error.to_string()));
    print_error(&wrong, &hint.unwrap_or_default());
}

fn print_error(wrong: &str, hint: &str) {
    let is_coloured = terminal::is_coloured(&io::stderr());
    let title = |title| console::style(title).bold().force_styling(is_coloured);
    let mut text = format!("{} {}\n", title("error:").red(), printable(wrong));
    if !hint.is_empty() {
        text += &format!("{} {}\n", title("hint:"), printable(hint));
    }
    write_stderr(&text);
}

/// Writes to stderr. Errors are ignored, because the terminal may be closed or the disk full.
fn write_stderr(text: &str) {
    let _ = io::stderr().write_all(terminal::shown(text, &io::stderr()).as_bytes());
}

/// Returns the error message for an invalid command line, and its hint.
pub(crate) fn explain(mistake: &clap::Error) -> (String, String) {
    let texts = |kind| match mistake.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        Some(ContextValue::StyledStr(text)) => vec![text.to_string()],
        Some(ContextValue::StyledStrs(texts)) => texts.iter().map(ToString::to_string).collect(),
        _ => Vec::new(),
    };
    let first = |kind| texts(kind).into_iter().next();
    let usage = || match first(ContextKind::Usage) {
        _ if mistake.kind() == MistakeKind::ArgumentConflict => "leave one of them out".to_owned(),
        Some(usage) => {
            let line = usage.lines().next().unwrap_or_default();
            let words: Vec<_> = line.split_whitespace().skip(1).collect();
            format!("usage: {} (--help lists all options)", words.join(" "))
        }
        None => "--help describes its values".to_owned(),
    };
    if mistake.kind() == MistakeKind::MissingRequiredArgument {
        let arguments = texts(ContextKind::InvalidArg);
        let missing: Vec<_> = arguments
            .iter()
            .map(|argument| match alternatives(argument) {
                names if argument.contains('|') => format!("one of {names}"),
                name => name,
            })
            .collect();
        let names = missing.join(" and ");
        if let ([argument], Some(option)) = (&arguments[..], option_that_needs(&arguments)) {
            let name = alternatives(argument);
            return (
                format!("{option} needs {name}, which is missing"),
                format!("add {name}, or leave {option} out"),
            );
        }
        let verb = if missing.len() == 1 { "is" } else { "are" };
        return (format!("{names} {verb} missing"), usage());
    }
    let negative = first(ContextKind::InvalidArg).and_then(|argument| negative_value(&argument));
    if let (MistakeKind::UnknownArgument, Some(value)) = (mistake.kind(), negative) {
        let hint = "no option takes a negative value; --help describes the values".to_owned();
        return (format!("the value '{value}' is negative"), hint);
    }
    if let (MistakeKind::ValueValidation, Some(source)) = (mistake.kind(), mistake.source()) {
        let (source, flag) = (
            source.to_string(),
            first(ContextKind::InvalidArg).unwrap_or_default(),
        );
        let value = first(ContextKind::InvalidValue).unwrap_or_default();
        let flag = flag.split(' ').next().unwrap_or_default();
        return match (split_hint(&source), plain(&source)) {
            ((wrong, Some(hint)), _) => (format!("{flag}: {wrong}"), hint),
            (_, Some(words)) => {
                if words.starts_with("must") {
                    let hint = "choose a value in that range".to_owned();
                    return (format!("{flag} {words}, not {value}"), hint);
                }
                let hint = "write a whole number in digits, without a unit".to_owned();
                (format!("{flag} {value} {words}"), hint)
            }
            ((wrong, None), None) => (format!("{flag} {value}: {wrong}"), usage()),
        };
    }
    let text = mistake.to_string();
    let text = text.split("\n\n").next().unwrap_or_default();
    let text = text.strip_prefix("error: ").unwrap_or(text);
    let lines: Vec<_> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with("[possible values"))
        .collect();
    let values = texts(ContextKind::ValidValue);
    let similar =
        first(ContextKind::SuggestedArg).or_else(|| first(ContextKind::SuggestedSubcommand));
    let hint = match (first(ContextKind::Suggested), similar) {
        (_, Some(similar)) => format!("did you mean {similar}?"),
        // clap's suggestion `-- VALUE` would begin a command or a file here.
        (Some(hint), _) if hint.contains("-- -") => usage(),
        (Some(hint), _) => hint,
        _ if !values.is_empty() => format!("use one of {}", values.join(", ")),
        _ => usage(),
    };
    let wrong = lines.join(" ");
    let wrong = wrong.replace("unrecognized subcommand", "there is no command");
    (wrong, hint)
}

/// Formats the alternatives of a required argument, such as `COMMAND|--all` as `COMMAND or --all`.
fn alternatives(argument: &str) -> String {
    let names: Vec<_> = argument.split('|').collect();
    let text = match names.split_last() {
        Some((last, others @ [_, ..])) => format!("{} or {last}", others.join(", ")),
        _ => argument.to_owned(),
    };
    text.replace(['<', '>'], "")
}

/// Returns the option of the command line that needs the missing arguments; `None` if the
/// subcommand itself needs them. Without that option, these arguments would not be missing.
fn option_that_needs(missing: &[String]) -> Option<String> {
    let words: Vec<_> = std::env::args_os()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let all = Cli::command();
    let verb = words.iter().fold(&all, |command, word| {
        command.find_subcommand(word).unwrap_or(command)
    });
    let end = words.iter().position(|word| word == "--");
    let end = end.unwrap_or(words.len());
    (1..end).find_map(|place| {
        let (name, has_value) = match words[place].split_once('=') {
            Some((name, _)) => (name, true),
            None => (words[place].as_str(), false),
        };
        let option = verb.get_arguments().find(|option| is_named(option, name))?;
        let has_next = option.get_action().takes_values() && !has_value;
        let mut others = words.clone();
        others.drain(place..(place + 1 + usize::from(has_next)).min(end));
        let is_at_fault = match Cli::try_parse_from(others) {
            Ok(_) => true,
            Err(mistake) => match mistake.get(ContextKind::InvalidArg) {
                Some(ContextValue::Strings(still)) => {
                    mistake.kind() == MistakeKind::MissingRequiredArgument
                        && !still.iter().any(|argument| missing.contains(argument))
                }
                _ => false,
            },
        };
        is_at_fault.then(|| name.to_owned())
    })
}

/// Returns true if `name` is the long or the short name of an option, with its dashes.
fn is_named(option: &Arg, name: &str) -> bool {
    match name.strip_prefix("--") {
        Some(long) => option.get_long() == Some(long),
        None => option
            .get_short()
            .is_some_and(|short| name == format!("-{short}")),
    }
}

/// Returns the word of the command line that begins with `argument`, if the word is a negative
/// number; `None` otherwise.
fn negative_value(argument: &str) -> Option<String> {
    let digits = argument.strip_prefix('-')?;
    if !digits.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let word = std::env::args_os()
        .map(|word| word.to_string_lossy().into_owned())
        .find(|word| word.starts_with(argument));
    Some(word.unwrap_or_else(|| argument.to_owned()))
}

/// Rewrites an error of clap's or Rust's number parsers in plain words; `None` for other errors.
fn plain(wrong: &str) -> Option<String> {
    let range = wrong.rsplit_once(" is not in ").map(|(_, range)| range);
    match range.and_then(|range| range.split_once("..")) {
        Some((least, "18446744073709551615")) => Some(format!("must be at least {least}")),
        Some((least, end)) => Some(match end.strip_prefix('=') {
            Some(most) => format!("must be {least} to {most}"),
            None => format!("must be at least {least} and below {end}"),
        }),
        None if wrong.contains("invalid digit") => Some("is not a whole number".to_owned()),
        None => None,
    }
}

/// Prints help and version on stdout, and errors of the command line on stderr.
pub(crate) fn show(answer: &clap::Error) -> Outcome {
    if answer.use_stderr() && answer.kind() != MistakeKind::DisplayHelpOnMissingArgumentOrSubcommand
    {
        let (wrong, hint) = explain(answer);
        print_error(&wrong, &hint);
        return Ok(());
    }
    match answer.print() {
        Err(error) if !answer.use_stderr() && error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::print(error))
        }
        _ => Ok(()),
    }
}
