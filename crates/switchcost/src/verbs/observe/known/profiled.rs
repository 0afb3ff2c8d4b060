//! What profiles say of observed programs, at the prices of this machine: the profile that is named, and those in the usual folder.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use switchcost_analysis::model::{InstructionRate, most_lines, points};
use switchcost_record::Source;
use switchcost_record::observation::{CountedTurns, KnownBy, KnownReload, Observation};
use switchcost_record::profile::{Prices, Profile, read_profile};

use super::programs::{Program, Programs};
use crate::exit::Failure;
use crate::messages::say;
use crate::prices;
use crate::program_id::ProgramId;
use crate::verbs::trace::profile::place_of;

/// A profile, and where it was found.
pub(in crate::verbs::observe) struct Found {
    path: PathBuf,
    profile: Profile,
}

impl Found {
    pub(in crate::verbs::observe) fn read(source: impl Into<Source>) -> Result<Found, Failure> {
        let source = source.into();
        Ok(Found {
            path: source.path().to_owned(),
            profile: read_profile(&source)?,
        })
    }

    fn command(&self) -> &[String] {
        self.profile.commands.first().map_or(&[], Vec::as_slice)
    }

    /// Of the program that was traced, and of an interpreter the script that its command still starts.
    fn id(&self) -> Option<ProgramId> {
        let words: Vec<OsString> = self.command().iter().map(OsString::from).collect();
        Some(ProgramId {
            build_id: self.profile.program()?.build_id.clone()?,
            script: ProgramId::of_command(&words).and_then(|id| id.script),
        })
    }
}

pub(super) fn find(
    mut programs: Programs,
    named: Option<&Found>,
    observation: &Observation,
) -> Vec<KnownReload> {
    let kept = usual(&programs);
    if named.is_none() && kept.is_empty() {
        return Vec::new();
    }
    let prices = match prices::of_this_machine(&observation.host) {
        Ok(prices) => prices,
        Err(why) => {
            say!(
                "without the profile of the program: {why}; switchcost measure --prices FILE (a minute) measures them"
            );
            return Vec::new();
        }
    };
    let mut known = Vec::new();
    for found in named.into_iter().chain(&kept) {
        let program = found
            .id()
            .and_then(|id| programs.find(&id, found.command(), ProgramId::of_command));
        match program {
            Some(program) => {
                programs.remove(&program);
                known.push(profiled(found, &prices, observation, program));
            }
            None if named.is_some_and(|named| named.path == found.path) => say!(
                "{} is the profile of a program that was not observed",
                found.path.display()
            ),
            None => (),
        }
    }
    known
}

/// The profiles in the usual folder of programs that live, and of the command.
fn usual(programs: &Programs) -> Vec<Found> {
    let ids: BTreeSet<&str> = programs.ids().map(|id| id.build_id.as_str()).collect();
    ids.into_iter()
        .filter_map(|id| place_of(id).filter(|path| path.symlink_metadata().is_ok()))
        .filter_map(|path| read_or_say(&path))
        .collect()
}

fn read_or_say(path: &Path) -> Option<Found> {
    Found::read(Source::found(path))
        .inspect_err(|failure| say!("{failure}"))
        .ok()
}

/// The prices of this machine, as it is now.
fn profiled(
    found: &Found,
    prices: &Prices,
    observation: &Observation,
    Program { name, processes }: Program,
) -> KnownReload {
    let mut known = KnownReload {
        by: KnownBy::Profile,
        file: found
            .path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
        command: found.command().to_vec(),
        measured_at: String::new(),
        processes,
        name,
        points: Vec::new(),
        preemption: None,
        most_lines: Vec::new(),
    };
    let mut counted = CountedTurns::default();
    observation
        .tasks
        .iter()
        .filter(|tasks| known.is_of(tasks.process, &tasks.name))
        .filter_map(|tasks| tasks.counted.as_ref())
        .for_each(|of_tasks| counted.add(of_tasks));
    let rate = InstructionRate::new(&counted);
    known.points = points(&found.profile, prices, rate);
    known.most_lines = most_lines(&found.profile, rate);
    known
}
