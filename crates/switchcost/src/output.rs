//! Outputs: stdout, stderr, a file that is replaced as a whole, or a device or FIFO that is written
//! to directly.

pub(crate) mod apart;
mod destination;
mod trap;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use switchcost_host::draft::Draft;
use switchcost_report::Style;

use crate::cli::Verbosity;
use crate::exit::{Failure, Outcome};
use crate::terminal;
use destination::{Destination, open_stream};

/// Result of writing an output. The outer error is an error of the output. The inner error is an
/// error in producing the content.
type Written<T> = io::Result<Outcome<T>>;

/// An output that is opened before the work begins, so that an unwritable one is reported
/// immediately.
pub(crate) struct Output {
    /// Path given by the user; `None` for stdout and stderr.
    name: Option<PathBuf>,
    sink: Sink,
}

enum Sink {
    Stdout,
    Stderr,
    /// A device, a FIFO, or an open file of a process, which is written to directly.
    Stream(File),
    File(Draft),
}

impl Output {
    pub(crate) const STDOUT: Output = Output {
        name: None,
        sink: Sink::Stdout,
    };
    /// Standard error, for reports on a command that itself uses standard output.
    pub(crate) const STDERR: Output = Output {
        name: None,
        sink: Sink::Stderr,
    };

    pub(crate) fn claim(path: Option<&Path>) -> Outcome<Output> {
        let Some(name) = path.filter(|name| *name != Path::new("-")) else {
            return Ok(Output::STDOUT);
        };
        let sink = Sink::open(name).map_err(Failure::output(name))?;
        Ok(Output {
            name: Some(name.to_owned()),
            sink,
        })
    }

    /// Creates an output in a folder that switchcost owns. An existing file is replaced, and a
    /// symbolic link is not followed.
    pub(crate) fn create_in_folder(path: &Path) -> Outcome<Output> {
        let draft = Draft::new(path).map_err(Failure::output(path))?;
        Ok(Output {
            name: Some(path.to_owned()),
            sink: Sink::File(draft),
        })
    }

    /// Writes a text as a whole. If writing fails, no file is created.
    pub(crate) fn write(self, text: &str) -> Outcome {
        let text = match self.sink {
            Sink::Stdout => terminal::shown(text, &io::stdout()),
            Sink::Stderr => terminal::shown(text, &io::stderr()),
            Sink::Stream(_) | Sink::File(_) => text.to_owned(),
        };
        self.write_bytes(text.as_bytes())
    }

    /// Writes bytes as a whole. If writing fails, no file is created.
    pub(crate) fn write_bytes(self, bytes: &[u8]) -> Outcome {
        self.write_by(|into| into.write_all(bytes).map(Ok))
            .map(|_| ())
    }

    /// Writes the output of the function `write` as a whole. If `write` fails, no file is created.
    /// Returns the result of `write`; `None` if the output is a pipe that its reader has closed.
    pub(crate) fn write_by<T>(
        self,
        write: impl FnOnce(&mut dyn Write) -> Written<T>,
    ) -> Outcome<Option<T>> {
        let failed = |source| match self.name {
            Some(path) => Failure::output(&path)(source),
            None => Failure::print(source),
        };
        match self.sink {
            Sink::Stdout => quiet_about_a_closed_pipe(pour(io::stdout().lock(), write))
                .map_err(failed)?
                .transpose(),
            Sink::Stderr => quiet_about_a_closed_pipe(pour(io::stderr().lock(), write))
                .map_err(failed)?
                .transpose(),
            Sink::Stream(file) => quiet_about_a_closed_pipe(pour(file, write))
                .map_err(failed)?
                .transpose(),
            Sink::File(draft) => keep(draft, write).map_err(failed)?.map(Some),
        }
    }

    /// Returns the style of a report on this output: colour and width, if the output is a terminal.
    pub(crate) fn style(&self, verbosity: Verbosity) -> Style {
        let terminal = match self.sink {
            Sink::Stdout => Some(console::Term::stdout()),
            Sink::Stderr => Some(console::Term::stderr()),
            Sink::Stream(_) | Sink::File(_) => None,
        };
        let width = terminal
            .filter(console::Term::is_term)
            .map(|terminal| terminal.size().1);
        let is_coloured = match self.sink {
            Sink::Stdout => terminal::is_coloured(&io::stdout()),
            Sink::Stderr => terminal::is_coloured(&io::stderr()),
            Sink::Stream(_) | Sink::File(_) => false,
        };
        Style {
            is_coloured,
            width,
            is_detailed: verbosity.details,
        }
    }
}

impl Sink {
    fn open(name: &Path) -> io::Result<Sink> {
        Ok(match Destination::resolve(name)? {
            Destination::Stdout => Sink::Stdout,
            Destination::Stream(path) => Sink::Stream(open_stream(&path)?),
            Destination::File(path) => Sink::File(Draft::new(&path)?),
        })
    }
}

fn pour<T>(into: impl Write, write: impl FnOnce(&mut dyn Write) -> Written<T>) -> Written<T> {
    let mut buffered = BufWriter::new(into);
    let written = write(&mut buffered)?;
    buffered.flush()?;
    Ok(written)
}

fn quiet_about_a_closed_pipe<T>(outcome: io::Result<T>) -> io::Result<Option<T>> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(None),
        other => other.map(Some),
    }
}

fn keep<T>(draft: Draft, write: impl FnOnce(&mut dyn Write) -> Written<T>) -> Written<T> {
    let mut buffered = BufWriter::new(draft);
    let written = write(&mut buffered)?;
    if written.is_ok() {
        buffered
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?
            .keep()?;
    }
    Ok(written)
}
