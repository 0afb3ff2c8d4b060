//! Traces from and for other tools.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use trace::{
    Chunk, DinExporter, Exported, Exporter, Importer, LackeyExporter, PieceSize, ProcessId, ReadTraceError,
    TraceHeader, TraceOrder, TraceReader,
};

use super::capture::NewTrace;
use super::look;
use crate::cli::trace::{ExportArguments, ExportFormat, ForeignFormat, ImportArguments};
use crate::exit::{Exit, Failure};
use crate::messages::say;
use crate::output::Output;

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
        say!("passed over {} lines that are no events", importer.ignored_lines());
    }
    if written.instructions > 0 {
        say!("{} instructions in {}", written.instructions, arguments.output.display());
    }
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
    let pieces = match (arguments.to, arguments.pieces) {
        (ExportFormat::Lackey, Some(_)) => return Err(Failure::Pieces),
        (_, None) => PieceSize::default(),
        (ExportFormat::Din, Some(size)) => PieceSize::try_from(size.0)?,
    };
    let mut reader = look::open(&arguments.file)?;
    let only = arguments.process.map(ProcessId);
    let written = Output::claim(arguments.output.as_deref())?.write_by(|into| {
        let (exported, loss) = match arguments.to {
            ExportFormat::Din => hand_on(&mut reader, DinExporter::new(into, only, pieces))?,
            ExportFormat::Lackey => hand_on(&mut reader, LackeyExporter::new(into, only))?,
        };
        if let (Some(process), 0, None) = (only, exported.processes, &loss) {
            return Ok(Err(Failure::NoProcess { path: arguments.file.clone(), process }));
        }
        Ok(Ok((exported, loss)))
    })?;
    let Some((exported, loss)) = written else { return Ok(Exit::Success) };
    if exported.processes > 1 {
        say!(
            "the addresses of {} processes are in one text, which does not tell whose they are: what reads it takes \
             equal ones for the same memory; for what one process does, export it alone (--process N, see switchcost trace \
             info)",
            exported.processes
        );
    }
    match loss {
        Some(source) => Err(Failure::ReadTrace { path: arguments.file.clone(), source }),
        None => Ok(Exit::Success),
    }
}

/// Writes every whole chunk; what ended the reading early is handed back.
fn hand_on<R: Read>(
    reader: &mut TraceReader<R>,
    mut exporter: impl Exporter,
) -> io::Result<(Exported, Option<ReadTraceError>)> {
    let mut chunk = Chunk::default();
    let loss = loop {
        match reader.next_into(&mut chunk) {
            Ok(true) => exporter.chunk(&chunk)?,
            Ok(false) => break None,
            Err(error) => break Some(error),
        }
    };
    Ok((exporter.finish()?, loss))
}
