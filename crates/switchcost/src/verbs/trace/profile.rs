//! Makes reuse profiles of programs as they run, and of existing traces.

use std::path::Path;

use switchcost_record::profile::Profile;
use switchcost_reuse::Profiler;
use switchcost_trace::{TraceHeader, read_ahead};

use super::capture::{Live, Session};
use super::look;
use crate::cli::trace::{ProfileArguments, TraceArguments};
use crate::exit::{Exit, Failure};
use crate::messages::say;
use crate::output::Output;
use crate::redact;
use crate::signals::Interrupt;

/// Captures programs, and keeps only their reuse profile. The programs' output goes to switchcost's
/// stdout.
pub(super) fn live(arguments: &TraceArguments, path: &Path) -> Result<Exit, Failure> {
    let session =
        Session::prepare(&arguments.capture, arguments.quantum, arguments.seed)?.share_output();
    let output = Output::claim(Some(path))?;
    let is_redacted = arguments.redaction.redact;
    let header = redact::trace(session.header(), is_redacted);
    let interrupt = Interrupt::watch()?;
    let mut profiler = Profiler::default();
    let ended = session.run(&interrupt, |chunk, dependences| {
        profiler.add(chunk, dependences);
        Ok(())
    })?;
    ended.report(is_redacted);
    let profile = made(profiler, &header);
    output.write(&text(&profile))?;
    Ok(ended.exit())
}

/// Makes the reuse profile of a complete trace. An incomplete trace is an error.
pub(super) fn profile_trace(arguments: &ProfileArguments) -> Result<Exit, Failure> {
    let failed = Failure::read_trace(&arguments.file);
    let output = Output::claim(arguments.output.as_deref())?;
    let reader = look::open(&arguments.file)?;
    let dependences = look::known_dependences(&arguments.file);
    let header = reader.header().clone();
    let mut chunks = read_ahead(reader).map_err(failed)?;
    let (mut profiler, mut chunk) = (Profiler::default(), switchcost_trace::Chunk::default());
    while chunks.next_into(&mut chunk).map_err(failed)? {
        profiler.add(&chunk, &dependences);
    }
    let profile = made(profiler, &header);
    output.write(&text(&profile))?;
    Ok(Exit::Success)
}

fn made(profiler: Profiler, header: &TraceHeader) -> Profile {
    let profile = profiler.finish(header, env!("CARGO_PKG_VERSION"));
    if !profile.has_dependences {
        say!(
            "the trace does not record on which loads addresses depend, so the profile has dependent instead of chained lines"
        );
    }
    profile
}

fn text(profile: &Profile) -> String {
    serde_json::to_string(profile).expect("plain data") + "\n"
}
