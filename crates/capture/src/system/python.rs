//! Finds the parts of Python's standard library that go into a guest. Python finds its library by
//! the path of its interpreter.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use switchcost_host::own_environment::tool;

/// Facts that a Python interpreter reports about itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Python {
    /// Path of the interpreter, not of a script that selects one, such as that of `pyenv`.
    pub(super) program: PathBuf,
    /// Folders of the standard library.
    libraries: Vec<PathBuf>,
}

/// Python code that prints the interpreter's folders. The code works from Python 2.7 on, and
/// imports nothing from the current folder.
const ASK: &str = "import sys, sysconfig; p = sysconfig.get_paths(); print('\\n'.join([sys.executable, p['stdlib'], p['platstdlib']]))";

/// Names of folders that are left out: tests, files for building extensions, graphical toolkits,
/// and installed packages.
const LEFT_OUT: [&str; 10] = [
    "test",
    "tests",
    "site-packages",
    "dist-packages",
    "idlelib",
    "tkinter",
    "turtledemo",
    "lib2to3",
    "ensurepip",
    "pydoc_data",
];

/// Maximum size of a standard library in bytes. Real ones are smaller.
pub(super) const MOST_BYTES: u64 = 160 << 20;

/// Whether a program has the name of a Python interpreter: `python3`, `python3.12`.
pub(super) fn is_python(program: &Path) -> bool {
    let name = program
        .file_name()
        .and_then(OsStr::to_str)
        .unwrap_or_default();
    name.strip_prefix("python").is_some_and(|version| {
        version
            .bytes()
            .all(|byte| byte == b'.' || byte.is_ascii_digit())
    })
}

impl Python {
    /// Asks an interpreter for its path and folders; `None` if it does not answer.
    pub(super) fn ask(program: &Path) -> Option<Python> {
        let asked = tool(program)
            .args(["-E", "-s", "-S", "-c", ASK])
            .stdin(Stdio::null())
            .output()
            .ok()?;
        let text = String::from_utf8(asked.stdout)
            .ok()
            .filter(|_| asked.status.success())?;
        let mut lines = text.lines().map(PathBuf::from);
        let program = lines.next().filter(|program| program.is_absolute())?;
        let mut libraries: Vec<PathBuf> = lines.filter(|library| library.is_dir()).collect();
        libraries.dedup();
        Some(Python { program, libraries })
    }

    /// Returns the files of the standard library, up to [`MOST_BYTES`], and whether these are all
    /// files.
    pub(super) fn files(&self) -> (Vec<PathBuf>, bool) {
        let mut files = Vec::new();
        self.libraries
            .iter()
            .for_each(|library| gather(library, &mut files));
        let mut bytes = 0;
        let within: Vec<PathBuf> = files
            .iter()
            .filter(|path| fits(path, &mut bytes))
            .cloned()
            .collect();
        let has_all = within.len() == files.len();
        (within, has_all)
    }
}

fn fits(path: &Path, bytes: &mut u64) -> bool {
    *bytes += path.metadata().map_or(0, |facts| facts.size());
    *bytes <= MOST_BYTES
}

fn gather(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    paths.sort();
    for path in paths.iter().filter(|path| is_wanted(path)) {
        if path.is_dir() {
            gather(path, files)
        } else {
            files.push(path.clone())
        }
    }
}

fn is_wanted(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    if path.is_dir() {
        return !LEFT_OUT.contains(&name) && !name.starts_with("config-");
    }
    // Code compiled without -O is kept. Links that lead nowhere are left out.
    !name.contains(".opt-") && !name.ends_with(".a") && path.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interpreter_is_known_by_its_name() {
        let is = |path: &str| is_python(Path::new(path));
        assert!(is("/usr/bin/python3") && is("python") && is("/opt/python3.12"));
        assert!(!is("/usr/bin/python3-config") && !is("/usr/bin/perl"));
    }

    #[test]
    fn of_the_library_comes_what_programs_import() {
        let folder = tempfile::tempdir().expect("a folder");
        let library = folder.path().to_owned();
        for file in [
            "os.py",
            "__pycache__/os.cpython-311.pyc",
            "__pycache__/os.cpython-311.opt-1.pyc",
            "test/x.py",
            "a/b.so",
        ] {
            let path = library.join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, b"text").expect("written");
        }
        let python = Python {
            program: "/bin/python3".into(),
            libraries: vec![library.clone()],
        };
        let wanted =
            ["__pycache__/os.cpython-311.pyc", "a/b.so", "os.py"].map(|file| library.join(file));
        assert_eq!(python.files(), (wanted.to_vec(), true));
    }
}
