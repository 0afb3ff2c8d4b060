//! Judges a stored result again by the present rules, without running anything.

use std::path::Path;

use switchcost_record::Source;
use switchcost_report::reproduce::stored_commands;
use switchcost_reproduce::{Paper, Stored, stand};

use super::folder::Folder;
use super::others::Others;
use super::{Done, write};
use crate::cli::reproduce::ReproduceArguments;
use crate::exit::{Exit, Failure, Outcome};

pub(super) fn run(
    file: &Path,
    papers: &[Paper],
    others: &Others,
    arguments: &ReproduceArguments,
) -> Outcome<Exit> {
    let &[paper] = papers else {
        return Err(Failure::usage(
            "--judge takes the result of one paper; name that paper".to_owned(),
        ));
    };
    let failure = |why: String| {
        Failure::broken(format!(
            "cannot judge {}: {why}; name a PAPER.json that reproduce wrote",
            file.display()
        ))
    };
    let text = Source::named(file)
        .read_text()
        .map_err(|error| failure(format!("it cannot be read ({error})")))?;
    let Stored {
        machine,
        mut exhibits,
    } = Stored::judge(&text, paper).map_err(|error| failure(error.to_string()))?;
    stand(&mut exhibits, others.results(paper));
    let commands = stored_commands(&text);
    let done = Done {
        paper,
        exhibits,
        commands,
        machine,
    };
    let folder = Folder::open(arguments.output.as_deref())?;
    write(&mut [done], &folder, arguments)
}
