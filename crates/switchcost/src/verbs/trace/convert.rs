//! Traces from and for other tools.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use trace::{Chunk, DinExporter, Importer, ProcessId, TraceHeader, TraceOrder};

use super::capture::NewTrace;
use super::look;
use crate::cli::trace::{ExportArguments, ForeignFormat, ImportArguments};
use crate::exit::{Exit, Failure};

pub(super) fn import(arguments: &ImportArguments) -> Result<Exit, Failure> {
    let from = input(&arguments.file)?;
    let failed = |source| Failure::Import { path: arguments.file.clone(), source };
    let mut importer = match arguments.from {
        ForeignFormat::Lackey => Importer::lackey(from),
        ForeignFormat::Din => Importer::din(from, arguments.word.0).map_err(failed)?,
        ForeignFormat::Drmemtrace => Importer::drmemtrace(from).map_err(failed)?,
    };
    let header = TraceHeader::new(&arguments.from.to_string(), TraceOrder::Imported, std::env::consts::ARCH);
    let mut trace = NewTrace::create(&arguments.output, &header)?;
    let mut chunk = Chunk::default();
    let outcome = loop {
        match importer.next_into(&mut chunk) {
            Ok(true) => trace.write(&chunk)?,
            Ok(false) => break Ok(()),
            // What was understood is kept: it is whole, and the message says where it ends.
            Err(error) => break Err(failed(error)),
        }
    };
    let written = trace.finish()?;
    if importer.ignored_lines() > 0 {
        eprintln!("switchcost: passed over {} lines that are no events", importer.ignored_lines());
    }
    eprintln!("switchcost: {} instructions in {}", written.instructions, arguments.output.display());
    outcome?;
    if written.instructions == 0 {
        return Err(Failure::Empty(arguments.file.clone()));
    }
    Ok(Exit::Success)
}

fn input(path: &Path) -> Result<Box<dyn BufRead>, Failure> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin().lock()));
    }
    let file = File::open(path).map_err(|source| Failure::Open { path: path.to_owned(), source })?;
    Ok(Box::new(BufReader::with_capacity(1 << 20, file)))
}

pub(super) fn export(arguments: &ExportArguments) -> Result<Exit, Failure> {
    let mut reader = look::open(&arguments.file)?;
    let only = arguments.process.map(ProcessId);
    let written = match &arguments.output {
        None => quiet_about_a_closed_pipe(write_all(&mut reader, BufWriter::new(io::stdout().lock()), only)),
        Some(path) => {
            let failed = |source| Failure::Output { path: path.clone(), source };
            let file = File::create_new(path).map_err(failed)?;
            write_all(&mut reader, BufWriter::new(file), only).map_err(failed)
        }
    }?;
    if let Some(error) = written {
        return Err(Failure::ReadTrace { path: arguments.file.clone(), source: error });
    }
    Ok(Exit::Success)
}

/// Writes every whole chunk; what ended the reading early is handed back.
fn write_all<R: io::Read>(
    reader: &mut trace::TraceReader<R>,
    into: impl Write,
    only: Option<ProcessId>,
) -> io::Result<Option<trace::ReadTraceError>> {
    let mut exporter = DinExporter::new(into, only);
    let mut chunk = Chunk::default();
    let loss = loop {
        match reader.next_into(&mut chunk) {
            Ok(true) => exporter.chunk(&chunk)?,
            Ok(false) => break None,
            Err(error) => break Some(error),
        }
    };
    exporter.finish()?;
    Ok(loss)
}

fn quiet_about_a_closed_pipe(
    outcome: io::Result<Option<trace::ReadTraceError>>,
) -> Result<Option<trace::ReadTraceError>, Failure> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(None),
        other => other.map_err(Failure::Print),
    }
}
