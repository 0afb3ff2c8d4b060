//! `switchcost trace --system`: how fast a whole guest is captured once it has booted, beside QEMU without a plugin, and how soon two
//! programs are.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::input;
use crate::program::{Program, number};
use crate::row::Row;
use crate::run::run;
use crate::spread::Spread;

const QEMU: &str = "qemu-system-x86_64";
const TEXT_BYTES: usize = 2_000_000;
/// Programs that compute beside one that starts others: what is new to QEMU it has to translate, which takes longest.
const SCRIPT: &str = r#"text=$1
(i=0; while [ $i -lt 10 ]; do i=$((i+1)); gzip -c "$text" | wc -c; done) &
(i=0; while [ $i -lt 300 ]; do i=$((i+1)); ls / > /dev/null; done) &
(i=0; while [ $i -lt 10 ]; do i=$((i+1)); md5sum "$text"; sha256sum "$text"; done) > /dev/null &
sort "$text" | uniq | wc -l &
wait
"#;
const STARTED: [&str; 7] = ["gzip", "ls", "md5sum", "sha256sum", "sort", "uniq", "wc"];
const ROUNDS: usize = 3;
/// Millions of instructions a second.
const LEAST_RATE: f64 = 300.0;
const MOST_BYTES: f64 = 0.25;
const LONGEST: Duration = Duration::from_secs(60);

/// QEMU as the program starts it, without the plugin, and what the guest would have passed to it.
const WITHOUT_PLUGIN: &str = r#"[ "$1" = --version ] && exec "$qemu" "$1"
arguments=()
while [ $# -gt 0 ]; do
    case $1 in -plugin) shift ;; *) arguments+=("$1") ;; esac
    shift
done
"$qemu" "${arguments[@]}" || exit
printf 'ready\nstatus 0 0\noutput 0 0\nend\n'
"#;

/// One capture.
struct Captured {
    elapsed: Duration,
    instructions: f64,
    bytes: f64,
}

impl Captured {
    /// Bytes an instruction.
    fn size(&self) -> f64 {
        self.bytes / self.instructions
    }
}

pub(crate) fn all(program: &Program) -> Vec<Row> {
    let command = "switchcost trace --system -o FILE -- sh SCRIPT TEXT (10 times gzip, 300 times ls, 10 times md5sum and sha256sum, \
                   and sort, at once; TEXT being 2 MB of made-up words), and -- true"
        .to_owned();
    match rows(program, &command) {
        Ok(rows) => rows,
        Err(why) => {
            vec![Row::failed(
                "capture of a whole system",
                ">= 300 million instructions a second",
                why,
                command,
            )]
        }
    }
}

fn rows(program: &Program, command: &str) -> Result<Vec<Row>, String> {
    let text = program.path("system-text");
    input::write_text(&text, TEXT_BYTES).map_err(|error| error.to_string())?;
    let script = program.path("system-script");
    fs::write(&script, SCRIPT).map_err(|error| error.to_string())?;
    let (text, script) = (text.display().to_string(), script.display().to_string());
    let mix = ["sh", &script, &text];
    let path = path_without_plugin(&program.path("without-plugin"))?;
    let (mut rates, mut rates_physical, mut rates_without) = (Vec::new(), Vec::new(), Vec::new());
    let (mut size, mut size_physical) = (0.0, 0.0);
    for _ in 0..ROUNDS {
        let [(rate, mixed, millions), (rate_physical, physical, _)] = [
            round(program, &mix, &[])?,
            round(program, &mix, &["--physical"])?,
        ];
        let nothing_without = elapsed(program, &["true"], &[], Some(&path))?;
        let mixed_without = elapsed(program, &mix, &[], Some(&path))?;
        rates.push(rate);
        rates_physical.push(rate_physical);
        rates_without
            .push(millions / (mixed_without.as_secs_f64() - nothing_without.as_secs_f64()));
        (size, size_physical) = (mixed.size(), physical.size());
    }
    let short = capture(program, &["wc", &text], &[])?;
    let rate = Spread::of(&rates).ok_or("no round")?;
    let rate_physical = Spread::of(&rates_physical).ok_or("no round")?;
    let rate_without = Spread::of(&rates_without).ok_or("no round")?;
    Ok(vec![
        Row {
            what: "capture of a whole system, millions of instructions a second, without booting"
                .to_owned(),
            must_reach: ">= 300".to_owned(),
            measured: format!("{rate}; QEMU without a plugin {rate_without}; {ROUNDS} rounds"),
            is_met: Some(rate.median >= LEAST_RATE),
            command: format!("{command}; QEMU's own cache plugin is not in Debian's package"),
        },
        Row {
            what: "the same with where its pages lie (--physical)".to_owned(),
            must_reach: "side by side".to_owned(),
            measured: format!(
                "{rate_physical}; {size_physical:.3} B an instruction; {ROUNDS} rounds"
            ),
            is_met: None,
            command: command.replace("--system", "--system --physical"),
        },
        Row {
            what: "size of the trace of a whole system".to_owned(),
            must_reach: "<= 0.25 B an instruction".to_owned(),
            measured: format!("{size:.3} B an instruction"),
            is_met: Some(size <= MOST_BYTES),
            command: command.to_owned(),
        },
        Row {
            what: "from nothing to the trace of a short program in a guest".to_owned(),
            must_reach: "<= 60 s".to_owned(),
            measured: format!("{:.1} s", short.elapsed.as_secs_f64()),
            is_met: Some(short.elapsed <= LONGEST),
            command: "switchcost trace --system -o FILE -- wc TEXT".to_owned(),
        },
    ])
}

/// Millions of instructions a second that the mix of programs takes beyond what it takes to run nothing, its capture, and how many
/// millions these are.
fn round(
    program: &Program,
    mix: &[&str],
    options: &[&str],
) -> Result<(f64, Captured, f64), String> {
    let nothing = capture(program, &["true"], options)?;
    let mixed = capture(program, mix, options)?;
    let millions = (mixed.instructions - nothing.instructions) / 1e6;
    Ok((
        millions / (mixed.elapsed.as_secs_f64() - nothing.elapsed.as_secs_f64()),
        mixed,
        millions,
    ))
}

/// A PATH whose first folder has a QEMU that drops the plugin.
fn path_without_plugin(folder: &Path) -> Result<OsString, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let qemu = folders
        .iter()
        .map(|folder| folder.join(QEMU))
        .find(|path| path.is_file());
    let qemu = qemu.ok_or("no QEMU in PATH")?;
    let script = folder.join(QEMU);
    let write = || {
        fs::create_dir_all(folder)?;
        fs::write(
            &script,
            format!("#!/bin/bash\nqemu='{}'\n{WITHOUT_PLUGIN}", qemu.display()),
        )?;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755))
    };
    write().map_err(|error| format!("{}: {error}", script.display()))?;
    folders.insert(0, folder.to_owned());
    std::env::join_paths(folders).map_err(|error| error.to_string())
}

fn capture(program: &Program, words: &[&str], options: &[&str]) -> Result<Captured, String> {
    let elapsed = elapsed(program, words, options, None)?;
    let trace = program.path("system.sct").display().to_string();
    let info = program.run(&["trace", "info", &trace])?.json;
    let at = |name: &str| number(&info, name).ok_or(format!("trace info names no {name}"));
    Ok(Captured {
        elapsed,
        instructions: at("instructions")?,
        bytes: at("bytes")?,
    })
}

/// How long a capture takes, with the QEMU of a PATH.
fn elapsed(
    program: &Program,
    words: &[&str],
    options: &[&str],
    path: Option<&OsString>,
) -> Result<Duration, String> {
    let trace = program.path("system.sct");
    // A trace is never written over another.
    let _ = fs::remove_file(&trace);
    let trace = trace.display().to_string();
    let started = STARTED.map(|name| format!("/usr/bin/{name}"));
    let files: Vec<&str> = started.iter().flat_map(|path| ["--file", path]).collect();
    let mut command = program.command(
        &[
            &["trace", "--system", "-o", &trace],
            options,
            &files[..],
            &["--"],
            words,
        ]
        .concat(),
    );
    command.envs(path.map(|path| ("PATH", path)));
    Ok(run(command, None)?.wall)
}
