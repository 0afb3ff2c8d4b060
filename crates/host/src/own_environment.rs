//! Environment and folder for tools that this program starts for itself: compilers, interpreters,
//! package managers. The user's own settings and files for these tools have no effect.

use std::ffi::{OsStr, OsString};
use std::io;
use std::process::Command;

use switchcost_record::trust::find_program;

/// Variables that are passed on: locations, user, and network access. Versions of tools are not
/// cached but queried each time, so these variables may select them.
const PASSED_ON: [&str; 26] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "XDG_CACHE_HOME",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "PYENV_ROOT",
    "ASDF_DIR",
    "ASDF_DATA_DIR",
    "MISE_DATA_DIR",
    "NVM_DIR",
    "OPAMROOT",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "ftp_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CARGO_HTTP_CAINFO",
];

/// Folder in which tools start; only root could have put files there.
pub const FOLDER: &str = "/";

/// Returns the environment variables that tools get.
pub fn variables() -> Vec<(OsString, OsString)> {
    let passed_on = PASSED_ON
        .iter()
        .filter_map(|name| Some((name.into(), std::env::var_os(name)?)));
    passed_on
        .chain([("LC_ALL".into(), "C.UTF-8".into())])
        .collect()
}

/// Returns a command that starts a tool in [`FOLDER`] with only [`variables`].
pub fn tool(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env_clear().envs(variables()).current_dir(FOLDER);
    command
}

/// Returns a command for a tool on the PATH; for root, only a tool that no other user could have
/// put there.
///
/// # Errors
///
/// If there is no such tool, or root should not execute it.
pub fn tool_on_path(name: &str) -> io::Result<Command> {
    Ok(tool(find_program(name)?))
}

/// Names of the user's variables that match a pattern such as `GO*` and are not passed on.
pub fn left_out(patterns: &[String]) -> Vec<String> {
    let matches = |name: &str, pattern: &String| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    };
    let is_left_out = |name: &String| {
        !PASSED_ON.contains(&name.as_str()) && patterns.iter().any(|pattern| matches(name, pattern))
    };
    let mut names: Vec<String> = std::env::vars_os()
        .filter(|(_, value)| !value.is_empty())
        .filter_map(|(name, _)| name.into_string().ok())
        .filter(is_left_out)
        .collect();
    names.sort_unstable();
    names
}
