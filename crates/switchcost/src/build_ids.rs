//! Build IDs of programs: by them what is known of one is found again.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Of the program that a command starts: of an interpreter where that is named, and none of a script.
pub(crate) fn of_command(words: &[OsString]) -> Option<String> {
    switchcost_symbols::build_id(&program(words.first()?)?)
}

/// Of the program that a process runs.
pub(crate) fn of_process(process: u32) -> Option<String> {
    switchcost_symbols::build_id(Path::new(&format!("/proc/{process}/exe")))
}

/// The file that is executed, as execvp(3) looks for it.
fn program(name: &OsString) -> Option<PathBuf> {
    if name.to_string_lossy().contains('/') {
        return std::path::absolute(name).ok();
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_and_the_process_of_it_have_the_same() {
        let own = std::env::current_exe().expect("it runs");
        let id = of_command(&[own.into_os_string()]);
        assert_eq!(of_process(std::process::id()), id);
        assert_eq!(
            program(&OsString::from("sh")).and_then(|path| path.file_name().map(OsString::from)),
            Some("sh".into())
        );
        assert_eq!(
            (of_command(&["no-such-program".into()]), of_command(&[])),
            (None, None)
        );
    }
}
