//! Environment and folder for tools that this program starts for its own purposes: compilers,
//! interpreters, package managers. Most of the user's variables are not passed on, and files in the
//! working directory have no effect.

use std::ffi::{OsStr, OsString};
use std::io;
use std::process::Command;

use switchcost_record::trust::find_program;

/// Variables that tools inherit: locations, user, and network access. Such a variable may select a
/// tool's version, because versions are not cached.
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

/// Folder in which tools start. Only root can put files into the folder.
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

/// Returns a command that starts a tool in [`FOLDER`] with the environment [`variables`].
pub fn tool(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env_clear().envs(variables()).current_dir(FOLDER);
    command
}

/// Returns a command for a tool on the PATH. For root, only a tool that no other user could have
/// written is accepted.
///
/// # Errors
///
/// If there is no such tool, or root should not execute it.
pub fn tool_on_path(name: &str) -> io::Result<Command> {
    Ok(tool(find_program(name)?))
}

/// Returns the names of the user's variables that match a pattern, such as `GO*`, and that tools do
/// not inherit.
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
