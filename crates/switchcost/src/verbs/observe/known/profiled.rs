//! What profiles say of observed programs, at the prices of this machine: the profile that is named, and those in the usual folder.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use switchcost_analysis::model::{most_lines, points};
use switchcost_observation::{KnownBy, KnownReload, Subject};
use switchcost_profile::{Prices, Profile, read_profile};
use switchcost_record::HostManifest;

use super::programs::{Program, Programs};
use crate::build_ids;
use crate::exit::Failure;
use crate::messages::say;
use crate::prices;
use crate::verbs::trace::profile::place_of;

/// A profile, and where it was found.
pub(in crate::verbs::observe) struct Found {
    path: PathBuf,
    profile: Profile,
}

impl Found {
    pub(in crate::verbs::observe) fn read(path: &Path) -> Result<Found, Failure> {
        Ok(Found {
            path: path.to_owned(),
            profile: read_profile(path)?,
        })
    }

    fn build_id(&self) -> Option<&str> {
        self.profile.program()?.build_id.as_deref()
    }
}

pub(super) fn find(
    mut programs: Programs,
    named: Option<&Found>,
    subject: &Subject,
    host: &HostManifest,
) -> Vec<KnownReload> {
    let kept = usual(&programs, subject);
    if named.is_none() && kept.is_empty() {
        return Vec::new();
    }
    let prices = match prices::of_this_machine(host) {
        Ok(prices) => prices,
        Err(why) => {
            say!(
                "without the profile of the program: {why}; switchcost measure --prices FILE (a minute) measures them"
            );
            return Vec::new();
        }
    };
    let mut take = |found: &Found| {
        let command = found
            .profile
            .commands
            .first()
            .map_or(&[][..], Vec::as_slice);
        programs.take(found.build_id()?, command, build_ids::of_command)
    };
    let named = named.and_then(|found| {
        let program = take(found);
        if program.is_none() {
            say!(
                "{} is the profile of a program that was not observed",
                found.path.display()
            );
        }
        Some(profiled(found, &prices, program?))
    });
    let kept: Vec<KnownReload> = kept
        .iter()
        .filter_map(|found| Some(profiled(found, &prices, take(found)?)))
        .collect();
    named.into_iter().chain(kept).collect()
}

/// The profiles in the usual folder of programs that live, and of the command.
fn usual(programs: &Programs, subject: &Subject) -> Vec<Found> {
    let command = match subject {
        Subject::Command(words) => {
            build_ids::of_command(&words.iter().map(OsString::from).collect::<Vec<_>>())
        }
        _ => None,
    };
    let ids = programs.living().into_iter().chain(command);
    ids.filter_map(|id| place_of(&id).filter(|path| path.is_file()))
        .filter_map(|path| read_or_say(&path))
        .collect()
}

fn read_or_say(path: &Path) -> Option<Found> {
    Found::read(path)
        .inspect_err(|failure| say!("{failure}"))
        .ok()
}

/// The prices of this machine, as it is now.
fn profiled(found: &Found, prices: &Prices, Program { name, processes }: Program) -> KnownReload {
    KnownReload {
        by: KnownBy::Profile,
        file: found
            .path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
        processes,
        name,
        points: points(&found.profile, prices),
        most_lines: most_lines(&found.profile),
    }
}
