//! Two users of make: one compiles C sources, the other links objects to programs.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use rand::Rng;

use crate::program::{Inputs, PrepareError, Program, arguments, find, write};

pub(crate) const NEEDS: &[(&str, &str)] = &[
    ("make", "make"),
    ("gcc", "gcc"),
    ("ld", "binutils"),
    ("ar", "binutils"),
];

pub(crate) const USES: &[&str] = &["sh", "rm", "ar", "gcc"];

/// Programs that gcc runs. [`LINKED`] has the files with which gcc links a program.
const PASSES: [&str; 4] = ["cc1", "as", "collect2", "ld"];
const LINKED: [&str; 14] = [
    "liblto_plugin.so",
    "Scrt1.o",
    "crt1.o",
    "crti.o",
    "crtn.o",
    "crtbegin.o",
    "crtbeginS.o",
    "crtend.o",
    "crtendS.o",
    "libgcc.a",
    "libgcc_s.so",
    "libgcc_s.so.1",
    "libc.so",
    "libc_nonshared.a",
];
const HEADERS: &str = "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n";

/// Number of sources per user. Each source has [`FUNCTIONS`] functions.
const SOURCES: RangeInclusive<usize> = 8..=16;
const FUNCTIONS: RangeInclusive<usize> = 25..=55;

pub(crate) fn prepare_compile(inputs: &mut Inputs<'_>) -> Result<Program, PrepareError> {
    prepare(inputs, "make #1", "compile")
}

pub(crate) fn prepare_link(inputs: &mut Inputs<'_>) -> Result<Program, PrepareError> {
    prepare(inputs, "make #2", "link")
}

fn prepare(
    inputs: &mut Inputs<'_>,
    name: &'static str,
    target: &str,
) -> Result<Program, PrepareError> {
    let folder = inputs.folder(target)?;
    let sources = inputs.random.random_range(SOURCES);
    for source in 0..sources {
        write(&folder, &format!("part{source}.c"), &part(inputs, source))?;
    }
    write(&folder, "main.c", &main(sources))?;
    write(&folder, "Makefile", include_str!("../files/Makefile"))?;
    Ok(Program {
        name,
        arguments: arguments(["make", "--silent", target]),
        folder,
    })
}

/// Returns the files of the compiler, as gcc reports them.
pub(crate) fn compiler() -> Result<Vec<PathBuf>, PrepareError> {
    let mut files = Vec::new();
    for pass in PASSES {
        let said = ask(&[&format!("-print-prog-name={pass}")], "")?;
        // A name without a folder is searched for in PATH.
        files.push(find(said.trim()));
    }
    for file in LINKED {
        let said = ask(&[&format!("-print-file-name={file}")], "")?;
        files.push(said.trim().into());
    }
    let rule = ask(&["-M", "-x", "c", "-"], HEADERS)?;
    files.extend(
        rule.split_whitespace()
            .filter(|word| word.starts_with('/'))
            .map(PathBuf::from),
    );
    Ok(files)
}

fn ask(arguments: &[&str], input: &str) -> Result<String, PrepareError> {
    let run = || -> io::Result<String> {
        let mut gcc = Command::new("gcc")
            .args(arguments)
            .env("LC_ALL", "C")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        gcc.stdin
            .take()
            .map_or(Ok(()), |mut pipe| pipe.write_all(input.as_bytes()))?;
        let output = gcc.wait_with_output()?;
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            Err(io::Error::other(output.status.to_string()))
        }
    };
    run().map_err(PrepareError::Compiler)
}

/// Returns a source of small functions with loops, branches and tables, which give work to every
/// pass of a compiler.
fn part(inputs: &mut Inputs<'_>, source: usize) -> String {
    let mut text = "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n".to_owned();
    let _ = writeln!(text, "static int table{source}[64];");
    let functions = inputs.random.random_range(FUNCTIONS);
    for function in 0..functions {
        let (factor, shift, limit) = (
            inputs.random.random_range(3..97_u32),
            inputs.random.random_range(1..13_u32),
            inputs.random.random_range(8..64_u32),
        );
        let _ = write!(
            text,
            "int f{source}_{function}(int x)\n{{\n    int i, sum = {factor};\n    for (i = 0; i < {limit}; i++) {{\n        \
             if ((x ^ i) & {shift})\n            sum += table{source}[i % 64] * {factor};\n        else\n            \
             table{source}[(i + x) & 63] = sum >> {shift};\n    }}\n    return sum;\n}}\n"
        );
    }
    let _ = write!(text, "int part{source}(int x)\n{{\n    int sum = 0;\n");
    for function in 0..functions {
        let _ = writeln!(text, "    sum += f{source}_{function}(x + {function});");
    }
    text.push_str("    return sum;\n}\n");
    text
}

fn main(sources: usize) -> String {
    let mut text = String::new();
    for source in 0..sources {
        let _ = writeln!(text, "int part{source}(int);");
    }
    text.push_str("int main(int count, char **words)\n{\n    (void)words;\n    return 1 & (0");
    for source in 0..sources {
        let _ = write!(text, " + part{source}(count)");
    }
    text.push_str(");\n}\n");
    text
}
