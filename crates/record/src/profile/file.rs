use crate::Source;
use crate::profile::{PRICES_SCHEMA, PROFILE_SCHEMA, Prices, Profile};
use crate::sealed_log::{Form, ReadRecordError, read_document};

impl Form for Profile {
    const FORM: &'static str = PROFILE_SCHEMA;
    // Version 2 added `chained` to the kinds of access.
    const OLDER: &'static [&'static str] = &["switchcost.profile/1"];
    const WRITER: &'static str = "switchcost trace --profile";
}

impl Form for Prices {
    const FORM: &'static str = PRICES_SCHEMA;
    const WRITER: &'static str = "switchcost measure --prices";
}

/// Reads a profile from its JSON file.
///
/// # Errors
///
/// If the file cannot be read or is not a profile, or if its lists have wrong lengths.
pub fn read_profile(source: impl Into<Source>) -> Result<Profile, ReadRecordError> {
    read_document(&source.into(), |profile: &Profile| {
        profile.flaw().map(str::to_owned)
    })
}

/// Reads prices (costs of lost lines) from their JSON file.
///
/// # Errors
///
/// If the file cannot be read, or has no valid prices.
pub fn read_prices(source: impl Into<Source>) -> Result<Prices, ReadRecordError> {
    read_document(&source.into(), |prices: &Prices| {
        prices.flaw().map(str::to_owned)
    })
}

fn is_count(value: &f64) -> bool {
    value.is_finite() && *value >= 0.0
}

impl Profile {
    /// Returns the reason why the profile is invalid; `None` if it is valid.
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
    /// Returns the reason why the prices are invalid; `None` if they are valid.
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
    use std::path::Path;
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
        read: impl Fn(&Path) -> Result<(), ReadRecordError>,
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
        let foreign = |why| {
            format!(
                "PATH is not a record of switchcost trace --profile ({why}); name a file written by switchcost trace --profile"
            )
        };
        let damaged = |why| format!("PATH is damaged at line 1 ({why}); name another file");
        let short = Profile {
            new_lines: vec![1.0],
            ..profile()
        };
        let falling = Profile {
            times_instructions: vec![2048, 1024],
            ..profile()
        };
        for (text, found) in [
            ("nothing".to_owned(), foreign("it does not begin with JSON")),
            (
                r#"{"schema":"switchcost.prices/1"}"#.to_owned(),
                foreign("its schema is \"switchcost.prices/1\", not switchcost.profile"),
            ),
            (
                serde_json::to_string(&short).expect("data"),
                damaged("a row of other than one number of lines for each time"),
            ),
            (
                serde_json::to_string(&falling).expect("data"),
                damaged("no times that rise from above 0"),
            ),
        ] {
            assert_eq!(outcome(&text, read), Err(found));
        }
        let missing = read_profile(Path::new("/none/p.json"))
            .expect_err("none")
            .to_string();
        assert_eq!(
            missing,
            "cannot read /none/p.json: No such file or directory (os error 2); name a file written by switchcost trace \
             --profile"
        );
    }

    #[test]
    fn a_profile_of_the_first_version_has_no_dependences() {
        let text = serde_json::to_string(&profile())
            .expect("plain data")
            .replace("profile/2", "profile/1")
            .replace(",\"has_dependences\":false", "");
        let read = |path: &Path| read_profile(path).map(|read| assert!(!read.has_dependences));
        assert_eq!(outcome(&text, read), Ok(()));
        let later = text.replace("profile/1", "profile/3");
        let found = outcome(&later, |path| read_profile(path).map(drop)).expect_err("unknown");
        assert!(found.contains("switchcost.profile/3"), "{found}");
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
            outcome(&Prices::new(vec![Price {
                own_bytes: Bytes::kib(8),
                ..price
            }])),
            Ok(())
        );
        let damaged = |why| {
            Err(format!(
                "PATH is damaged at line 1 ({why}); name another file"
            ))
        };
        assert_eq!(
            outcome(&Prices::new(vec![price])),
            damaged("a price of no size, or that is no number")
        );
        assert_eq!(outcome(&Prices::new(Vec::new())), damaged("no price"));
    }

    /// Reads the seed files of the fuzzers for profiles and prices.
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
            let may_be_read = ["small", "chained", "hostile-name"]
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
