use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::{Source, printable};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use switchcost_remedies::for_reading;

use crate::profile::{PRICES_SCHEMA, PROFILE_SCHEMA, Prices, Profile};

/// A longer file is none of these: a profile takes some ten kilobytes.
const LIMIT: u64 = 16 << 20;

/// Why a profile or prices could not be read. Reads well behind "failed to read: ".
#[derive(Debug, thiserror::Error)]
pub enum ProfileFileError {
    /// The file cannot be read.
    #[error("{}: {source}, {}", .path.display(), for_reading(.source, .need))]
    Read {
        /// Where.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
        /// What is to be there.
        need: &'static str,
    },
    /// It is something else.
    #[error("found {found} in {}, need {need}", .path.display())]
    Unfit {
        /// Where.
        path: PathBuf,
        /// What is in it.
        found: String,
        /// What is to be there.
        need: &'static str,
    },
}

/// What a form says of itself.
#[derive(Deserialize)]
struct Named {
    schema: String,
}

const PROFILE: &str = "a profile (switchcost.profile/1), as switchcost trace --profile writes it";
const PRICES: &str = "prices (switchcost.prices/1), as switchcost measure --prices writes them";

/// Reads a profile back.
///
/// # Errors
/// Where it cannot be read, or is none, or has columns of other lengths than it says.
pub fn read_profile(source: impl Into<Source>) -> Result<Profile, ProfileFileError> {
    let source = source.into();
    let profile: Profile = read(&source, PROFILE_SCHEMA, PROFILE)?;
    match profile.flaw() {
        Some(found) => Err(unfit(source.path(), found.to_owned(), PROFILE)),
        None => Ok(profile),
    }
}

/// Reads prices back.
///
/// # Errors
/// Where they cannot be read, or are none.
pub fn read_prices(source: impl Into<Source>) -> Result<Prices, ProfileFileError> {
    let source = source.into();
    let prices: Prices = read(&source, PRICES_SCHEMA, PRICES)?;
    match prices.flaw() {
        Some(found) => Err(unfit(source.path(), found.to_owned(), PRICES)),
        None => Ok(prices),
    }
}

fn unfit(path: &Path, found: String, need: &'static str) -> ProfileFileError {
    ProfileFileError::Unfit {
        path: path.to_owned(),
        found,
        need,
    }
}

fn read<T: DeserializeOwned>(
    source: &Source,
    schema: &str,
    need: &'static str,
) -> Result<T, ProfileFileError> {
    let path = source.path();
    let failed = |source| ProfileFileError::Read {
        path: path.to_owned(),
        source,
        need,
    };
    let mut text = Vec::new();
    source
        .open()
        .and_then(|file| file.take(LIMIT + 1).read_to_end(&mut text))
        .map_err(failed)?;
    if text.len() as u64 > LIMIT {
        return Err(unfit(path, "a file of more than 16 MiB".to_owned(), need));
    }
    let Ok(named) = serde_json::from_slice::<Named>(&text) else {
        return Err(unfit(
            path,
            "no JSON with a name of its form".to_owned(),
            need,
        ));
    };
    if named.schema != schema {
        return Err(unfit(path, format!("'{}'", printable(&named.schema)), need));
    }
    serde_json::from_slice(&text)
        .map_err(|error| unfit(path, printable(&error.to_string()).to_string(), need))
}

fn is_count(value: &f64) -> bool {
    value.is_finite() && *value >= 0.0
}

impl Profile {
    /// What makes its numbers unusable.
    fn flaw(&self) -> Option<&'static str> {
        let times = &self.times_instructions;
        let columns = times.len();
        let is_row = |row: &[f64]| row.len() == columns && row.iter().all(is_count);
        let rows_fit =
            self.reused.iter().all(|reused| is_row(&reused.lines)) && is_row(&self.new_lines);
        if !rows_fit || self.lines.len() != columns {
            return Some("a row of other than one number of lines for each time");
        }
        let is_rising =
            times.first().is_some_and(|first| *first > 0) && times.is_sorted_by(|a, b| a < b);
        (!is_rising || self.line_bytes.0 == 0 || self.cut_instructions == 0)
            .then_some("no times that rise from above 0")
    }
}

impl Prices {
    /// What makes its numbers unusable.
    fn flaw(&self) -> Option<&'static str> {
        let is_price = |price: &crate::profile::Price| {
            price.own_bytes.0 > 0
                && [price.ns, price.low_ns, price.high_ns]
                    .iter()
                    .all(|ns| ns.is_finite())
        };
        let is_path = |path: &crate::profile::SwitchPath| {
            [path.ns, path.low_ns, path.high_ns]
                .iter()
                .all(|ns| ns.is_finite())
        };
        if self.lines.is_empty() {
            return Some("no price");
        }
        let fit = self.lines.iter().all(is_price)
            && self.switch_path.iter().all(is_path)
            && self.line_bytes.0 > 0;
        (!fit).then_some("a price of no size, or that is no number")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{Kind, Price, Reused};
    use switchcost_units::Bytes;

    fn profile() -> Profile {
        Profile {
            reused: vec![Reused {
                kind: Kind::Code,
                age_bytes: Bytes::kib(16),
                lines: vec![1.0, 1.5],
            }],
            new_lines: vec![0.5, 0.75],
            ..Profile::empty(1024, vec![1024, 2048])
        }
    }

    fn outcome(
        text: &str,
        read: impl Fn(&Path) -> Result<(), ProfileFileError>,
    ) -> Result<(), String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("p.json");
        std::fs::write(&path, text).expect("room");
        read(&path).map_err(|error| {
            error
                .to_string()
                .replace(&format!("{}", path.display()), "PATH")
        })
    }

    #[test]
    fn a_profile_is_read_back_as_it_was_written() {
        let text = serde_json::to_string(&profile()).expect("plain data");
        let read = |path: &Path| read_profile(path).map(|read| assert_eq!(read, profile()));
        assert_eq!(outcome(&text, read), Ok(()));
    }

    #[test]
    fn what_is_no_profile_is_refused() {
        let read = |path: &Path| read_profile(path).map(|_| ());
        let need = "need a profile (switchcost.profile/1), as switchcost trace --profile writes it";
        let short = Profile {
            new_lines: vec![1.0],
            ..profile()
        };
        let falling = Profile {
            times_instructions: vec![2048, 1024],
            ..profile()
        };
        for (text, found) in [
            ("nothing".to_owned(), "no JSON with a name of its form"),
            (
                r#"{"schema":"switchcost.prices/1"}"#.to_owned(),
                "'switchcost.prices/1'",
            ),
            (
                serde_json::to_string(&short).expect("data"),
                "a row of other than one number of lines for each time",
            ),
            (
                serde_json::to_string(&falling).expect("data"),
                "no times that rise from above 0",
            ),
        ] {
            assert_eq!(
                outcome(&text, read),
                Err(format!("found {found} in PATH, {need}"))
            );
        }
        let missing = read_profile(Path::new("/none/p.json"))
            .expect_err("none")
            .to_string();
        assert_eq!(
            missing,
            format!("/none/p.json: No such file or directory (os error 2), {need}")
        );
    }

    #[test]
    fn prices_without_a_number_are_none() {
        let price = Price {
            kind: Kind::Dependent,
            own_bytes: Bytes(0),
            away_bytes: Bytes::mib(4),
            ns: 7.0,
            low_ns: 6.0,
            high_ns: 8.0,
            n: 8,
        };
        let read = |path: &Path| read_prices(path).map(|_| ());
        let outcome =
            |prices: &Prices| outcome(&serde_json::to_string(prices).expect("data"), read);
        assert_eq!(
            outcome(&Prices::of(vec![Price {
                own_bytes: Bytes::kib(8),
                ..price
            }])),
            Ok(())
        );
        let need = "in PATH, need prices (switchcost.prices/1), as switchcost measure --prices writes them";
        assert_eq!(
            outcome(&Prices::of(vec![price])),
            Err(format!(
                "found a price of no size, or that is no number {need}"
            ))
        );
        assert_eq!(
            outcome(&Prices::of(Vec::new())),
            Err(format!("found no price {need}"))
        );
    }

    /// Those that the fuzzers begin with.
    #[test]
    fn hostile_files_are_read_or_refused_and_what_is_said_of_them_commands_no_terminal() {
        let files = |of: &str| {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../../fuzz/corpus")
                .join(of);
            let entries = std::fs::read_dir(folder).expect("a corpus");
            entries
                .map(|entry| entry.expect("an entry").path())
                .collect::<Vec<_>>()
        };
        let profiles = files("profile_file")
            .into_iter()
            .map(|path| (read_profile(&path).map(drop), path));
        let prices = files("prices_file")
            .into_iter()
            .map(|path| (read_prices(&path).map(drop), path));
        for (read, path) in profiles.chain(prices) {
            let may_be_read = ["small", "hostile-name"]
                .iter()
                .any(|name| path.ends_with(name));
            assert_eq!(read.is_ok(), may_be_read, "{}", path.display());
            assert!(
                !read
                    .err()
                    .is_some_and(|error| error.to_string().contains(['\u{1b}', '\u{202e}', '\0']))
            );
        }
    }
}
