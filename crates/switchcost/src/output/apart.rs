//! Checks that the outputs of a command line are different files, because otherwise one output
//! would replace the other, and that none replaces a record, a trace or a design.

use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::destination::{Destination, folder_of};
use crate::cli::outputs::Named;
use crate::exit::{Failure, Outcome};

/// How text files that no report may replace name their format, within the first [`START`] bytes.
const FORMATS: [(&[u8], &str); 2] = [
    (br#""schema":"switchcost.record."#, "record"),
    (br#"schema = "switchcost.design/"#, "design"),
];
const START: usize = 64;
/// How other files that no report may replace begin.
const BEGINNINGS: [(&[u8], &str); 2] = [(b"\x89SCT\r\n\x1a\n", "trace"), (b"PAR1", "Parquet file")];

/// Returns an error if two options name the same file, even by different paths, or one names a
/// record, a trace or a design. A device, a FIFO, or an open file of a process may be named several times.
/// `--record` itself replaces no file at all.
pub(crate) fn check(outputs: &[Named]) -> Outcome {
    let mut seen: Vec<(&'static str, File)> = Vec::new();
    for Named { option, path } in outputs {
        if *option == "--record" && path == Path::new("-") {
            return Err(Failure::usage(
                "a record cannot be written to standard output; name a file with --record",
            ));
        }
        let Some(file) = File::resolve(path) else {
            continue;
        };
        if let Some((first, _)) = seen.iter().find(|(_, other)| other.is(&file)) {
            return Err(Failure::usage(format!(
                "{} is named by both {first} and {option}, and one would replace the other; name another file with {option}",
                path.display()
            )));
        }
        if let Some(kind) = file.lasting_kind().filter(|_| *option != "--record") {
            return Err(Failure::usage(format!(
                "{} is a {kind}, and a {kind} is never overwritten; name another file with {option}",
                path.display()
            )));
        }
        seen.push((option, file));
    }
    Ok(())
}

/// Identity of an output file: its path, and its inode if it exists.
struct File {
    path: PathBuf,
    /// Device and inode number; `None` for a file that does not exist yet.
    node: Option<(u64, u64)>,
}

impl File {
    /// Resolves the path of an output file or folder. Returns `None` for a stream, or if the path
    /// cannot be reached, which is reported later when the file is opened.
    fn resolve(name: &Path) -> Option<File> {
        // A folder can be an output, too.
        let folder = || name.canonicalize().ok().filter(|path| path.is_dir());
        let path = match Destination::resolve(name) {
            Ok(Destination::File(path)) => folder_of(&path)
                .canonicalize()
                .ok()?
                .join(path.file_name()?),
            Ok(Destination::Stdout | Destination::Stream(_)) => return None,
            Err(_) => folder()?,
        };
        let node = fs::metadata(&path)
            .ok()
            .map(|facts| (facts.dev(), facts.ino()));
        Some(File { path, node })
    }

    /// Returns what the file is if it is never overwritten, such as a record.
    fn lasting_kind(&self) -> Option<&'static str> {
        let mut start = [0; START];
        let mut file = fs::File::open(&self.path).ok()?;
        file.read_exact(&mut start).ok()?;
        let has = |bytes: &[u8]| start.windows(bytes.len()).any(|part| part == bytes);
        let named = FORMATS.iter().filter(|(bytes, _)| has(bytes));
        let begun = BEGINNINGS
            .iter()
            .filter(|(bytes, _)| start.starts_with(bytes));
        named.chain(begun).next().map(|(_, kind)| *kind)
    }

    fn is(&self, other: &File) -> bool {
        self.path == other.path || self.node.is_some() && self.node == other.node
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn is_refused(names: &[&Path]) -> bool {
        let outputs = names.iter().map(|path| Named {
            option: "--output",
            path: path.to_path_buf(),
        });
        check(&outputs.collect::<Vec<_>>()).is_err()
    }

    #[test]
    fn a_record_trace_or_design_is_not_replaced() {
        let folder = tempfile::tempdir().expect("room");
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
        for kind in
            "measure_record observation_record injection_record simulation_record trace_file"
                .split(' ')
        {
            let file = folder.path().join(kind);
            fs::copy(corpus.join(kind).join("small"), &file).expect("a file");
            assert!(is_refused(&[&file]), "{kind}");
        }
        let design = folder.path().join("design");
        let text = switchcost_design::shipped::text("mogul-1a").expect("a built-in design");
        fs::write(&design, text).expect("room");
        assert!(is_refused(&[&design]));
        let report = folder.path().join("report");
        fs::write(&report, r#"{"schema":"switchcost.measure/1"}"#.repeat(9)).expect("room");
        assert!(!is_refused(&[&report, folder.path()]));
    }

    #[test]
    fn one_file_by_two_names_is_refused() {
        let folder = tempfile::tempdir().expect("room");
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("folder")).expect("room");
        fs::write(at("there"), "").expect("room");
        fs::hard_link(at("there"), at("hard")).expect("room");
        symlink("there", at("soft")).expect("room");
        symlink("new", at("dangling")).expect("room");
        symlink("folder", at("to-folder")).expect("room");
        for (first, seconds) in [
            ("new", "new ./new folder/../new dangling"),
            ("there", "there hard soft"),
            ("hard", "soft"),
            ("folder/new", "to-folder/new"),
            ("folder", "to-folder"),
        ] {
            for second in seconds.split(' ') {
                let [first, second, other] = [first, second, "other"].map(at);
                assert!(is_refused(&[&first, &second]), "{second:?} {first:?}");
                assert!(
                    is_refused(&[&other, &second, &first]),
                    "{second:?} {first:?}"
                );
            }
        }
        for second in ["newer", "there", "folder/new"] {
            assert!(!is_refused(&[&at("new"), &at(second)]), "{second}");
        }
        assert!(!is_refused(&[&at("nowhere/a"), &at("nowhere/a")]));
    }

    #[test]
    fn what_takes_several_outputs_may_be_named_twice() {
        let folder = tempfile::tempdir().expect("room");
        let fifo = folder.path().join("fifo");
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RUSR).expect("a FIFO");
        for name in ["/dev/null", "/dev/stdout", "/dev/stderr"]
            .map(Path::new)
            .into_iter()
            .chain([&*fifo])
        {
            assert!(!is_refused(&[name, name]), "{}", name.display());
        }
    }
}
