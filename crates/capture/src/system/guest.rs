//! Input of a guest: its root file system, and the commands to run.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::archive::{Archive, Entry};
use super::files::read_file;
use super::{PlacedFolder, System, needs, programs};
use crate::command::Command;
use crate::error::CaptureError;
use crate::guest_error::GuestError;

/// Environment variables of every guest, in addition to the variables in the archive of files.
const OTHERS: [&str; 2] = ["HOME=/", "LC_ALL=C"];
/// Maximum number of commands, which capture/qemu/init.c limits.
const MOST_COMMANDS: usize = 64;

#[derive(Debug)]
pub(super) struct Guest {
    /// Root file system as a cpio archive, the format that the kernel unpacks.
    pub(super) root: Vec<u8>,
    /// Warnings about what programs may lack in the guest.
    pub(super) remarks: Vec<String>,
}

impl Guest {
    pub(super) fn new(commands: &[Command], system: &System) -> Result<Guest, CaptureError> {
        if commands.is_empty() {
            return Err(CaptureError::NoCommand);
        }
        if commands.len() > MOST_COMMANDS {
            return Err(GuestError::Commands(commands.len()).into());
        }
        let mut archive = Archive::default();
        needs::usual_links(&mut archive)?;
        let mut list = vec![system.seconds.to_string().into_bytes()];
        list.push(system.slice.map_or(Vec::new(), |slice| {
            slice.as_nanos().to_string().into_bytes()
        }));
        list.push(if system.is_between_stops {
            b"1".to_vec()
        } else {
            b"0".to_vec()
        });
        list.push(commands.len().to_string().into_bytes());
        for command in commands {
            add(&mut archive, &mut list, command, &system.folders)?;
        }
        for file in &system.files {
            needs::named(&mut archive, file)?;
        }
        for folder in &system.folders {
            needs::placed(&mut archive, &folder.here, &folder.there)?;
        }
        archive.add(
            "/init",
            Entry::File {
                bytes: read_file(&system.parts.init)?,
                mode: 0o755,
                modified: None,
            },
        );
        archive.add("/dev/console", Entry::Device(5, 1));
        let mut commands = list.join(&0);
        commands.push(0);
        archive.add(
            "/switchcost/commands",
            Entry::File {
                bytes: commands,
                mode: 0o600,
                modified: None,
            },
        );
        Ok(Guest {
            remarks: archive.remarks().to_vec(),
            root: archive.into_bytes(),
        })
    }
}

/// Adds a command's files to the archive, and the command to `list`.
fn add(
    archive: &mut Archive,
    list: &mut Vec<Vec<u8>>,
    command: &Command,
    folders: &[PlacedFolder],
) -> Result<(), CaptureError> {
    let program = match placed(command, folders) {
        Some((here, there)) => {
            programs::interpreter_of(archive, &here)?;
            there
        }
        None => programs::program(archive, &command.program()?)?,
    };
    needs::arguments(archive, command)?;
    programs::started_by(archive, command);
    let directory = needs::directory_of(command)?;
    let own = command
        .environment
        .iter()
        .map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes()].concat());
    let others = OTHERS.iter().map(|text| text.as_bytes().to_vec());
    let variables: Vec<Vec<u8>> = archive
        .variables()
        .into_iter()
        .chain(others)
        .chain(own)
        .collect();
    list.push(directory.as_os_str().as_bytes().to_vec());
    list.push(variables.len().to_string().into_bytes());
    list.push(command.words.len().to_string().into_bytes());
    list.extend(variables);
    list.push(bytes_of(&program));
    list.extend(
        command
            .words
            .iter()
            .skip(1)
            .map(|word| word.as_bytes().to_vec()),
    );
    Ok(())
}

/// Returns the path of a program inside a placed folder, on this machine and in the guest; `None`
/// if the program is in no such folder.
fn placed(command: &Command, folders: &[PlacedFolder]) -> Option<(PathBuf, PathBuf)> {
    let program = command
        .words
        .first()
        .filter(|program| program.as_bytes().contains(&b'/'))?;
    let there = command.directory.as_deref()?.join(program);
    let here = folders
        .iter()
        .find_map(|folder| Some(folder.here.join(there.strip_prefix(&folder.there).ok()?)))?;
    Some((here, there))
}

fn bytes_of(path: &Path) -> Vec<u8> {
    <Path as AsRef<OsStr>>::as_ref(path).as_bytes().to_vec()
}
