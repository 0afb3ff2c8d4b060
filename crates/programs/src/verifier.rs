//! A timing verifier (OpenSTA) that checks a generated circuit with one clock after another.

use std::fmt::Write;
use std::ops::RangeInclusive;

use rand::Rng;

use crate::program::{Inputs, PrepareError, Program, arguments, write};

pub(crate) const NEEDS: &[(&str, &str)] = &[("sta", "opensta")];

pub(crate) const USES: &[&str] = &["/usr/share/tcltk/tcl8.6"];

const GATES: RangeInclusive<usize> = 2000..=4000;
const REGISTERS: RangeInclusive<usize> = 150..=250;
/// Largest distance between a gate and its inputs, in numbers of gates.
const REACH: usize = 300;

pub(crate) fn prepare(inputs: &mut Inputs<'_>) -> Result<Program, PrepareError> {
    let folder = inputs.folder("verifier")?;
    write(&folder, "circuit.v", &circuit(inputs))?;
    write(&folder, "cells.lib", include_str!("../files/cells.lib"))?;
    write(&folder, "verify.tcl", include_str!("../files/verify.tcl"))?;
    Ok(Program {
        name: "TV",
        arguments: arguments(["sta", "-no_splash", "-exit", "verify.tcl"]),
        folder,
    })
}

/// Returns a netlist without loops between registers. The inputs of a gate are earlier gates or
/// registers.
fn circuit(inputs: &mut Inputs<'_>) -> String {
    let (gates, registers) = (
        inputs.random.random_range(GATES),
        inputs.random.random_range(REGISTERS),
    );
    let nets = gates + registers;
    let mut text = "module top (clock);\n input clock;\n".to_owned();
    for net in 0..nets {
        let _ = writeln!(text, " wire n{net};");
    }
    for net in 0..registers {
        let _ = writeln!(
            text,
            " DFF f{net} (.D(n{}), .CK(clock), .Q(n{net}));",
            nets - 1 - net
        );
    }
    for net in registers..nets {
        let mut input = || inputs.random.random_range(net.saturating_sub(REACH)..net);
        let (a, b) = (input(), input());
        let _ = match inputs.random.random_range(0..3) {
            0 => writeln!(text, " INV g{net} (.A(n{a}), .Y(n{net}));"),
            1 => writeln!(text, " NAND2 g{net} (.A(n{a}), .B(n{b}), .Y(n{net}));"),
            _ => writeln!(text, " NOR2 g{net} (.A(n{a}), .B(n{b}), .Y(n{net}));"),
        };
    }
    text.push_str("endmodule\n");
    text
}
