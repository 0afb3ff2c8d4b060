//! `trace import`: converts traces of other tools.

use std::path::Path;

use switchcost_report::trace::describe_written;
use switchcost_trace::{Chunk, ImportFormat, Importer, TraceHeader, TraceOrder};

use super::capture::NewTrace;
use super::foreign;
use crate::cli::trace::ImportArguments;
use crate::exit::{Exit, Failure, Outcome};
use crate::messages::say;

pub(super) fn import(arguments: &ImportArguments) -> Outcome<Exit> {
    let mut importer = importer(arguments)?;
    let failed = Failure::import(&arguments.file);
    // The architecture is known only after the first chunk, and the notes only at the end.
    let mut chunk = Chunk::default();
    let mut step = Ok(importer.next_into(&mut chunk).map_err(failed)?);
    let mut trace = NewTrace::create(&arguments.output, &header(arguments.from, &importer))?;
    let outcome = loop {
        match step {
            Ok(true) => trace.write(&chunk)?,
            Ok(false) => break Ok(()),
            // The part before an error is complete and is kept. The message says where it ends.
            Err(error) => break Err(failed(error)),
        }
        step = importer.next_into(&mut chunk);
    };
    // Without its last notes the trace is whole all the same.
    let noted = trace.replace_header(&header(arguments.from, &importer));
    let written = trace.finish()?;
    report(&importer, written.instructions, &arguments.output);
    noted?;
    outcome?;
    if written.instructions == 0 {
        return Err(Failure::empty(&arguments.file));
    }
    Ok(Exit::Success)
}

fn importer(arguments: &ImportArguments) -> Outcome<Importer<'static>> {
    let ImportArguments {
        from,
        file,
        word,
        cpu,
        ..
    } = arguments;
    let failed = Failure::import(file);
    if *from == ImportFormat::Drmemtrace {
        let cpu = cpu.map(|cpu| cpu.0.into());
        return Importer::drmemtrace_files(foreign::records(file)?, cpu).map_err(failed);
    }
    if cpu.is_some() {
        return Err(Failure::usage(format!(
            "--cpu is for --from drmemtrace only, since {from} names no CPUs; leave --cpu out"
        )));
    }
    Importer::new(*from, foreign::text(file)?, word.0).map_err(failed)
}

fn header(from: ImportFormat, importer: &Importer<'static>) -> TraceHeader {
    let arch = importer.arch().unwrap_or(std::env::consts::ARCH);
    TraceHeader {
        notes: importer.notes(),
        ..TraceHeader::new(&from.to_string(), TraceOrder::Imported, arch)
    }
}

fn report(importer: &Importer<'static>, instructions: u64, output: &Path) {
    if importer.ignored_lines() > 0 {
        say!(
            "skipped {} lines that are not events",
            importer.ignored_lines()
        );
    }
    if instructions == 0 {
        return;
    }
    importer.notes().iter().for_each(|note| say!("{note}"));
    if importer.made_up_instructions() > 0 {
        say!(
            "made up {} instructions for references that have none, or more than fit one",
            importer.made_up_instructions()
        );
    }
    if importer.unknown_sizes() > 0 {
        say!(
            "{} references have an unknown size, such as those of xsave; only their first byte is imported",
            importer.unknown_sizes()
        );
    }
    say!(
        "{}",
        describe_written(output, instructions, None, None, None)
    );
}
