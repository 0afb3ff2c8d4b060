//! Simulates a user at a shell by an endless loop of cp, cat, ex, rm, ps and ls.

use std::fmt::Write;
use std::ops::RangeInclusive;

use rand::Rng;

use crate::program::{Inputs, PrepareError, Program, arguments, write};

pub(crate) const NEEDS: &[(&str, &str)] = &[
    ("ex", "vim-tiny"),
    ("ps", "procps"),
    ("sh", "dash"),
    ("ls", "coreutils"),
];

pub(crate) const USES: &[&str] = &["cp", "cat", "ex", "rm", "ps", "ls"];

const LINES: RangeInclusive<usize> = 200..=700;

pub(crate) fn prepare(inputs: &mut Inputs<'_>) -> Result<Program, PrepareError> {
    let folder = inputs.folder("interactive")?;
    let mut text = String::new();
    for line in 0..inputs.random.random_range(LINES) {
        let _ = writeln!(text, "{line} {:08x}", inputs.random.random::<u32>());
    }
    write(&folder, "text", &text)?;
    write(&folder, "loop.sh", include_str!("../files/loop.sh"))?;
    Ok(Program {
        name: "interactive",
        arguments: arguments(["sh", "loop.sh"]),
        folder,
    })
}
