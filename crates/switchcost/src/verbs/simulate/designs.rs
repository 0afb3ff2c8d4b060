//! Finds designs by their names or files.

use std::fmt::Write;
use std::io::Read;
use std::path::Path;
use std::string::FromUtf8Error;

use switchcost_cachesim::explain as explain_design;
use switchcost_design::{Design, HOST, host_design, read_design, shipped, vary};
use switchcost_facts::Root;
use switchcost_host::machine::manifest_at_once;
use switchcost_record::{Source, printable};

use crate::cli::simulate::DesignArguments;
use crate::exit::{Failure, Outcome};

/// Line size in bytes for designs without caches, which have only TLBs.
const LONGEST_LINE: u64 = 64;
/// Width of the list of designs, in characters.
const COLUMNS: usize = 100;
/// Designs that are simulated by default, from Mogul and Borg 1990.
const DEFAULT: [&str; 4] = ["mogul-1a", "mogul-1b", "mogul-2a", "mogul-2b"];
/// Maximum number of bytes that are read from a design file. The parser has a lower limit.
const MOST_BYTES: u64 = 2 << 20;

/// Returns the requested designs with all their variants, in the order of the command line.
pub(super) fn selected(arguments: &DesignArguments) -> Outcome<Vec<Design>> {
    let named: Vec<&str> = match arguments.design.as_slice() {
        [] => DEFAULT.to_vec(),
        names => names.iter().map(String::as_str).collect(),
    };
    let mut designs = Vec::new();
    for name in named {
        designs.extend(vary(&find(name)?, &arguments.vary)?);
    }
    let mut names: Vec<_> = designs.iter().map(|design| design.name.as_str()).collect();
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Failure::usage(format!(
            "two designs are named '{}'; rename one",
            twice[0]
        )));
    }
    Ok(designs)
}

/// Returns the shortest line size of all caches of the requested designs, in bytes.
pub(super) fn shortest_line(arguments: &DesignArguments) -> Outcome<u64> {
    let designs = selected(arguments)?;
    let lines = designs
        .iter()
        .flat_map(|design| &design.levels)
        .map(|level| level.line.0);
    Ok(lines.min().unwrap_or(LONGEST_LINE))
}

fn find(name: &str) -> Outcome<Design> {
    if let Some(design) = shipped::find(name) {
        return Ok(design);
    }
    if name == HOST {
        return host_design(&manifest_at_once(&Root::system())).map_err(Failure::from);
    }
    let path = Path::new(name);
    let is_name = !name.contains('/') && !name.ends_with(".toml") && !path.exists();
    if is_name {
        return Err(Failure::usage(format!(
            "there is no design '{name}', built in or as a file; use one of {}, host, or a TOML file",
            shipped::names().collect::<Vec<_>>().join(", ")
        )));
    }
    let failed = Failure::open(path);
    let mut bytes = Vec::new();
    Source::named(path)
        .open()
        .map_err(failed)?
        .take(MOST_BYTES)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    let no_text = |error: FromUtf8Error| {
        Failure::usage(format!(
            "{}: invalid UTF-8 at byte {}; save it as UTF-8 (from Latin-1: iconv -f latin1 -t utf-8), or name another file",
            path.display(),
            error.utf8_error().valid_up_to() + 1
        ))
    };
    let text = String::from_utf8(bytes).map_err(no_text)?;
    read_design(&text, name).map_err(Failure::from)
}

/// Returns a text on how each level of the requested designs is simulated.
pub(super) fn explain(arguments: &DesignArguments) -> Outcome<String> {
    let mut text = String::new();
    for design in selected(arguments)? {
        let _ = writeln!(text, "{}", printable(&design.name));
        for (level, way) in explain_design(&design) {
            let _ = writeln!(text, "  {:10} {way}", printable(&level));
        }
    }
    Ok(text)
}

/// Returns a list of the built-in designs, one per line.
pub(super) fn list() -> String {
    let indent = " ".repeat(23);
    let options = textwrap::Options::new(COLUMNS).subsequent_indent(&indent);
    let line =
        |name: &str, title: &str| textwrap::fill(&format!("{name:22} {title}"), &options) + "\n";
    let designs = shipped::names().filter_map(shipped::find);
    let lines: String = designs
        .map(|design| line(&design.name, &design.title))
        .collect();
    lines + &line(HOST, "this machine's own caches")
}
