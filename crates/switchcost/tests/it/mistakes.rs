//! Tests the program's answer to mistakes: one error, one hint, and the exit code, the same on
//! every machine.

use std::fs;

use crate::common::{Place, ran, text};

const MISTAKES: &str = r#"mesure
--colour
measure --colour
measure make
measure --size 64kb
measure --size -4KiB
measure --size 1024GiB
measure --stride 12 --size 64
measure --size 64 --stride 128
measure --budget 5
measure --budget -5s
measure --budget 100ms --size 1GiB --sharing shared
measure --precision 2
measure --precision NaN
measure --mechanism pipes
measure --tasks 1
measure --tasks -1
measure --tasks abc
measure --tasks 99999999999
measure --format xml
measure --pattern random
measure --policy idle
measure --cpu 4095
measure --cpu x
measure --quick --full
measure --confidence 100%
measure --record /proc/none/a.jsonl
measure --record kept.jsonl
measure --output /proc/none/result
measure --size
runtimes cobol
report none.jsonl
report empty.jsonl
report damaged.jsonl
report text.txt
report folder
report other.jsonl
report kept.jsonl -o kept.jsonl
report kept.jsonl --folded stacks
report made.sct
compare made.sct kept.jsonl
compare kept.jsonl
compare kept.jsonl kept.jsonl
compare kept.jsonl none.parquet
compare kept.jsonl simulation.parquet
compare --confidence 20% a b
observe
observe -p 4194305
observe -p x
observe -p 1 --duration 0s
observe --comm no-such-name
observe --cgroup no/such
observe --no-calibration -- no-such-command
observe -a --live
observe -a -d 5
observe -a --every 1ms
observe -p 1 -a
inject -- no-such-command
inject --footprint big -- true
inject --period 1s -- true
inject -p 4194305 --work syscall:read
inject --cpu 4095 -- true
ab
ab --new true -- --nonsense
ab --new true -- --record x
ab --detect 0% --new true
doctor extra
doctor -o page.html
doctor --format html
trace --with "a 'b" -- true
trace info empty.jsonl
trace info kept.jsonl
trace check none.sct
trace import --from foo text.txt
trace import --from lackey text.txt -o new.sct
trace export --to din --pieces 3B made.sct
trace head made.sct -n x
simulate none.sct
simulate empty.jsonl
simulate kept.jsonl
simulate made.sct --design no-such-design
simulate made.sct --design text.txt
simulate made.sct --vary L1D
simulate made.sct --vary L1D.size=3KB
simulate made.sct --vary L9.size=4KiB
simulate made.sct --interval 0
simulate made.sct --range 5..1
simulate made.sct --range 0..99999999999
simulate made.sct --sample 5%
simulate made.sct --quantum 0
simulate made.sct --schedule fair
simulate made.sct --warm-up 5
simulate live --schedule batch:2 -- true
workload backgammon
reproduce everything
reproduce lmbench --cpu 4095
completions tcsh
man nothing
schema nothing"#;

const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Creates files of each kind of record, and some of no kind.
fn prepare(place: &Place) {
    let record = fs::read_to_string(format!("{SAMPLES}/record/tests/samples/measure-2.jsonl"))
        .expect("a sample");
    let other = record.replace("measure/2", "measure/99");
    assert_ne!(record, other);
    let whole: Vec<_> = record.lines().take(3).collect();
    let damaged = format!("{}\nno JSON\n{}\n", whole.join("\n"), whole[2]);
    for (name, content) in [
        ("empty.jsonl", ""),
        ("text.txt", "hello\n"),
        ("other.jsonl", &other),
        ("kept.jsonl", &record),
        ("damaged.jsonl", &damaged),
    ] {
        fs::write(place.path(name), content).expect("a file");
    }
    fs::create_dir(place.path("folder")).expect("a folder");
    let sample = format!("{SAMPLES}/simulation-record/tests/samples/simulation-1.parquet");
    fs::copy(sample, place.path("simulation.parquet")).expect("a sample");
    let made = place.path("made.sct");
    let made = place.run(&[
        "trace",
        "walks",
        "--size",
        "4KiB",
        "--turns",
        "2",
        "-o",
        text(&made),
    ]);
    assert_eq!(made.code, 0, "{}", made.stderr);
}

/// Replaces text that depends on this machine or folder by a placeholder.
fn masked(line: &str) -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let status = read("/proc/self/status");
    let allowed = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .unwrap_or_default();
    let online = read("/sys/devices/system/cpu/online");
    let mut line = line.to_owned();
    for cpus in [online.trim(), allowed.trim()] {
        line = line.replace(&format!("only {cpus}"), "only CPUS");
    }
    let memory = line.split_once(", but only ");
    let memory = memory.filter(|(_, free)| free.ends_with(" is free"));
    match memory {
        Some((needed, _)) => format!("{needed}, but only SIZE is free"),
        None => line,
    }
}

/// Names of files and other things used in the mistakes.
const NAMES: [&str; 11] = [
    "damaged.jsonl",
    "empty.jsonl",
    "kept.jsonl",
    "made.sct",
    "none.jsonl",
    "none.sct",
    "no-such-command",
    "no-such-design",
    "other.jsonl",
    "simulation.parquet",
    "text.txt",
];

/// Appends names that contain the separator between an error and its hint.
fn with_semicolons(text: &str) -> String {
    NAMES.iter().fold(text.to_owned(), |text, name| {
        text.replace(name, &format!("a; {name}"))
    })
}

fn words_of(mistake: &str) -> Vec<String> {
    shlex::split(mistake).expect("words of a shell")
}

fn answer(place: &Place, mistake: &str, words: &[String]) -> String {
    let mut command = place.command(&[]);
    command.args(words).current_dir(place.folder());
    let ran = ran(command.output().expect("the program starts"));
    let of = |start: &str| {
        let mut lines = ran.stderr.lines().filter(|line| line.starts_with(start));
        let line = lines.next();
        assert!(
            line.is_some() && lines.next().is_none(),
            "{mistake}: {}",
            ran.stderr
        );
        masked(line.unwrap_or_default())
    };
    let (error, hint) = (of("error: "), of("hint: "));
    format!(
        "$ switchcost {mistake}\n{error}\n{hint}\n[{}]\n\n",
        ran.code
    )
}

#[test]
fn each_mistake_has_an_error_a_hint_and_an_exit_code() {
    let place = Place::new();
    prepare(&place);
    let answers: String = MISTAKES
        .lines()
        .map(|mistake| answer(&place, mistake, &words_of(mistake)))
        .collect();
    insta::assert_snapshot!(answers);
}

#[test]
fn a_semicolon_in_a_name_begins_no_hint() {
    let (plain, odd) = (Place::new(), Place::new());
    prepare(&plain);
    prepare(&odd);
    for name in NAMES {
        let _ = fs::rename(odd.path(name), odd.path(&with_semicolons(name)));
    }
    let is_named = |mistake: &&str| with_semicolons(mistake) != **mistake;
    for mistake in MISTAKES.lines().filter(is_named) {
        let words = words_of(mistake);
        let odd_words: Vec<_> = words.iter().map(|word| with_semicolons(word)).collect();
        let expected = with_semicolons(&answer(&plain, "", &words));
        // Quoted for a shell, the plain name needs no quotes.
        let quoted = "head -n 3 a; damaged.jsonl";
        let expected = expected.replace(quoted, "head -n 3 'a; damaged.jsonl'");
        assert_eq!(answer(&odd, "", &odd_words), expected, "{mistake}");
    }
}
