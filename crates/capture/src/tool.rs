//! Where Valgrind and our tool for it are.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The tool's file in its folder.
const FILE: &str = "switchcost-amd64-linux";

/// Valgrind, and the folder with the tool and links to Valgrind's own files (VALGRIND_LIB).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// The program `valgrind`.
    pub valgrind: PathBuf,
    /// The folder.
    pub folder: PathBuf,
}

/// Why there is no tool. Reads well behind "failed to capture: ".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// Valgrind is not installed.
    #[error("found no program valgrind in PATH, need Valgrind 3.19 or newer; sudo apt-get install valgrind")]
    NoValgrind,
    /// The tool has not been built.
    #[error(
        "found no {FILE} in {}, need the tool that belongs to switchcost; run `make build` (or `make install`), or \
         name its folder in SWITCHCOST_TOOL_DIR",
        shown(.searched)
    )]
    NotBuilt {
        /// Folders that were looked into.
        searched: Vec<PathBuf>,
    },
}

fn shown(folders: &[PathBuf]) -> String {
    folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// What decides where the tool is looked for.
#[derive(Clone, Debug, Default)]
struct Surroundings {
    named_folder: Option<OsString>,
    executable: Option<PathBuf>,
    path: OsString,
}

impl Tool {
    /// Looks for Valgrind in PATH, and for the tool in the folder that SWITCHCOST_TOOL_DIR names, or else beside this
    /// program: where it is installed (`../libexec/switchcost`), and where it is built (`../valgrind`, `./valgrind`,
    /// and for tests a folder further up).
    pub fn find() -> Result<Tool, ToolError> {
        find_in(&Surroundings {
            named_folder: std::env::var_os("SWITCHCOST_TOOL_DIR").filter(|folder| !folder.is_empty()),
            executable: std::env::current_exe().ok(),
            path: std::env::var_os("PATH").unwrap_or_default(),
        })
    }
}

fn find_in(surroundings: &Surroundings) -> Result<Tool, ToolError> {
    let valgrind = std::env::split_paths(&surroundings.path)
        .map(|folder| folder.join("valgrind"))
        .find(|file| file.is_file())
        .ok_or(ToolError::NoValgrind)?;
    let searched = folders(surroundings);
    match searched.iter().find(|folder| folder.join(FILE).is_file()) {
        // Valgrind's children start elsewhere than we do.
        Some(folder) => Ok(Tool { valgrind, folder: std::path::absolute(folder).unwrap_or_else(|_| folder.clone()) }),
        None => Err(ToolError::NotBuilt { searched }),
    }
}

fn folders(surroundings: &Surroundings) -> Vec<PathBuf> {
    if let Some(folder) = &surroundings.named_folder {
        return vec![folder.into()];
    }
    let Some(beside) = surroundings.executable.as_deref().and_then(Path::parent) else { return Vec::new() };
    ["../libexec/switchcost", "../valgrind", "valgrind", "../../valgrind"]
        .iter()
        .map(|folder| lexically(&beside.join(folder)))
        .collect()
}

/// Without `..`, for messages that one can read.
fn lexically(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        if part == std::path::Component::ParentDir {
            plain.pop();
        } else {
            plain.push(part);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_files(files: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a folder");
        for file in files {
            let path = root.path().join(file);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
            std::fs::write(path, b"").expect("a file");
        }
        root
    }

    fn surroundings(root: &Path) -> Surroundings {
        Surroundings {
            named_folder: None,
            executable: Some(root.join("prefix/bin/switchcost")),
            path: root.join("path").into(),
        }
    }

    #[test]
    fn finds_the_tool_installed_built_and_named() {
        for place in ["prefix/libexec/switchcost", "prefix/valgrind", "prefix/bin/valgrind", "valgrind"] {
            let root = with_files(&["path/valgrind", &format!("{place}/{FILE}")]);
            let tool = find_in(&surroundings(root.path())).expect("both are there");
            assert_eq!(tool, Tool { valgrind: root.path().join("path/valgrind"), folder: root.path().join(place) });
        }
        let root = with_files(&["path/valgrind", &format!("prefix/valgrind/{FILE}"), &format!("named/{FILE}")]);
        let named = Surroundings { named_folder: Some(root.path().join("named").into()), ..surroundings(root.path()) };
        assert_eq!(find_in(&named).expect("it is there").folder, root.path().join("named"));
    }

    #[test]
    fn says_what_is_missing_and_what_to_do() {
        let root = with_files(&[]);
        let error = find_in(&surroundings(root.path())).expect_err("no valgrind");
        assert_eq!(
            error.to_string(),
            "found no program valgrind in PATH, need Valgrind 3.19 or newer; sudo apt-get install valgrind"
        );
        let root = with_files(&["path/valgrind"]);
        let error = find_in(&surroundings(root.path())).expect_err("no tool");
        assert_eq!(
            error.to_string().replace(root.path().to_str().expect("text"), ""),
            "found no switchcost-amd64-linux in /prefix/libexec/switchcost, /prefix/valgrind, /prefix/bin/valgrind, \
             /valgrind, need the tool that belongs to switchcost; run `make build` (or `make install`), or name its \
             folder in SWITCHCOST_TOOL_DIR"
        );
    }
}
