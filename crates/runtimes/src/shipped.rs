//! The runtimes that are built into this program.

use crate::row::{Row, Sources};

/// A folder in `runtimes/`: its `runtime.toml`, and its sources by name.
struct Folder {
    row: &'static str,
    files: &'static [(&'static str, &'static str)],
}

macro_rules! folders {
    ($($name:literal: $($file:literal),+;)+) => {
        &[$(Folder {
            row: include_str!(concat!("../runtimes/", $name, "/runtime.toml")),
            files: &[$(($file, include_str!(concat!("../runtimes/", $name, "/", $file)))),+],
        }),+]
    };
}

const FOLDERS: &[Folder] = folders! {
    "go": "handoffs.go";
    "java": "Handoffs.java";
    "python": "handoffs.py";
    "node": "handoffs.cjs";
    "tokio": "package.toml", "handoffs.rs";
    "cpp": "handoffs.cpp";
    "boost": "handoffs.cpp";
    "ruby": "handoffs.rb";
    "lua": "handoffs.lua";
    "erlang": "handoffs.erl";
    "ocaml": "clock.c", "handoffs.ml";
    "mono": "Handoffs.cs";
    "python3t": "handoffs.py";
};

/// Returns all built-in runtimes.
///
/// # Panics
///
/// If a built-in `runtime.toml` is invalid, which a test excludes.
pub fn shipped() -> Vec<Row> {
    let row = |folder: &Folder| {
        let row = Row::parse(folder.row).unwrap_or_else(|why| panic!("{why} in {}", folder.row));
        Row {
            sources: Sources::Shipped(folder.files),
            ..row
        }
    };
    FOLDERS.iter().map(row).collect()
}

/// Returns the names of the built-in runtimes.
pub fn names() -> Vec<String> {
    shipped().into_iter().map(|row| row.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_has_its_sources_and_at_most_one_hand_off_with_arrays() {
        for (row, folder) in shipped().iter().zip(FOLDERS) {
            let names: Vec<&str> = folder.files.iter().map(|(name, _)| *name).collect();
            assert_eq!(row.files, names, "{}", row.name);
            assert!(
                row.handoffs.iter().filter(|handoff| handoff.walks).count() <= 1,
                "{}",
                row.name
            );
            assert!(
                !row.install.is_empty() && !row.version.is_empty(),
                "{}",
                row.name
            );
        }
    }
}
