//! Every verb that writes something, on inputs that take no time; and what may be there when it was stopped somewhere.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::{Place, text};

/// What a verb leaves, and what may be left of it when the verb was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    /// A result that is the same each time: all of it, or nothing.
    Result,
    /// A result that differs: it ends where a result ends, or is not there.
    Reading,
    /// A record: whole lines or nothing.
    Record,
    /// A trace: whole chunks or nothing.
    Trace,
}

/// A command line and its products.
pub(crate) struct Verb {
    pub(crate) words: Vec<String>,
    made: Vec<(PathBuf, Made)>,
    /// The results of a run that nothing stopped.
    whole: Vec<Vec<u8>>,
}

/// Short inputs, and the verbs on them.
pub(crate) fn verbs(place: &Place) -> Vec<Verb> {
    let at = |name: &str| place.path(name);
    fs::create_dir(at("made")).expect("a folder");
    fs::create_dir(at("tmp")).expect("a folder");
    let (trace, din) = (at("in.sct"), at("in.din"));
    let walks = ["trace", "walks", "--size", "4KiB", "--turns", "40"];
    assert_eq!(place.run(&[&walks[..], &["-o", text(&trace)]].concat()).code, 0);
    let export = ["trace", "export", "--to", "din", text(&trace), "-o"];
    assert_eq!(place.run(&[&export[..], &[text(&din)]].concat()).code, 0);
    let sample = |path: &str| format!("{}/../{path}", env!("CARGO_MANIFEST_DIR"));
    let (measured, simulated) = (
        sample("record/tests/samples/measure-1.jsonl"),
        sample("simulation-record/tests/samples/simulation-1.parquet"),
    );
    let copy = at("copy.jsonl");
    let text_of_copy =
        fs::read_to_string(&measured).expect("a sample").replacen("\"seed\":15991505862669637042", "\"seed\":1", 1);
    fs::write(&copy, text_of_copy).expect("room");
    let made = |name: &str| at("made").join(name);
    let (page, table, sct) = (made("page.html"), made("table.txt"), made("made.sct"));
    let (jsonl, parquet) = (made("run.jsonl"), made("run.parquet"));
    let fiber = ["--mechanism", "fiber", "--max-repetitions", "6", "--no-counters"];
    let simulate = ["--design", "mogul-1a", "--record", text(&parquet), "--out", text(&table)];
    let simulated_only = [(&parquet, Made::Record), (&table, Made::Reading)];
    let mut verbs = vec![
        verb(&["report", &measured, "--out", text(&table)], &[(&table, Made::Result)]),
        verb(&["report", &measured, &simulated, "-o", text(&page)], &[(&page, Made::Result)]),
        verb(&["compare", &measured, text(&copy), "--out", text(&table)], &[(&table, Made::Result)]),
        verb(&["doctor", "--out", text(&table)], &[(&table, Made::Reading)]),
        verb(&[&walks[..], &["-o", text(&sct)]].concat(), &[(&sct, Made::Trace)]),
        verb(&["trace", "import", "--from", "din", text(&din), "-o", text(&sct)], &[(&sct, Made::Trace)]),
        verb(&[&export[..], &[text(&table)]].concat(), &[(&table, Made::Result)]),
        verb(&["trace", "info", text(&trace), "--out", text(&table)], &[(&table, Made::Result)]),
        verb(&[&["simulate", text(&trace)][..], &simulate].concat(), &simulated_only),
        verb(
            &[&["measure", "--record", text(&jsonl), "--out", text(&table)][..], &fiber].concat(),
            &[(&jsonl, Made::Record), (&table, Made::Reading)],
        ),
    ];
    let set = ["workload", "client-server", "--switches", "20", "-o", text(&sct)];
    verbs.extend([
        verb(&["trace", "-o", text(&sct), "--", "true"], &[(&sct, Made::Trace)]),
        verb(&[&["simulate", "live"][..], &simulate, &["--", "true"]].concat(), &simulated_only),
        verb(&[&set[..], &simulate].concat(), &[&[(&sct, Made::Trace)][..], &simulated_only].concat()),
    ]);
    verbs
}

fn verb(words: &[&str], made: &[(&PathBuf, Made)]) -> Verb {
    let words = words.iter().map(|&word| word.to_owned()).collect();
    Verb { words, made: made.iter().map(|(path, made)| (path.to_path_buf(), *made)).collect(), whole: Vec::new() }
}

impl Verb {
    /// Whether it runs other programs and traces them.
    pub(crate) fn is_capture(&self) -> bool {
        self.words[0] == "workload" || self.words.iter().any(|word| word == "--")
    }

    /// Runs it, and keeps what it makes when nothing stops it.
    pub(crate) fn run_whole(&mut self, place: &Place) {
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        let ran = super::ran(self.settled(place, place.command(&words)).output().expect("the program starts"));
        assert!(matches!(ran.code, 0 | 3 | 4), "{words:?}: {} {}", ran.code, ran.stderr);
        self.whole = self.made.iter().map(|(path, _)| fs::read(path).expect("it was made")).collect();
        self.clear();
    }

    /// What it runs is to have its temporary files in the place.
    pub(crate) fn settled(&self, place: &Place, mut command: Command) -> Command {
        command.env("XDG_STATE_HOME", place.folder()).env("TMPDIR", place.path("tmp"));
        command
    }

    /// Makes room for the next run.
    pub(crate) fn clear(&self) {
        for (path, _) in &self.made {
            let _ = fs::remove_file(path);
        }
    }

    /// Fails where something is left that is neither whole nor nothing, or that has another name.
    pub(crate) fn check_rest(&self, place: &Place, told: &str) {
        for ((path, made), whole) in self.made.iter().zip(&self.whole) {
            let Ok(found) = fs::read(path) else { continue };
            let name = text(path);
            match made {
                Made::Result => assert!(found == *whole, "{told}: half a result in {name}"),
                Made::Reading => assert!(found.ends_with(b"\n"), "{told}: half a result in {name}"),
                // Stopped before its first line: it holds nothing, and hides nothing.
                Made::Record | Made::Trace if found.is_empty() => (),
                Made::Record => assert_read(place, &["report", name], told),
                Made::Trace => assert_read(place, &["trace", "info", name], told),
            }
        }
        let names = fs::read_dir(place.path("made")).expect("a folder").flatten().map(|entry| entry.path());
        let foreign: Vec<PathBuf> = names.filter(|path| self.made.iter().all(|(made, _)| made != path)).collect();
        assert!(foreign.is_empty(), "{told}: left behind: {foreign:?}");
    }
}

/// Whether all that is there can be read, or all but a last piece.
fn assert_read(place: &Place, words: &[&str], told: &str) {
    let ran = place.run(words);
    assert!(matches!(ran.code, 0 | 3), "{told}: {words:?}: {} {}", ran.code, ran.stderr);
}
