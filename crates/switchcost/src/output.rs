//! Where results go: to stdout, whole into a file, or into what is no file and is written where it stands.

pub(crate) mod apart;
mod destination;
mod trap;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use switchcost_host::draft::Draft;
use switchcost_report::Style;

use crate::cli::Verbosity;
use crate::exit::Failure;
use crate::terminal;
use destination::{Destination, open_stream};

/// What came of writing, or why there was nothing to write; or why the place would not have it.
type Written<T> = io::Result<Result<T, Failure>>;

/// A place for the result, claimed before the work begins, so that an unwritable one is known at once.
pub(crate) struct Output {
    /// As the user named it; nothing for stdout.
    name: Option<PathBuf>,
    sink: Sink,
}

enum Sink {
    Stdout,
    Stderr,
    /// A device, a FIFO, what a process has open.
    Stream(File),
    File(Draft),
}

impl Output {
    pub(crate) const STDOUT: Output = Output {
        name: None,
        sink: Sink::Stdout,
    };
    /// For the report on a command, which has standard output for itself.
    pub(crate) const STDERR: Output = Output {
        name: None,
        sink: Sink::Stderr,
    };

    pub(crate) fn claim(path: Option<&Path>) -> Result<Output, Failure> {
        let Some(name) = path else {
            return Ok(Output::STDOUT);
        };
        let sink = Sink::open(name).map_err(Failure::output(name))?;
        Ok(Output {
            name: Some(name.to_owned()),
            sink,
        })
    }

    /// A file in a folder that is ours to fill: what stands there under its name is replaced, and a link is not followed.
    pub(crate) fn create_in_folder(path: &Path) -> Result<Output, Failure> {
        let draft = Draft::new(path).map_err(Failure::output(path))?;
        Ok(Output {
            name: Some(path.to_owned()),
            sink: Sink::File(draft),
        })
    }

    /// Writes the text: all of it, or, into a file, nothing.
    pub(crate) fn write(self, text: &str) -> Result<(), Failure> {
        let text = match self.sink {
            Sink::Stdout => terminal::shown(text, &io::stdout()),
            Sink::Stderr => terminal::shown(text, &io::stderr()),
            Sink::Stream(_) | Sink::File(_) => text.to_owned(),
        };
        self.write_bytes(text.as_bytes())
    }

    /// The same of what is no text.
    pub(crate) fn write_bytes(self, bytes: &[u8]) -> Result<(), Failure> {
        self.write_by(|into| into.write_all(bytes).map(Ok))
            .map(|_| ())
    }

    /// Writes what `write` writes: all of it, or, into a file, nothing; nothing either if it fails for a reason of its own.
    /// Gives what `write` gives; none if the reader of stdout has left.
    pub(crate) fn write_by<T>(
        self,
        write: impl FnOnce(&mut dyn Write) -> Written<T>,
    ) -> Result<Option<T>, Failure> {
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

    /// Colour and width, as far as the reader is a terminal and wants them.
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
