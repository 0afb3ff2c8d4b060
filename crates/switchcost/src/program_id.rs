//! Identifies programs, so that results of one run can be applied to other runs of the same
//! program.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use switchcost_record::trust::search_path;
use xxhash_rust::xxh3::Xxh3;

/// Names of programs whose work is determined by a script, without version numbers.
const INTERPRETERS: [&str; 45] = [
    "ash",
    "awk",
    "bash",
    "beam.smp",
    "bun",
    "csh",
    "dash",
    "deno",
    "dotnet",
    "erl",
    "fish",
    "gawk",
    "groovy",
    "guile",
    "java",
    "julia",
    "ksh",
    "ld-linux-x86-64.so",
    "ld-linux-aarch64.so",
    "lua",
    "luajit",
    "make",
    "mawk",
    "mksh",
    "mono",
    "nawk",
    "node",
    "nodejs",
    "octave",
    "perl",
    "php",
    "php-fpm",
    "pwsh",
    "pypy",
    "python",
    "qemu-x86_64",
    "R",
    "racket",
    "Rscript",
    "ruby",
    "sbcl",
    "sh",
    "tclsh",
    "tcsh",
    "zsh",
];

/// Programs that contain many commands, and choose one by the name under which they are started.
const MULTI_CALL: [&str; 3] = ["busybox", "coreutils", "toybox"];

/// Programs that change a setting, and then execute the command after their own options.
const LAUNCHERS: [&str; 11] = [
    "chrt", "ionice", "nice", "nohup", "numactl", "setarch", "setpriv", "setsid", "stdbuf",
    "taskset", "timeout",
];

/// Options whose value identifies the script, such as the file after `-jar`.
const SCRIPT_OPTIONS: [&str; 2] = ["-jar", "-m"];

/// Maximum depth of scripts whose interpreters are scripts, as in the kernel.
const MOST_SCRIPTS: usize = 5;

/// Maximum number of bytes of each file that enter the digest.
const MOST_BYTES: u64 = 64 << 20;

/// Maximum number of words of a command line that are searched for a script.
const MOST_WORDS: usize = 64;

/// Identity of a program. Costs found in one run apply to any run of a program with an equal
/// identity.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ProgramId {
    /// Build ID of the executed file.
    pub(crate) build_id: String,
    /// Digest of the words that determine the work of an interpreter or of a multi-call program,
    /// and of the files that these words name; `None` for other programs.
    pub(crate) script: Option<String>,
}

/// The program that a command line starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Started {
    pub(crate) id: ProgramId,
    /// Number of words of the command line that identify the program.
    pub(crate) telling: usize,
    /// Name of the script or program that is executed after all launchers, which becomes the task's
    /// name.
    pub(crate) name: OsString,
    /// Name of the executed file, which may become the task's name, too.
    pub(crate) file: OsString,
}

impl ProgramId {
    /// Identifies the program that a command line starts. A script is identified by its interpreter
    /// and its content. Returns `None` if the program is not found, or has no build ID.
    pub(crate) fn identify_command(words: &[OsString]) -> Option<ProgramId> {
        started(words).map(|started| started.id)
    }

    /// Identifies the program that a process runs; `None` if the process cannot be read, or its
    /// file has no build ID.
    pub(crate) fn identify_process(process: u32) -> Option<ProgramId> {
        started_process(process).map(|started| started.id)
    }

    pub(crate) fn into_parts(self) -> (String, Option<String>) {
        (self.build_id, self.script)
    }
}

/// Finds the program that a command line starts, through scripts, `env` and launchers such as
/// `taskset`; `None` if it is not found, or has no build ID.
pub(crate) fn started(words: &[OsString]) -> Option<Started> {
    let folder = Place::own()?;
    let mut words = words.to_vec();
    let mut name = None;
    for _ in 0..MOST_SCRIPTS {
        words = strip_env(strip_launchers(words))?;
        let path = program(words.first()?)?;
        let name = name.get_or_insert_with(|| path.file_name().unwrap_or_default().to_owned());
        let Some(interpreter) = interpreter(&path) else {
            let name = name.clone();
            return Some(Started {
                name,
                ..resolve(&path, &path, &words, &folder)?
            });
        };
        let rest = words.split_off(1);
        words = interpreter;
        words.push(path.into_os_string());
        words.extend(rest);
    }
    None
}

/// Finds the program that a process runs, with its command line; `None` if the process cannot be
/// read, or its file has no build ID.
fn started_process(process: u32) -> Option<Started> {
    let folder = PathBuf::from(format!("/proc/{process}"));
    let words = words_of_process(process)?;
    let file = fs::read_link(folder.join("exe")).ok()?;
    resolve(
        &folder.join("exe"),
        &file,
        &words,
        &Place {
            root: folder.join("root"),
            working: folder.join("cwd"),
            name: fs::read_link(folder.join("cwd")).ok()?,
        },
    )
}

/// Returns the words of a process' command line, after the first, that identify its program.
pub(crate) fn script_of_process(process: u32) -> Vec<OsString> {
    let telling = started_process(process).map_or(0, |started| started.telling);
    let words = words_of_process(process).unwrap_or_default();
    words.into_iter().take(telling).skip(1).collect()
}

fn words_of_process(process: u32) -> Option<Vec<OsString>> {
    let line = fs::read(format!("/proc/{process}/cmdline")).ok()?;
    let line = line.strip_suffix(b"\0").unwrap_or(&line);
    Some(line.split(|byte| *byte == 0).map(word_of_bytes).collect())
}

fn word_of_bytes(bytes: &[u8]) -> OsString {
    OsString::from_vec(bytes.to_vec())
}

/// Root and working directory that a program's words refer to.
struct Place {
    root: PathBuf,
    working: PathBuf,
    /// Path of the working directory within the program's root.
    name: PathBuf,
}

impl Place {
    fn own() -> Option<Place> {
        let working = std::env::current_dir().ok()?;
        Some(Place {
            root: "/".into(),
            name: working.clone(),
            working,
        })
    }

    /// Opens the regular file that a word names; `None` if there is no such file.
    fn open(&self, word: &OsStr) -> Option<File> {
        let path = match Path::new(word).strip_prefix("/") {
            Ok(below) => self.root.join(below),
            Err(_) => self.working.join(word),
        };
        open_regular(&path)
    }
}

/// Opens a regular file; `None` if there is none, or if it is empty. Files without a length in /proc
/// and tracefs, such as kmsg and trace_pipe, block a reader, and lose what is read.
fn open_regular(path: &Path) -> Option<File> {
    let has_content = fs::metadata(path).is_ok_and(|facts| facts.is_file() && facts.len() > 0);
    has_content.then(|| File::open(path).ok())?
}

/// Identifies a program; `None` if its file has no build ID. `program` is a path by which the file
/// can be read, and `file` is the file's name.
fn resolve(program: &Path, file: &Path, words: &[OsString], place: &Place) -> Option<Started> {
    let build_id = switchcost_symbols::build_id(program)?;
    let file = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let name = file.file_name()?.as_bytes();
    let name = word_of_bytes(name.strip_suffix(b" (deleted)").unwrap_or(name));
    let (script, telling) = script(&name, words, place);
    let file = Path::new(words.first()?).file_name()?.to_owned();
    Some(Started {
        id: ProgramId { build_id, script },
        telling,
        name: file.clone(),
        file,
    })
}

/// Returns the digest of the work of an interpreter or a multi-call program (`None` for other
/// programs), and the number of words that identify the program.
fn script(name: &OsStr, words: &[OsString], place: &Place) -> (Option<String>, usize) {
    let words = &words[..words.len().min(MOST_WORDS)];
    let called = |at: usize| words.get(at).and_then(|word| Path::new(word).file_name());
    let is_many =
        |name: Option<&OsStr>| name.is_some_and(|name| MULTI_CALL.iter().any(|of| name == *of));
    let (first, applet) = match () {
        () if !is_many(Some(name)) => (0, None),
        () if is_many(called(0)) => (1, called(1)),
        () => (0, called(0)),
    };
    let of = &words[first.min(words.len())..];
    let is_told = is_interpreter(applet.unwrap_or(name)) || names_script(of, place);
    if !is_told && applet.is_none() {
        return (None, 1);
    }
    let telling = if is_told { telling(of, place) } else { 1 };
    let digest = digest(applet, &of[..telling.min(of.len())], place);
    (Some(digest), first + telling)
}

/// Returns true if a program with this name runs scripts. A version number in the name is ignored.
pub(crate) fn is_interpreter(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    INTERPRETERS.contains(&name)
}

/// Returns true if one of the words after the first is a file that begins with `#!`.
fn names_script(words: &[OsString], place: &Place) -> bool {
    let is_script = |word: &OsString| {
        let mut start = [0; 2];
        let file = place.open(word);
        file.is_some_and(|mut file| file.read_exact(&mut start).is_ok()) && &start == b"#!"
    };
    words.iter().skip(1).any(is_script)
}

/// Returns the number of words that identify the script: up to the script, or all words if no
/// script is found. The script is the value of one of [`SCRIPT_OPTIONS`], or the first file that is
/// neither an interpreter nor the possible value of an option.
fn telling(words: &[OsString], place: &Place) -> usize {
    for at in 1..words.len() {
        let (before, word) = (words[at - 1].to_string_lossy(), &words[at]);
        let may_be_value = at > 1 && before.starts_with('-') && !before.contains('=');
        let is_script = !word.as_bytes().starts_with(b"-")
            && !may_be_value
            && !Path::new(word).file_name().is_some_and(is_interpreter)
            && place.open(word).is_some();
        if is_script || SCRIPT_OPTIONS.contains(&before.as_ref()) {
            return at + 1;
        }
    }
    words.len()
}

/// Returns a digest of the applet of a multi-call program, and of all words but the first. For a
/// word that names a file, the file's content is digested. If no word names a file, the working
/// directory is added.
fn digest(applet: Option<&OsStr>, words: &[OsString], place: &Place) -> String {
    let mut digest = Xxh3::new();
    digest.update(applet.unwrap_or_default().as_bytes());
    let mut has_file = false;
    for word in words.iter().skip(1) {
        digest.update(b"\0");
        match place.open(word) {
            Some(file) => {
                has_file = true;
                let mut contents = Vec::new();
                let _ = file.take(MOST_BYTES).read_to_end(&mut contents);
                digest.update(&contents);
            }
            None => digest.update(word.as_bytes()),
        }
    }
    if !has_file && words.len() > 1 {
        digest.update(b"\0");
        digest.update(place.name.as_os_str().as_bytes());
    }
    format!("{:016x}", digest.digest())
}

/// Removes `env` and the variables that it sets, and splits the words of `-S`; `None` if `env` has
/// any other option.
fn strip_env(mut words: Vec<OsString>) -> Option<Vec<OsString>> {
    while words
        .first()
        .is_some_and(|word| Path::new(word).file_name() == Some(OsStr::new("env")))
    {
        words.remove(0);
        while let Some(word) = words.first().cloned() {
            let text = word.to_str().unwrap_or_default();
            if let Some(split) = text.strip_prefix("-S") {
                let split: Vec<OsString> = split.split_whitespace().map(OsString::from).collect();
                words.splice(..1, split);
            } else if text.starts_with('-') {
                return None;
            } else if text.contains('=') {
                words.remove(0);
            } else {
                break;
            }
        }
    }
    Some(words)
}

/// Removes launchers such as `taskset` and `nice` with their own words, because these do not
/// identify the program.
fn strip_launchers(mut words: Vec<OsString>) -> Vec<OsString> {
    let is_launcher = |word: &OsString| {
        let name = Path::new(word).file_name().and_then(OsStr::to_str);
        name.is_some_and(|name| LAUNCHERS.contains(&name))
    };
    while words.first().is_some_and(is_launcher) {
        let Some(command) = words
            .iter()
            .skip(1)
            .position(|word| program(word).is_some())
        else {
            break;
        };
        words.drain(..=command);
    }
    words
}

/// Returns the words of a script's first line, which the kernel puts before the script's name;
/// `None` for a file that is no script.
fn interpreter(path: &Path) -> Option<Vec<OsString>> {
    let mut start = Vec::new();
    // The kernel reads 256 bytes, too.
    open_regular(path)?.take(256).read_to_end(&mut start).ok()?;
    let line = start
        .strip_prefix(b"#!")?
        .split(|byte| *byte == b'\n')
        .next()?;
    let line = line.trim_ascii();
    let end = line
        .iter()
        .position(u8::is_ascii_whitespace)
        .unwrap_or(line.len());
    let (program, argument) = (&line[..end], line[end..].trim_ascii());
    let argument = (!argument.is_empty()).then(|| word_of_bytes(argument));
    Some(
        [word_of_bytes(program)]
            .into_iter()
            .chain(argument)
            .collect(),
    )
}

/// Returns the path of a command's file. A name without a slash is searched for in `PATH`; `None`
/// if no folder of `PATH` has such a program.
fn program(name: &OsString) -> Option<PathBuf> {
    if name.to_string_lossy().contains('/') {
        return std::path::absolute(name).ok();
    }
    search_path(&std::env::var_os("PATH")?, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn a_command_and_the_process_of_it_are_one_program() {
        let own = std::env::current_exe().expect("it runs");
        let id = ProgramId::identify_command(&[own.into_os_string()]);
        assert_eq!(ProgramId::identify_process(std::process::id()), id);
        assert!(program(&OsString::from("sh")).is_some_and(|path| path.ends_with("sh")));
        for line in [&words("no-such-program")[..], &[]] {
            assert_eq!(ProgramId::identify_command(line), None, "{line:?}");
        }
    }

    #[test]
    fn files_of_the_kernel_are_not_opened() {
        let place = Place::own().expect("a folder");
        for (word, is_opened) in [("/proc/self/status", false), ("/proc/self/exe", true)] {
            assert_eq!(place.open(OsStr::new(word)).is_some(), is_opened, "{word}");
        }
    }

    /// Creates a folder with Python files, scripts for several interpreters, and a file of data.
    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in [
            ("a.py", "print(1)\n"),
            ("b.py", "print(2)\n"),
            ("again.py", "print(1)\n"),
            ("data", "data"),
            ("python3", "#!/bin/sh\nexec /usr/bin/python3 \"$@\"\n"),
            ("s.odd", "#!/opt/odd\n"),
            ("t.odd", "#!/opt/odd\n# another\n"),
            ("u", "#! /usr/bin/env -S python3 -u\n"),
        ] {
            fs::write(folder.path().join(name), text).expect("a file");
        }
        folder
    }

    #[test]
    fn of_an_interpreter_the_script_tells_the_program_and_what_is_given_to_it_does_not() {
        let folder = folder();
        let place = |name: &str| Place {
            root: "/".into(),
            working: folder.path().to_owned(),
            name: name.into(),
        };
        let of = |name: &str, line: &str| script(OsStr::new(name), &words(line), &place("/here")).0;
        let is_same = |name: &str, one: &str, other: &str| of(name, one) == of(name, other);
        for (name, one, other) in [
            (
                "python3.11",
                "python3 a.py",
                "python3.11 ./a.py --fast data",
            ),
            ("python3.11", "python3 a.py", "python3 again.py"),
            (
                "python3.11",
                "python3 -m http.server 80",
                "python3 -m http.server 81",
            ),
            ("java", "java -jar a.py 1", "java -jar a.py 2"),
            (
                "node",
                "node --max-old-space-size=9 a.py 1",
                "node --max-old-space-size=9 a.py 2",
            ),
            ("busybox", "busybox gzip data", "gzip a.py"),
            ("xz", "xz -T1 data", "xz -9 a.py"),
            ("odd", "odd s.odd 1", "odd s.odd 2"),
        ] {
            assert!(is_same(name, one, other), "{one}, {other}");
        }
        for (name, one, other) in [
            ("python3.11", "python3 a.py", "python3 b.py"),
            (
                "python3.11",
                "python3 -W ignore a.py",
                "python3 -W ignore b.py",
            ),
            ("python3.11", "python3 -m a", "python3 -m b"),
            ("dash", "sh -c one", "sh -c two"),
            ("bash", "bash python3 a.py", "bash python3 b.py"),
            ("java", "java -cp a.py One", "java -cp a.py Two"),
            ("java", "java One", "java Two"),
            ("node", "node -r ./data a.py", "node -r ./data b.py"),
            ("busybox", "busybox gzip data", "busybox xz data"),
            ("busybox", "sh a.py", "sh b.py"),
            ("odd", "odd s.odd", "odd t.odd"),
        ] {
            assert!(!is_same(name, one, other), "{one}, {other}");
        }
        assert_eq!(of("xz", "xz -T1 data"), None);
        let module = |folder| {
            script(
                OsStr::new("python3"),
                &words("python3 -m a"),
                &place(folder),
            )
            .0
        };
        assert_ne!(
            module("/here"),
            module("/there"),
            "a module of another folder"
        );
    }

    #[test]
    fn what_a_script_is_for_and_what_env_starts_is_what_is_executed() {
        let lines = [
            ("/usr/bin/env A=1 python3 a.py", Some("python3 a.py")),
            ("env -S python3 a.py", Some("python3 a.py")),
            ("xz env", Some("xz env")),
            ("env -i xz", None),
        ];
        for (line, expected) in lines {
            assert_eq!(strip_env(words(line)), expected.map(words), "{line}");
        }
        for (line, expected) in [
            ("taskset -c 1 sh a", "sh a"),
            ("nice -n 5 timeout -k 3 10 /bin/sh a", "/bin/sh a"),
            ("setpriv --pdeathsig KILL sh", "sh"),
            ("timeout 10 no-such-program", "timeout 10 no-such-program"),
            ("sh taskset", "sh taskset"),
        ] {
            assert_eq!(strip_launchers(words(line)), words(expected), "{line}");
        }
        let folder = folder();
        let of = |name: &str| interpreter(&folder.path().join(name));
        assert_eq!((of("python3"), of("a.py")), (Some(words("/bin/sh")), None));
        let found = of("u").expect("an interpreter");
        assert_eq!(found, ["/usr/bin/env", "-S python3 -u"]);
    }
}
