//! Many designs that differ in the size and ways of some levels, as files.

use std::io;
use std::path::{Path, PathBuf};

/// Ten numbers of sets, from 2 to the power of the first on, by so many ways each.
const WAYS: [u64; 10] = [1, 2, 3, 4, 5, 6, 7, 8, 12, 16];
const SET_COUNTS: u32 = 10;
/// The same of a level that has another behind it: 128 KiB to 4 MiB.
const WAYS_BETWEEN: [u64; 4] = [4, 8, 12, 16];
const SET_COUNTS_BETWEEN: u32 = 5;
const LINE_BYTES: u64 = 64;

/// What is varied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Varied {
    /// Both first levels, and there is nothing behind them.
    First,
    /// A second level behind fixed first ones.
    Second,
    /// The same before a third.
    Between,
}

impl Varied {
    /// Bits of the fewest sets, how many numbers of sets there are, and the ways.
    fn shapes(self) -> (u32, u32, &'static [u64]) {
        match self {
            Varied::First => (4, SET_COUNTS, &WAYS),
            Varied::Second => (7, SET_COUNTS, &WAYS),
            Varied::Between => (9, SET_COUNTS_BETWEEN, &WAYS_BETWEEN),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Varied::First => "first",
            Varied::Second => "second",
            Varied::Between => "between",
        }
    }
}

/// Writes them into a folder; gives their paths. In the middle is one of 128 KiB or 1 MiB and 4 ways, or 2 MiB and 8 ways.
pub(crate) fn write(folder: &Path, varied: Varied) -> io::Result<Vec<PathBuf>> {
    std::fs::create_dir_all(folder)?;
    let (first_bits, set_counts, all_ways) = varied.shapes();
    let mut paths = Vec::new();
    for set_bits in first_bits..first_bits + set_counts {
        for &ways in all_ways {
            let size = (LINE_BYTES << set_bits) * ways;
            let name = format!("{}-{size}-{ways}", varied.name());
            let path = folder.join(format!("{name}.toml"));
            std::fs::write(&path, text(&name, varied, size, ways))?;
            paths.push(path);
        }
    }
    Ok(paths)
}

fn text(name: &str, varied: Varied, size: u64, ways: u64) -> String {
    let head = format!("schema = \"switchcost.design/1\"\nname = \"{name}\"\n");
    let level = |name: &str, holds: &str, size: u64, ways: u64, miss_cycles: u64| {
        format!(
            "\n[[level]]\nname = \"{name}\"\nholds = \"{holds}\"\nsize = \"{size}B\"\nline = \"{LINE_BYTES}B\"\nways = {ways}\n\
             miss_cycles = {miss_cycles}\n"
        )
    };
    let (first, first_ways) = if varied == Varied::First {
        (size, ways)
    } else {
        (32 << 10, 8)
    };
    let second = if varied == Varied::First {
        String::new()
    } else {
        level("L2", "both", size, ways, 100)
    };
    let third = if varied == Varied::Between {
        level("L3", "both", 16 << 20, 16, 200)
    } else {
        String::new()
    };
    let instructions = level("L1I", "instructions", first, first_ways, 10);
    let data = level("L1D", "data", first, first_ways, 10);
    head + &instructions + &data + &second + &third
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_that_differ() {
        let folder = tempfile::tempdir().expect("a folder");
        for (varied, number) in [
            (Varied::First, 100),
            (Varied::Second, 100),
            (Varied::Between, 20),
        ] {
            let mut texts: Vec<String> = write(folder.path(), varied)
                .expect("room")
                .iter()
                .map(|path| std::fs::read_to_string(path).expect("a file"))
                .collect();
            texts.sort();
            texts.dedup();
            assert_eq!(texts.len(), number);
        }
    }
}
