//! Checks of `switchcost trace --system`: the speed of tracing a booted guest compared with QEMU
//! without a plugin, the size of the trace, and the time for a short program including the boot.

use crate::figure::{Bound, Figure, Quantity, Table};
use crate::row::{Found, Row};
use crate::shell::{Shell, need};
use crate::spread::Spread;

const ROUNDS: usize = 3;
/// Least speed of tracing, in millions of instructions per second.
const LEAST_RATE: f64 = 300.0;

/// Script for the guest, which runs programs that compute, and a loop that starts many programs.
/// The loop takes longest, because QEMU must translate new code.
const SCRIPT: &str = r#"text=$1
(i=0; while [ $i -lt 10 ]; do i=$((i+1)); gzip -c "$text" | wc -c; done) &
(i=0; while [ $i -lt 300 ]; do i=$((i+1)); ls / > /dev/null; done) &
(i=0; while [ $i -lt 10 ]; do i=$((i+1)); md5sum "$text"; sha256sum "$text"; done) > /dev/null &
sort "$text" | uniq | wc -l &
wait
"#;

/// Script in place of QEMU, which starts QEMU without the plugin, and prints the messages that the
/// program expects from the guest.
const WITHOUT_PLUGIN: &str = r#"#!/bin/bash
qemu=QEMU
[ "$1" = --version ] && exec "$qemu" "$1"
arguments=()
while [ $# -gt 0 ]; do
    case $1 in -plugin) shift ;; *) arguments+=("$1") ;; esac
    shift
done
"$qemu" "${arguments[@]}" || exit
printf 'ready\nstatus 0 0\noutput 0 0\nend\n'
"#;

const MIX: &str = "sh $PWD/script $PWD/system-text";

/// Returns the command line that traces a guest. The programs that the scripts start are copied to
/// the guest.
fn capture(words: &str, options: &str) -> String {
    let files = ["gzip", "ls", "md5sum", "sha256sum", "sort", "uniq", "wc"]
        .map(|name| format!("--file /usr/bin/{name}"))
        .join(" ");
    format!("switchcost trace --system -o $out/t.sct {options} {files} -- {words} > /dev/null")
}

fn short() -> Table {
    Table {
        setup: vec![],
        rounds: 1,
        figures: vec![
            Figure::new(
                "from nothing to the trace of a short program in a guest",
                capture("wc $PWD/system-text", ""),
                Quantity::Seconds,
                Bound::AtMost(60.0),
            )
            .unit(" s"),
        ],
    }
}

pub(crate) fn measure(shell: &Shell) -> Vec<Row> {
    let command = "switchcost trace --system -o FILE -- sh SCRIPT TEXT (10 times gzip, 300 times ls, 10 times md5sum and sha256sum, \
                   and sort, at once; TEXT being 2 MB of made-up words), and -- true";
    let what = "capture of a whole system, millions of instructions a second, without booting";
    let found = rounds(shell);
    let rate = |rates: fn(&Rounds) -> Found| found.as_ref().map_err(String::clone).and_then(rates);
    let mut rows = vec![
        Row::new(
            what,
            format!(">= {LEAST_RATE}"),
            command,
            rate(|found| {
                let rate = Spread::new(&found.rates).ok_or("no round")?;
                let without = Spread::new(&found.without_plugin).ok_or("no round")?;
                let measured = format!("{rate}; QEMU without a plugin {without}; {ROUNDS} rounds");
                Ok((measured, Some(rate.median >= LEAST_RATE)))
            }),
        ),
        Row::new(
            format!("{what}, with physical addresses"),
            "side by side",
            command.replace("--system", "--system --physical"),
            rate(|found| {
                let rate = Spread::new(&found.physical).ok_or("no round")?;
                let size = found.physical_size;
                Ok((format!("{rate}; {size:.3} B an instruction"), None))
            }),
        ),
        Row::new(
            "size of the trace of a whole system",
            "<= 0.25 B an instruction",
            command,
            rate(|found| {
                let size = found.size;
                Ok((format!("{size:.3} B an instruction"), Some(size <= 0.25)))
            }),
        ),
    ];
    rows.extend(short().measure(shell));
    rows
}

/// Results of the rounds: the rates of all rounds in millions of instructions per second, and the
/// sizes in the last round in bytes per instruction.
#[derive(Default)]
struct Rounds {
    rates: Vec<f64>,
    physical: Vec<f64>,
    without_plugin: Vec<f64>,
    size: f64,
    physical_size: f64,
}

fn rounds(shell: &Shell) -> Result<Rounds, String> {
    let text = "switchcost-bench --text 2000000 > system-text; mkdir -p without-plugin";
    shell.run(text)?;
    let write = |name: &str, content: &str| {
        std::fs::write(shell.path(name), content).map_err(|error| error.to_string())
    };
    write("script", SCRIPT)?;
    write("without-plugin/qemu-system-x86_64", WITHOUT_PLUGIN)?;
    shell.run(
        "sed -i \"s|=QEMU|=$(command -v qemu-system-x86_64)|\" without-plugin/*; chmod +x without-plugin/*",
    )?;
    let mut found = Rounds::default();
    for _ in 0..ROUNDS {
        let [(rate, millions, size), (physical, _, physical_size)] =
            [round(shell, "")?, round(shell, "--physical")?];
        let without = |words: &str| {
            let line = format!("PATH=$PWD/without-plugin:$PATH {}", capture(words, ""));
            shell.run(&line).map(|run| run.seconds)
        };
        let nothing = without("true")?;
        found
            .without_plugin
            .push(millions / (without(MIX)? - nothing));
        found.rates.push(rate);
        found.physical.push(physical);
        (found.size, found.physical_size) = (size, physical_size);
    }
    Ok(found)
}

/// Traces the mix of programs and the program `true`. Returns the differences in rate (millions of
/// instructions per second) and in millions of instructions, and the trace size of the mix in bytes
/// per instruction.
fn round(shell: &Shell, options: &str) -> Result<(f64, f64, f64), String> {
    let captured = |words: &str| {
        let run = shell.run(&capture(words, options))?;
        let trace = shell.path("out").join("t.sct");
        let kept = shell.path("system.sct");
        std::fs::rename(trace, &kept).map_err(|error| error.to_string())?;
        let info = shell.json("switchcost trace info system.sct --format json")?;
        let [instructions, bytes] = ["instructions", "bytes"].map(|name| need(&info, name));
        Ok::<_, String>((run.seconds, instructions?, bytes?))
    };
    let (nothing_seconds, nothing, _) = captured("true")?;
    let (seconds, instructions, bytes) = captured(MIX)?;
    let millions = (instructions - nothing) / 1e6;
    let rate = millions / (seconds - nothing_seconds);
    Ok((rate, millions, bytes / instructions))
}
