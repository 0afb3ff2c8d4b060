//! Two processes that exchange messages as a file server and its client do: two small C programs.
//!
//! The client requests blocks of a file and adds up the answers. The server finds the block, copies
//! it and answers. The length of messages is chosen so that a time slice of either process has
//! about 6600 instructions, as in Mogul and Borg 1990. Both together have about 0.3 MB of data (0.6
//! MB there). The programs are compiled on the machine where they run, always with the same flags,
//! and linked statically, so that other versions of switchcost have the same programs.

use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use rand::Rng;

use crate::program::{Inputs, PrepareError, Program, write};

pub(crate) const NEEDS: &[(&str, &str)] = &[("gcc", "gcc")];

/// Flags with which gcc compiles a program.
pub const FLAGS: [&str; 4] = ["-std=gnu11", "-O2", "-static", "-no-pie"];
const SOURCES: [(&str, &str); 3] = [
    ("pair.h", include_str!("../files/pair.h")),
    ("client.c", include_str!("../files/client.c")),
    ("server.c", include_str!("../files/server.c")),
];

pub(crate) fn prepare(inputs: &mut Inputs<'_>) -> Result<Program, PrepareError> {
    let folder = inputs.folder("pingpong")?;
    for (name, text) in SOURCES {
        write(&folder, name, text)?;
    }
    for program in ["client", "server"] {
        compile(&folder, program).map_err(PrepareError::Static)?;
    }
    let seed: u32 = inputs.random.random();
    let (bytes, wanted) = (
        1024 + 16 * inputs.random.random_range(0..=16),
        inputs.random.random_range(16..=48),
    );
    let words = [
        "./client".to_owned(),
        seed.to_string(),
        bytes.to_string(),
        wanted.to_string(),
    ];
    Ok(Program {
        name: "pingpong",
        arguments: words.map(Into::into).into(),
        folder,
    })
}

/// Compiles `PROGRAM.c` in a folder.
///
/// # Errors
///
/// If there is no gcc, or if gcc fails.
pub fn compile(folder: &Path, program: &str) -> io::Result<()> {
    let mut gcc = Command::new("gcc");
    // gcc's temporary files are removed together with the folder.
    gcc.current_dir(folder)
        .env("TMPDIR", folder)
        .args(FLAGS)
        .args(["-o", program, &format!("{program}.c")])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    // `Command::output` would panic if a pipe cannot be read.
    let mut gcc = gcc.spawn()?;
    let mut printed = Vec::new();
    let read = gcc
        .stderr
        .take()
        .map(|mut pipe| pipe.read_to_end(&mut printed));
    let status = gcc.wait()?;
    read.transpose()?;
    match status.success() {
        true => Ok(()),
        false => Err(io::Error::other(
            String::from_utf8_lossy(&printed)
                .lines()
                .next()
                .unwrap_or("no word")
                .to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    /// Tests the server alone with requests for blocks 3, 3 and 7.
    #[test]
    fn answers_each_request_with_its_block() {
        let place = tempfile::tempdir().expect("a folder");
        for (name, text) in SOURCES {
            std::fs::write(place.path().join(name), text).expect("written");
        }
        if compile(place.path(), "server")
            .is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
        {
            eprintln!("skipped: there is no gcc");
            return;
        }
        let mut server = Command::new(place.path().join("server"));
        let mut server = server
            .args(["5", "1024"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let requests: Vec<u8> = [3_u32, 3, 7]
            .iter()
            .flat_map(|block| block.to_le_bytes())
            .collect();
        server
            .stdin
            .take()
            .expect("a pipe")
            .write_all(&requests)
            .expect("taken");
        let mut answers = Vec::new();
        server
            .stdout
            .take()
            .expect("a pipe")
            .read_to_end(&mut answers)
            .expect("read");
        assert!(server.wait().expect("it ends").success());
        let [first, second, third] = [0, 1, 2].map(|place| &answers[place * 1024..][..1024]);
        assert_eq!(
            (answers.len(), second[0]),
            (3 * 1024, first[0].wrapping_add(1)),
            "the server's block is written to"
        );
        assert_eq!(first[1..1023], second[1..1023]);
        assert_ne!(first[1..1023], third[1..1023]);
    }
}
