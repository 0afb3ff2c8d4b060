//! Plants files of another user in each place that the program chooses itself, and checks the
//! permissions of files that the program creates there under umask 000.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::path::Path;
use std::process::Command;

use rand_chacha::ChaCha8Rng;
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};

use crate::campaign::{Kind, Sample};
use crate::judge;
use crate::outcome::Outcome;
use crate::place::Place;
use crate::run::{Ran, Run};
use crate::table::{self, Executed, Kept, Read};

/// User ID of the other user, who plants the files.
const OTHER: u32 = 65_533;
/// Exit codes that docs/reference.md documents.
const CODES: [i32; 6] = [0, 1, 2, 3, 5, 6];
const READ: [&str; 6] = ["ours", "fifo", "device", "folder", "others", "link"];
const EXECUTED: [&str; 5] = ["ours", "others", "link", "writable", "parent"];
const UMASK: [&str; 4] = ["sh", "-c", "umask 000; exec \"$@\"", "sh"];
const SECRET: &str = "of root's alone\n";

pub(crate) struct Planted(table::Planted);

impl Planted {
    pub(crate) fn new() -> Planted {
        Planted(table::read(include_str!("../tables/planted.toml")))
    }
}

impl Kind for Planted {
    fn name(&self) -> &'static str {
        "planted"
    }

    fn sample(&self) -> Sample {
        Sample::All
    }

    fn draw(&self, _: &Place, _: &str, _: &mut ChaCha8Rng) -> Vec<String> {
        let read = self.0.read.iter().map(|row| ("read", &row.name, &READ[..]));
        let executed = self
            .0
            .executed
            .iter()
            .map(|row| ("executed", &row.name, &EXECUTED[..]));
        let kept = self
            .0
            .kept
            .iter()
            .map(|row| ("kept", &row.name, &["umask-000"][..]));
        read.chain(executed)
            .chain(kept)
            .flat_map(|(how, name, kinds)| {
                kinds
                    .iter()
                    .map(move |kind| format!("planted/{how}/{name}/{kind}"))
            })
            .collect()
    }

    fn attempt(&self, place: &Place, parts: &[&str]) -> Result<Outcome, String> {
        let [how, name, kind] = parts else {
            return Err("need planted/HOW/NAME/KIND".to_owned());
        };
        if !rustix::process::geteuid().is_root() {
            return Ok(Outcome::Untried(
                "only root can plant another user's files".to_owned(),
            ));
        }
        // A file in a folder that all users may write to is refused for that reason.
        for folder in ["", "scratch", "state", "home"] {
            fs::set_permissions(place.path(folder), Permissions::from_mode(0o755))
                .map_err(|error| error.to_string())?;
        }
        let found = match *how {
            "read" => self
                .0
                .read
                .iter()
                .find(|row| row.name == *name)
                .map(|row| read(place, row, kind)),
            "executed" => self
                .0
                .executed
                .iter()
                .find(|row| row.name == *name)
                .map(|row| execute(place, row, kind)),
            _ => self
                .0
                .kept
                .iter()
                .find(|row| row.name == *name)
                .map(|row| keep(place, row)),
        };
        found.ok_or_else(|| format!("found {how}/{name}, need one of tables/planted.toml"))?
    }
}

fn read(place: &Place, row: &Read, kind: &str) -> Result<Outcome, String> {
    let at = place.expanded(&row.at);
    let (at, secret) = (Path::new(&at), place.path("scratch/secret"));
    let planted = make_folder_of(at)
        .and_then(|()| fs::write(&secret, SECRET))
        .and_then(|()| plant(at, &fs::read(place.expanded(&row.like))?, kind, &secret));
    planted.map_err(|error| format!("failed to plant {}: {error}", at.display()))?;
    let bystander = place.bystander()?;
    let ran = Run::new(place, &row.words).whole();
    // The program must not remove planted files in TMPDIR. Records that the state folder does not
    // accept stay there.
    for folder in place
        .temporary()
        .iter()
        .filter(|name| name.starts_with("switchcost-runs-"))
    {
        let _ = fs::remove_dir_all(place.path("tmp").join(folder));
    }
    let _ = fs::remove_dir_all(at).or_else(|_| fs::remove_file(at));
    let is_untouched = fs::read(&secret).is_ok_and(|text| text == SECRET.as_bytes());
    Ok(is_withstood(&ran)
        .and_then(|()| judge::is_tidy(place, &bystander))
        .and_then(|()| {
            is_untouched
                .then_some(())
                .ok_or_else(|| format!("it wrote through a link: {}", ran.reported()))
        })
        .into())
}

fn execute(place: &Place, row: &Executed, kind: &str) -> Result<Outcome, String> {
    let (at, mark) = (place.expanded(&row.at), place.path("scratch/executed"));
    let script = format!("#!/bin/sh\necho > {}\n", mark.display());
    let program = place.path("scratch/bin/switchcost");
    let planted = make_folder_of(Path::new(&at))
        .and_then(|()| {
            row.beside
                .iter()
                .try_for_each(|file| fs::write(place.expanded(file), ""))
        })
        // Another process writes the file, because the child of another trial could hold a writable
        // copy of the descriptor (ETXTBSY).
        .and_then(|()| match row.copied {
            true => Command::new("cp")
                .arg(&place.program)
                .arg(&program)
                .status()
                .map(drop),
            false => Ok(()),
        })
        .and_then(|()| {
            plant_program(
                Path::new(&at),
                &script,
                kind,
                &place.path("scratch/program"),
            )
        });
    planted.map_err(|error| format!("failed to plant {at}: {error}"))?;
    let mut run = Run::new(place, &row.words);
    run.set = vec![(
        "PATH".to_owned(),
        "{scratch}/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned(),
    )];
    if row.copied {
        run.program = Some(program);
    }
    let ran = run.whole();
    let table = fs::read_to_string(place.made("table.txt")).unwrap_or_default();
    let said = format!("{}{table}", ran.stderr).replace('\n', "");
    let is_named = Path::new(&at)
        .parent()
        .is_some_and(|folder| said.contains(&folder.display().to_string()));
    Ok(match (kind, mark.exists()) {
        ("ours", false) => Outcome::Untried(format!("{} is not executed here", row.name)),
        ("ours", true) => judge::is_orderly(&ran).into(),
        (_, true) => Outcome::Failed(format!("it executed {at}: {}", ran.reported())),
        (_, false) if !is_named => Outcome::Failed(format!(
            "it does not say what it did not execute: {}",
            ran.reported()
        )),
        (_, false) => is_withstood(&ran).into(),
    })
}

fn keep(place: &Place, row: &Kept) -> Result<Outcome, String> {
    let mut run = Run::new(place, &row.words);
    run.wrap = UMASK.map(str::to_owned).into();
    run.unset = &row.unset;
    let ran = run.whole();
    if !matches!(ran.code(), Some(0 | 3)) {
        return Ok(Outcome::Untried(format!("{} does not run here", row.name)));
    }
    let mut open = Vec::new();
    for folder in ["state", "home", "tmp"] {
        gather_open(&place.path(folder), &mut open).map_err(|error| error.to_string())?;
    }
    Ok(match open.is_empty() {
        true => is_withstood(&ran).into(),
        false => Outcome::Failed(format!(
            "open to others: {}: {}",
            open.join(", "),
            ran.reported()
        )),
    })
}

/// Adds to `open` each file in a folder that the group or other users may access, with its mode.
fn gather_open(folder: &Path, open: &mut Vec<String>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let facts = path.symlink_metadata()?;
        if !facts.is_symlink() && facts.mode() & 0o077 != 0 {
            open.push(format!("{} {:o}", path.display(), facts.mode() & 0o7777));
        }
        if facts.is_dir() {
            gather_open(&path, open)?;
        }
    }
    Ok(())
}

fn is_withstood(ran: &Ran) -> Result<(), String> {
    judge::is_orderly(ran)?;
    judge::is_explained(ran)?;
    match ran.code() {
        Some(code) if CODES.contains(&code) => Ok(()),
        _ => Err(format!(
            "found an exit code that is in no table: {}",
            ran.reported()
        )),
    }
}

fn make_folder_of(at: &Path) -> std::io::Result<()> {
    fs::create_dir_all(at.parent().expect("a folder"))
}

fn plant(at: &Path, text: &[u8], kind: &str, secret: &Path) -> std::io::Result<()> {
    let node = |kind, device| mknodat(CWD, at, kind, Mode::from_raw_mode(0o666), device);
    match kind {
        "fifo" => node(FileType::Fifo, 0)?,
        // /dev/zero has no end.
        "device" => node(FileType::CharacterDevice, makedev(1, 5))?,
        "folder" => fs::create_dir(at)?,
        "link" => {
            symlink(secret, at)?;
            lchown(at, Some(OTHER), Some(OTHER))?;
        }
        _ => fs::write(at, text)?,
    }
    match kind {
        "others" => chown(at, Some(OTHER), Some(OTHER)),
        _ => Ok(()),
    }
}

fn plant_program(at: &Path, script: &str, kind: &str, aside: &Path) -> std::io::Result<()> {
    let file = if kind == "link" { aside } else { at };
    fs::write(file, script)?;
    let mode = if kind == "writable" { 0o777 } else { 0o755 };
    fs::set_permissions(file, Permissions::from_mode(mode))?;
    match kind {
        "others" => chown(at, Some(OTHER), Some(OTHER)),
        "link" => {
            symlink(aside, at)?;
            lchown(at, Some(OTHER), Some(OTHER))
        }
        "parent" => fs::set_permissions(
            at.parent().expect("a folder"),
            Permissions::from_mode(0o777),
        ),
        _ => Ok(()),
    }
}
