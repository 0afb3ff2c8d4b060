//! `trace info`, `check` and `head`: show and check the content of a trace.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use switchcost_record::Source;
use switchcost_trace::{Chunk, Dependences, ReadTraceError, TraceReader};

use crate::cli::Verbosity;
use crate::cli::trace::{HeadArguments, TraceFile};
use crate::exit::{Exit, Failure, Outcome};
use crate::output::Output;
use crate::progress::FileWithBar;

/// Opens a trace, and reads its header.
pub(crate) fn open(path: &Path) -> Outcome<TraceReader<impl Read + Send + 'static>> {
    let failed = Failure::read_trace(path);
    let file = Source::named(path).open_once();
    let file = file.map_err(Failure::open(path))?;
    TraceReader::new(BufReader::with_capacity(1 << 20, FileWithBar::new(file))).map_err(failed)
}

pub(super) fn info(arguments: &TraceFile) -> Outcome<Exit> {
    let format = arguments.form.format_of_text()?;
    let output = Output::claim(arguments.form.output.as_deref())?;
    let reader = open(&arguments.file)?;
    let dependences = known_dependences(&arguments.file);
    let summary = switchcost_trace::summarize(reader, &dependences);
    let text =
        switchcost_report::trace::render_info(&summary, format, output.style(Verbosity::default()));
    output.write(&text)?;
    Ok(if summary.loss.is_some() {
        Exit::Record
    } else {
        Exit::Success
    })
}

pub(super) fn check(arguments: &TraceFile) -> Outcome<Exit> {
    let format = arguments.form.format_of_text()?;
    let output = Output::claim(arguments.form.output.as_deref())?;
    let found = switchcost_trace::check(open(&arguments.file)?);
    if found.is_sound() {
        check_symbols(&arguments.file)?;
    }
    let text =
        switchcost_report::trace::render_check(&found, format, output.style(Verbosity::default()));
    output.write(&text)?;
    Ok(if found.is_sound() {
        Exit::Success
    } else {
        Exit::Record
    })
}

/// Reads the dependences after the index of a trace. The dependences are unknown for a damaged
/// trace, and for input that is no regular file.
pub(crate) fn known_dependences(path: &Path) -> Dependences {
    path.is_file()
        .then(|| File::open(path).ok())
        .flatten()
        .and_then(|mut file| switchcost_trace::dependences(&mut file).ok())
        .unwrap_or_default()
}

/// Checks the symbols and dependences after the index of a trace. Input that is no regular file
/// cannot be read twice, and is not checked.
fn check_symbols(path: &Path) -> Outcome {
    if !path.is_file() {
        return Ok(());
    }
    let mut file = File::open(path).map_err(Failure::open(path))?;
    switchcost_trace::kernel_symbols(&mut file)
        .map(drop)
        .and_then(|()| switchcost_trace::dependences(&mut file).map(drop))
        .map_err(|source| lost(path, source))
}

pub(super) fn head(arguments: &HeadArguments) -> Outcome<Exit> {
    let mut reader = open(&arguments.file)?;
    let mut chunk = Chunk::default();
    let (mut text, mut left) = (String::new(), arguments.number);
    while left > 0 {
        match reader.next_into(&mut chunk) {
            Ok(true) => {
                let (lines, written) = switchcost_report::trace::render_events(&chunk, left);
                text.push_str(&lines);
                left -= written;
            }
            Ok(false) => break,
            Err(error) => {
                Output::STDOUT.write(&text)?;
                return Err(lost(&arguments.file, error));
            }
        }
    }
    Output::STDOUT.write(&text)?;
    Ok(Exit::Success)
}

fn lost(path: &Path, source: ReadTraceError) -> Failure {
    Failure::read_trace(path)(source)
}
