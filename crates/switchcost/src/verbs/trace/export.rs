//! `trace export`: writes traces in the formats of other tools.

use std::io::{self, Read};

use switchcost_trace::{
    Chunk, DinExporter, Exported, Exporter, LackeyExporter, PieceSize, ProcessId, ReadTraceError,
    TraceReader,
};

use super::look;
use crate::cli::trace::{ExportArguments, ExportFormat};
use crate::exit::{Exit, Failure, Outcome};
use crate::messages::say;
use crate::output::Output;

pub(super) fn export(arguments: &ExportArguments) -> Outcome<Exit> {
    let pieces = match (arguments.to, arguments.pieces) {
        (ExportFormat::Lackey, Some(_)) => {
            return Err(Failure::usage(
                "--pieces is for --to din only, because the lackey format has the size of each access; leave --pieces out",
            ));
        }
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
            return Ok(Err(Failure::usage(format!(
                "there is no block of process {process} in {}; choose one that switchcost trace info lists",
                arguments.file.display()
            ))));
        }
        // A partial export is no result, so an existing file of that name is kept.
        Ok(match loss {
            Some(source) => Err(Failure::read_trace(&arguments.file)(source)),
            None => Ok(exported),
        })
    })?;
    let Some(exported) = written else {
        return Ok(Exit::Success);
    };
    if exported.processes > 1 {
        say!(
            "the addresses of {} processes are mixed in one text, which does not say whose they are; to keep them \
             apart, export one process at a time (--process N, see switchcost trace info)",
            exported.processes
        );
    }
    Ok(Exit::Success)
}

/// Exports every complete chunk. Also returns the error if reading ended before the end of the
/// trace; `None` after a whole trace.
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
