//! Magic, the VLSI layout system that Mogul and Borg 1990 used as well. In batch mode Magic
//! repeatedly checks the design rules of a generated layout and extracts its circuit.

use std::fmt::Write;
use std::ops::RangeInclusive;

use rand::Rng;

use crate::program::{Inputs, PrepareError, Program, arguments, write};

pub(crate) const NEEDS: &[(&str, &str)] = &[("magic", "magic")];

/// Programs and files that Magic uses. Magic's start script runs in a shell and calls small
/// programs. Magic itself is a Tcl interpreter with a library.
pub(crate) const USES: &[&str] = &[
    "uname",
    "cut",
    "/usr/lib/x86_64-linux-gnu/magic",
    "/usr/share/tcltk/tcl8.6",
];

const LAYERS: [&str; 4] = ["polysilicon", "ndiffusion", "metal1", "metal2"];
const RECTANGLES_A_LAYER: RangeInclusive<usize> = 1500..=3500;
const EDGES: RangeInclusive<u32> = 4500..=7500;

pub(crate) fn prepare(inputs: &mut Inputs<'_>) -> Result<Program, PrepareError> {
    let folder = inputs.folder("magic")?;
    write(&folder, "layout.mag", &layout(inputs))?;
    write(&folder, "run.tcl", include_str!("../files/magic.tcl"))?;
    let arguments = arguments(["magic", "-dnull", "-noconsole", "-T", "scmos", "run.tcl"]);
    Ok(Program {
        name: "Magic",
        arguments,
        folder,
    })
}

/// Returns a cell of random wires and transistors in Magic's file format.
fn layout(inputs: &mut Inputs<'_>) -> String {
    let (rectangles, edge) = (
        inputs.random.random_range(RECTANGLES_A_LAYER),
        inputs.random.random_range(EDGES),
    );
    // The time stamp is fixed, so that equal seeds give equal files.
    let mut text = "magic\ntech scmos\ntimestamp 1000000000\n".to_owned();
    for layer in LAYERS {
        let _ = writeln!(text, "<< {layer} >>");
        for _ in 0..rectangles {
            let (x, y) = (
                inputs.random.random_range(0..edge),
                inputs.random.random_range(0..edge),
            );
            let width = [2, 3, 4, 8, 40][inputs.random.random_range(0..5)];
            let height = [3, 4, 6, 60][inputs.random.random_range(0..4)];
            let _ = writeln!(text, "rect {x} {y} {} {}", x + width, y + height);
        }
    }
    text.push_str("<< end >>\n");
    text
}
