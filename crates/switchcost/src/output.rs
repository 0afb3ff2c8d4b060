//! Where results go: to stdout, or whole into a file.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use report::Style;
use tempfile::NamedTempFile;

use crate::exit::Failure;

/// What came of writing, or why there was nothing to write; or why the place would not have it.
type Written<T> = io::Result<Result<T, Failure>>;

/// A place for the result, claimed before the work begins, so that an unwritable one is known at once.
pub(crate) enum Output {
    Stdout,
    File { path: PathBuf, draft: NamedTempFile },
}

impl Output {
    pub(crate) fn claim(path: Option<&Path>) -> Result<Output, Failure> {
        let Some(path) = path else { return Ok(Output::Stdout) };
        let failed = |source| Failure::Output { path: path.to_owned(), source };
        if path.is_dir() {
            return Err(failed(io::Error::other("it is a folder")));
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let draft = draft().tempfile_in(folder).map_err(failed)?;
        Ok(Output::File { path: path.to_owned(), draft })
    }

    /// Writes the text: all of it, or, into a file, nothing.
    pub(crate) fn write(self, text: &str) -> Result<(), Failure> {
        self.write_bytes(text.as_bytes())
    }

    /// The same of what is no text.
    pub(crate) fn write_bytes(self, bytes: &[u8]) -> Result<(), Failure> {
        self.write_by(|into| into.write_all(bytes).map(Ok)).map(|_| ())
    }

    /// Writes what `write` writes: all of it, or, into a file, nothing; nothing either where it fails for a reason of its own.
    /// Gives what `write` gives; none where the reader of stdout has left.
    pub(crate) fn write_by<T>(self, write: impl FnOnce(&mut dyn Write) -> Written<T>) -> Result<Option<T>, Failure> {
        match self {
            Output::Stdout => quiet_about_a_closed_pipe(print(write)).map_err(Failure::Print)?.transpose(),
            Output::File { path, draft } => {
                keep(draft, &path, write).map_err(|source| Failure::Output { path, source })?.map(Some)
            }
        }
    }

    /// Colour and width, as far as the reader is a terminal and wants them (<https://no-color.org>).
    pub(crate) fn style(&self) -> Style {
        let is_terminal = matches!(self, Output::Stdout) && io::stdout().is_terminal();
        let wants_colour = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
            && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let width = is_terminal.then(|| console::Term::stdout().size().1);
        Style { is_coloured: is_terminal && wants_colour, width }
    }
}

fn print<T>(write: impl FnOnce(&mut dyn Write) -> Written<T>) -> Written<T> {
    let mut stdout = BufWriter::new(io::stdout().lock());
    let written = write(&mut stdout)?;
    stdout.flush()?;
    Ok(written)
}

fn quiet_about_a_closed_pipe<T>(outcome: io::Result<T>) -> io::Result<Option<T>> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(None),
        other => other.map(Some),
    }
}

fn keep<T>(draft: NamedTempFile, path: &Path, write: impl FnOnce(&mut dyn Write) -> Written<T>) -> Written<T> {
    let mut buffered = BufWriter::new(draft);
    let written = write(&mut buffered)?;
    if written.is_ok() {
        let draft = buffered.into_inner().map_err(io::IntoInnerError::into_error)?;
        draft.as_file().sync_all()?;
        draft.persist(path)?;
    }
    Ok(written)
}

/// Temporary files begin unreadable to others; a result is an ordinary file, as the umask would have it.
fn draft() -> tempfile::Builder<'static, 'static> {
    use std::os::unix::fs::PermissionsExt;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".switchcost-").permissions(std::fs::Permissions::from_mode(0o666));
    builder
}
