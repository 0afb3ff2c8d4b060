//! Two users of make: one compiles C sources, the other links them into programs.

use std::fmt::Write;

use rand::Rng;

use crate::set::{Inputs, PrepareError, Program, arguments, write};

pub(crate) const NEEDS: &[(&str, &str)] = &[("make", "make"), ("gcc", "gcc"), ("ld", "binutils"), ("ar", "binutils")];

const SOURCES: usize = 12;
const FUNCTIONS: usize = 40;

pub(crate) fn prepare_compile(inputs: &mut Inputs<'_>) -> Result<Program, PrepareError> {
    prepare(inputs, "make #1", "compile")
}

pub(crate) fn prepare_link(inputs: &mut Inputs<'_>) -> Result<Program, PrepareError> {
    prepare(inputs, "make #2", "link")
}

fn prepare(inputs: &mut Inputs<'_>, name: &'static str, target: &str) -> Result<Program, PrepareError> {
    let folder = inputs.folder(target)?;
    for source in 0..SOURCES {
        write(&folder, &format!("part{source}.c"), &part(inputs, source))?;
    }
    write(&folder, "main.c", &main())?;
    write(&folder, "Makefile", include_str!("../files/Makefile"))?;
    Ok(Program { name, arguments: arguments(["make", "--silent", target]), folder })
}

/// A source of small functions with loops, branches and tables, so that every pass of a compiler has work.
fn part(inputs: &mut Inputs<'_>, source: usize) -> String {
    let mut text = "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n".to_owned();
    let _ = writeln!(text, "static int table{source}[64];");
    for function in 0..FUNCTIONS {
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
    for function in 0..FUNCTIONS {
        let _ = writeln!(text, "    sum += f{source}_{function}(x + {function});");
    }
    text.push_str("    return sum;\n}\n");
    text
}

fn main() -> String {
    let mut text = String::new();
    for source in 0..SOURCES {
        let _ = writeln!(text, "int part{source}(int);");
    }
    text.push_str("int main(int count, char **words)\n{\n    (void)words;\n    return 1 & (0");
    for source in 0..SOURCES {
        let _ = write!(text, " + part{source}(count)");
    }
    text.push_str(");\n}\n");
    text
}
