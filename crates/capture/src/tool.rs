//! Finds the capture tool for Valgrind.

use std::env::consts::ARCH;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use switchcost_record::trust::check_programs;
use switchcost_remedies::read_remedy;

/// File name of the tool.
const FILE: &str = "switchcost-amd64-linux";

/// File name of the launcher, which starts the tool. The launcher is in the folder of the tool.
const LAUNCHER: &str = "launcher";

/// The capture tool, which contains Valgrind's core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// Path of the launcher, which Valgrind starts for each executed program.
    pub launcher: PathBuf,
    /// Folder with the tool and with the files that it needs from Valgrind (VALGRIND_LIB).
    pub folder: PathBuf,
}

/// Why the tool cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// There is no tool for this kind of processor.
    #[error(
        "tracing works on x86_64 only, and this is {0}; trace on such a machine, or import what another tool has recorded here \
         (switchcost trace import)"
    )]
    OtherProcessor(&'static str),
    /// Another user could have changed the tool.
    #[error("{0}")]
    Untrusted(String),
    /// The tool was not found, or has not been built.
    #[error(
        "{FILE}, the tool that traces, is not in {}; install Valgrind with its headers and run `make build` (or `make \
         install`), or name its folder in SWITCHCOST_TOOL_DIR",
        shown(.searched)
    )]
    NotBuilt {
        /// Folders that were searched.
        searched: Vec<PathBuf>,
    },
}

impl ToolError {
    /// Makes the error for a program or folder that is not trusted.
    pub fn untrusted(path: &Path, why: &io::Error) -> ToolError {
        ToolError::Untrusted(refusal(path, why))
    }
}

fn shown(folders: &[PathBuf]) -> String {
    folders
        .iter()
        .map(|folder| folder.display().to_string())
        .collect::<Vec<_>>()
        .join(", ")
}

/// Inputs that decide in which folders the tool is searched.
#[derive(Clone, Debug, Default)]
struct Environment {
    named_folder: Option<OsString>,
    executable: Option<PathBuf>,
}

impl Tool {
    /// Returns the tool that a folder contains.
    pub fn new(folder: PathBuf) -> Tool {
        Tool {
            launcher: folder.join(LAUNCHER),
            folder,
        }
    }

    /// Looks for the tool in the folder that SWITCHCOST_TOOL_DIR names, or else relative to this
    /// program: where the tool is installed (`../libexec/switchcost`), and where it is built
    /// (`../valgrind`, `./valgrind`, and for tests a folder further up).
    ///
    /// # Errors
    ///
    /// If the tool is not found, does not exist for this processor, or could have been changed by
    /// another user.
    pub fn find() -> Result<Tool, ToolError> {
        check_processor(ARCH)?;
        find_in(&Environment {
            named_folder: std::env::var_os("SWITCHCOST_TOOL_DIR")
                .filter(|folder| !folder.is_empty()),
            executable: std::env::current_exe().ok(),
        })
    }
}

/// Checks that there are capture tools for this kind of processor.
pub(crate) fn check_processor(architecture: &'static str) -> Result<(), ToolError> {
    if architecture == "x86_64" {
        Ok(())
    } else {
        Err(ToolError::OtherProcessor(architecture))
    }
}

fn find_in(environment: &Environment) -> Result<Tool, ToolError> {
    let searched = folders(environment);
    let is_built =
        |folder: &&PathBuf| folder.join(FILE).is_file() && folder.join(LAUNCHER).is_file();
    match searched.iter().find(is_built) {
        Some(folder) => {
            // Programs may start in another folder than this process, so the path must be absolute.
            let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.clone());
            if environment.named_folder.is_none() {
                check_programs(&folder).map_err(|why| ToolError::untrusted(&folder, &why))?;
            }
            Ok(Tool::new(folder))
        }
        None => Err(ToolError::NotBuilt { searched }),
    }
}

/// Explains why the file at a path is not executed. An error of the operating system names neither
/// the path nor a remedy, so both are added; an error of this program already names both.
pub(crate) fn refusal(path: &Path, why: &io::Error) -> String {
    match why.raw_os_error() {
        None => why.to_string(),
        Some(_) => format!(
            "{} cannot be read: {why}; {}",
            path.display(),
            read_remedy(why, "what is executed")
        ),
    }
}

fn folders(environment: &Environment) -> Vec<PathBuf> {
    if let Some(folder) = &environment.named_folder {
        return vec![folder.into()];
    }
    let Some(beside) = environment.executable.as_deref().and_then(Path::parent) else {
        return Vec::new();
    };
    [
        "../libexec/switchcost",
        "../valgrind",
        "valgrind",
        "../../valgrind",
    ]
    .iter()
    .map(|folder| lexically(&beside.join(folder)))
    .collect()
}

/// Returns the path with its `..` resolved as text, for messages.
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

    #[test]
    fn on_another_processor_nothing_is_built_that_does_not_exist_there() {
        assert_eq!(check_processor("x86_64"), Ok(()));
        let said = check_processor("aarch64")
            .expect_err("there is none")
            .to_string();
        assert_eq!(
            said,
            "tracing works on x86_64 only, and this is aarch64; trace on such a machine, or import what another tool has \
             recorded here (switchcost trace import)"
        );
    }

    #[test]
    fn what_the_system_refuses_is_said_with_what_to_do() {
        let refused = |number| refusal(Path::new("/a"), &io::Error::from_raw_os_error(number));
        assert_eq!(
            refused(13),
            "/a cannot be read: Permission denied (os error 13); name what is executed that you may read, or ask its owner for \
             the right to (chmod a+r)"
        );
        assert_eq!(
            refusal(Path::new("/a"), &io::Error::other("/ is anybody's")),
            "/ is anybody's"
        );
    }

    /// Makes a folder with the tool and its launcher in each of `places`.
    fn with_tools(places: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a folder");
        for place in places {
            let folder = root.path().join(place);
            std::fs::create_dir_all(&folder).expect("folders");
            std::fs::write(folder.join(FILE), b"").expect("a file");
            std::fs::write(folder.join(LAUNCHER), b"").expect("a file");
        }
        root
    }

    fn environment(root: &Path) -> Environment {
        Environment {
            named_folder: None,
            executable: Some(root.join("prefix/bin/switchcost")),
        }
    }

    #[test]
    fn finds_the_tool_installed_built_and_named() {
        for place in [
            "prefix/libexec/switchcost",
            "prefix/valgrind",
            "prefix/bin/valgrind",
            "valgrind",
        ] {
            let root = with_tools(&[place]);
            let tool = find_in(&environment(root.path())).expect("both are there");
            assert_eq!(tool, Tool::new(root.path().join(place)));
            assert_eq!(tool.launcher, root.path().join(place).join(LAUNCHER));
        }
        let root = with_tools(&["prefix/valgrind", "named"]);
        let named = Environment {
            named_folder: Some(root.path().join("named").into()),
            ..environment(root.path())
        };
        assert_eq!(
            find_in(&named).expect("it is there").folder,
            root.path().join("named")
        );
    }

    #[test]
    fn a_tool_that_another_user_could_have_put_there_is_refused_unless_its_folder_is_named() {
        use std::os::unix::fs::PermissionsExt;
        let root = with_tools(&["valgrind"]);
        let folder = root.path().join("valgrind");
        std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o777)).expect("ours");
        let error = find_in(&environment(root.path())).expect_err("anybody's");
        let beginning = format!("{} may be written by everybody: ", folder.display());
        assert!(error.to_string().starts_with(&beginning), "{error}");
        let named = Environment {
            named_folder: Some(folder.into()),
            executable: None,
        };
        assert!(find_in(&named).is_ok());
    }

    #[test]
    fn says_what_is_missing_and_what_to_do() {
        // A tool without its launcher is an incomplete part of an older build.
        let root = with_tools(&["valgrind"]);
        std::fs::remove_file(root.path().join("valgrind").join(LAUNCHER)).expect("ours");
        let error = find_in(&environment(root.path())).expect_err("no tool");
        assert_eq!(
            error
                .to_string()
                .replace(root.path().to_str().expect("text"), ""),
            "switchcost-amd64-linux, the tool that traces, is not in /prefix/libexec/switchcost, /prefix/valgrind, \
             /prefix/bin/valgrind, /valgrind; install Valgrind with its headers and run `make build` (or `make install`), or \
             name its folder in SWITCHCOST_TOOL_DIR"
        );
    }
}
