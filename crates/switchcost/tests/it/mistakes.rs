//! Tests the program's answer to mistakes: one error, one hint, and the exit code, the same on
//! every machine.

use std::fs;
use std::os::unix::fs::symlink;

use crate::common::{MEASUREMENT, Place, SIMULATION, repository, status_field};

const MISTAKES: &str = r#"mesure
--colour
measure --colour
measure make
measure --size 64kb
measure --size -4KiB
measure --size 1024GiB
measure --size 4
measure --stride 12 --size 64
measure --size 64 --stride 128
measure --size 64 --pattern chase --stride 8
measure --budget 5
measure --budget -5s
measure --budget 100ms --size 1GiB --sharing shared
measure --precision 2
measure --precision NaN
measure --precision 1
measure --precision 0%
measure --precision -1%
measure --precision inf%
measure --precision 100%
measure --precision ''
measure --between processes
measure --tasks 1
measure --tasks 65
measure --tasks -1
measure --tasks abc
measure --tasks 99999999999
measure --format xml
measure --pattern random
measure --access execute
measure --policy idle
measure --cpu 4095
measure --cpu x
measure --cpu 0 --placement pair
measure --cpu 0,0 --placement matrix
measure --cpu 4095-8191 --placement matrix
measure --concurrent --size 64KiB --cpu 0
measure --prices new.json --cpu 4095
measure --prices new.json -o text.txt
measure --quick --full
measure --confidence 100%
measure --confidence 40%
measure --max-repetitions 7 --confidence 99%
measure --mechanism preempt --tasks 3
measure --mechanism mutex-condvar-held --tasks 3
measure --mechanism fiber --between process
measure --size 0 --pause 10s --budget 5s
measure --size 1GiB --away 1024GiB
measure --size 64KiB --away 12
measure --size 0 --reload
measure --reload --size 64KiB --mechanism yield
measure --reload --size 64KiB --mechanism preempt
measure --reload --size 64KiB --mechanism fiber
measure --reload --size 64KiB --mechanism synthetic
measure --reload --size 64KiB --sharing shared
measure --record /proc/none/a.jsonl
measure --record kept.jsonl
measure --record new.jsonl -o ./new.jsonl --mechanism fiber
measure --runtime go/pipe
measure --mechanism pipe --noise 1000 --record new.jsonl
measure --mechanism synthetic --history nowhere --record new.jsonl
measure --output /proc/none/result
measure --size
runtimes cobol
report none.jsonl
report
report none.parquet
report empty.parquet
report empty.jsonl
report damaged.jsonl
report text.txt
report folder
report other.jsonl
report kept.jsonl -o kept.jsonl
report kept.jsonl -o made.sct
report kept.jsonl -o simulation.parquet
report kept.jsonl --folded stacks
report kept.jsonl kept.jsonl --pprof new.jsonl
report simulation.parquet --history .
report kept.jsonl simulation.parquet --format json
report made.sct
compare made.sct kept.jsonl
compare kept.jsonl
compare kept.jsonl kept.jsonl
compare kept.jsonl none.parquet
compare none.parquet simulation.parquet
compare folder folder
compare a b --fail-above 5
compare a b --fail-above -1%
compare a b --fail-above nan%
compare a b --fail-above inf%
compare a b --fail-above 1e999%
compare a b --fail-above %
compare a b --fail-above ''
compare kept.jsonl simulation.parquet
compare simulation.parquet simulation.parquet --across policy
compare a b --junit text.txt --markdown text.txt
compare --confidence 20% a b
compare --confidence 49% a b
compare --confidence 99.99999% a b
compare --confidence 100% a b
compare --confidence 90 a b
compare --confidence nan% a b
observe
observe -p 4194305
observe -p x
observe -p 0
observe -p '1 x'
observe -p ''
observe -p '7;8'
observe -p -1
observe -p nginx
observe -p 1 --duration 0s
observe --comm no-such-name
observe --cgroup no/such
observe --no-calibration -- no-such-command
observe -a --live
observe -a -d 5
observe -a --every 1ms
observe -a --every 1s --format csv
observe -p 1 -a
observe --no-bpf --no-calibration --record kept.jsonl -- touch mark
observe --folded new.jsonl --record new.jsonl -- touch mark
observe --no-bpf --no-calibration --rate-cmd 'echo many' -- touch mark
inject -- no-such-command
inject --footprint big -- true
inject --period 1s -- true
inject --period 49us -- true
inject --period 101ms -- true
inject --period 0 -- true
inject --period often -- true
inject -p 4194305 --work syscall:read
inject --cpu 4095 -- true
ab
ab --new true -- --nonsense
ab --new true -- --record x
ab --new true --record kept.jsonl -- --quick
ab --detect 0% --new true
doctor extra
doctor -o page.html
doctor --format html
doctor --open
trace --with "a 'b" -- true
trace --slice 3ms -- true
trace --system --quantum 100000 -- true
trace --order as-run --seed 5 -- true
trace info empty.jsonl
trace info none.sct
trace info kept.jsonl
trace check none.sct
trace export --to foo made.sct
trace import --from lackey text.txt -o new.sct
trace walks --size 0 -o new.sct
trace walks --size 4KiB -o -
trace walks --size 4KiB --stride 12B -o new.sct
trace walks --size 4KiB --alone -o new.sct
trace walks --size 4KiB --system --mechanism preempt -o new.sct
trace walks --size 4KiB --system --tasks 1 -o new.sct
trace walks --size 4KiB --system --instructions 13 -o new.sct
trace walks --size 4KiB --system --append a --append b -o new.sct
trace export --to din --pieces 3B made.sct
trace export --to din --process 9 made.sct -o text.txt
trace export --to lackey --pieces 32B made.sct
trace head made.sct -n x
simulate made.sct --record -
simulate none.sct
simulate
simulate empty.jsonl
simulate kept.jsonl
simulate made.sct --design no-such-design
simulate made.sct --design text.txt
simulate made.sct --design bad.toml
simulate --explain --design latin1.toml
simulate empty.jsonl --design no-such-design
simulate made.sct --vary L1D
simulate made.sct --vary L1D.size=3KB
simulate made.sct --vary L9.size=4KiB
simulate --design list --output self
simulate --design list --output folder
simulate made.sct --interval 0
simulate made.sct --interval ''
simulate made.sct --interval x5
simulate made.sct --interval 10x
simulate made.sct --interval 10x0
simulate made.sct --interval 10x100001
simulate made.sct --interval -1
simulate made.sct --interval 1e3
simulate made.sct --range 5..1
simulate made.sct --range ''
simulate made.sct --range 5
simulate made.sct --range 5-70
simulate made.sct --range a..b
simulate made.sct --range -1..5
simulate made.sct --range 1e3..2e3
simulate made.sct --range 5..5
simulate made.sct --range 0..99999999999
simulate made.sct --range 8192..
simulate made.sct --quantum 0
simulate made.sct --quantum 500
simulate made.sct --quantum 4ms
simulate made.sct --quantum 1us --design mogul-1a
simulate made.sct --page-faults 0ms --design mogul-1a
simulate made.sct --quantum 1000,2000 --design mogul-1a --record new.parquet
simulate made.sct --at-once 20
simulate made.sct --design mogul-1a --record kept.jsonl
simulate made.sct --order as-run
simulate made.sct --processes all
simulate made.sct --cpu 0
simulate made.sct made.sct --quantum 100000
simulate made.sct made.sct --page-faults 20ms
simulate made.sct ./made.sct
simulate live --quantum 4ms -- true
simulate live --order as-run --quantum 5000 -- true
simulate live --quantum 5000,6000 -- true
simulate live --range ..5 -- true
simulate made.sct --schedule fair
simulate made.sct --warm-up 5
simulate live --schedule batch:2 -- true
simulate live --page-faults 20ms -- true
workload backgammon
reproduce everything
reproduce lmbench --cpu 4095
reproduce lmbench -o text.txt
reproduce lmbench --claims -o folder
reproduce lmbench --with text.txt -o new.sct
reproduce blog --judge /dev/zero
reproduce blog --with /dev/zero
completions tcsh
man nothing
schema nothing"#;

/// Creates records of `measure` and `simulate`, damaged records, a trace, and files that are no
/// records.
fn prepare(place: &Place) {
    let record = fs::read_to_string(repository(MEASUREMENT)).expect("a sample");
    let other = record.replace("measure/2", "measure/99");
    assert_ne!(record, other);
    let bad = include_str!("../../../../designs/mogul-1a.toml").replacen("64KiB", "100B", 1);
    assert!(bad.contains("100B"), "the design has another size");
    let whole: Vec<_> = record.lines().take(3).collect();
    let damaged = format!("{}\nno JSON\n{}\n", whole.join("\n"), whole[2]);
    for (name, content) in [
        ("empty.jsonl", ""),
        ("empty.parquet", ""),
        ("bad.toml", &bad),
        ("text.txt", "hello\n"),
        ("other.jsonl", &other),
        ("kept.jsonl", &record),
        ("damaged.jsonl", &damaged),
    ] {
        fs::write(place.path(name), content).expect("a file");
    }
    fs::write(place.path("latin1.toml"), b"name = \"caf\xe9\"\n").expect("a file");
    fs::create_dir(place.path("folder")).expect("a folder");
    symlink("self", place.path("self")).expect("a link");
    place.copy(SIMULATION, "simulation.parquet");
    place
        .run("trace walks --size 4KiB --turns 2 -o made.sct")
        .assert_code(0);
}

/// Replaces text that depends on this machine by a placeholder.
fn masked(line: &str) -> String {
    let allowed = status_field(std::process::id(), "Cpus_allowed_list:");
    let online = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let mut line = line.to_owned();
    for cpus in [online.trim(), &allowed] {
        for of in ["online", "allowed"] {
            line = line.replace(&format!("({of}: {cpus})"), &format!("({of}: CPUS)"));
        }
    }
    match line.split_once(", but only ") {
        Some((needed, free)) if free.ends_with(" is free") => {
            format!("{needed}, but only SIZE is free")
        }
        _ => line,
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

/// Inserts a semicolon, which separates an error from its hint, into each of [`NAMES`] in a text.
fn with_semicolons(text: &str) -> String {
    NAMES.iter().fold(text.to_owned(), |text, name| {
        text.replace(name, &format!("a; {name}"))
    })
}

fn answer(place: &Place, words: &[String]) -> String {
    let ran = place.run(words);
    let of = |start: &str| {
        let mut lines = ran.stderr.lines().filter(|line| line.starts_with(start));
        let line = lines.next();
        let is_alone = line.is_some() && lines.next().is_none();
        assert!(is_alone, "{words:?}: {}", ran.stderr);
        let folder = place.folder().display().to_string();
        masked(line.unwrap_or_default()).replace(&folder, "FOLDER")
    };
    let (error, hint) = (of("error: "), of("hint: "));
    format!("{error}\n{hint}\n[{}]\n\n", ran.code)
}

/// A semicolon in a name must begin no hint.
#[test]
fn each_mistake_has_an_error_a_hint_and_an_exit_code() {
    let (place, odd) = (Place::new(), Place::new());
    prepare(&place);
    prepare(&odd);
    for name in NAMES {
        let _ = fs::rename(odd.path(name), odd.path(&with_semicolons(name)));
    }
    let mut answers = String::new();
    for mistake in MISTAKES.lines() {
        let words = shlex::split(mistake).expect("words of a shell");
        let plain = answer(&place, &words);
        answers += &format!("$ switchcost {mistake}\n{plain}");
        let odd_words: Vec<_> = words.iter().map(|word| with_semicolons(word)).collect();
        if odd_words == words {
            continue;
        }
        // Quoted for a shell, the plain name needs no quotes.
        let quoted = "head -n 3 a; damaged.jsonl";
        let expected = with_semicolons(&plain).replace(quoted, "head -n 3 'a; damaged.jsonl'");
        assert_eq!(answer(&odd, &odd_words), expected, "{mistake}");
    }
    insta::assert_snapshot!(answers);
    let records = fs::read_dir(place.path("switchcost/runs")).map_or(0, Iterator::count);
    assert_eq!(records, 0, "no record of what was not begun");
    for name in ["new.sct", "new.parquet", "new.jsonl", "mark"] {
        assert!(!place.path(name).exists(), "{name}");
    }
    let kept = fs::read_to_string(repository(MEASUREMENT)).expect("a sample");
    assert_eq!(
        (place.read("kept.jsonl"), place.read("text.txt").as_str()),
        (kept, "hello\n")
    );
}
