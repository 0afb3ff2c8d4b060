//! Prices: costs of lost cache lines on a machine, measured with arrays.
//!
//! `switchcost measure --prices` measures and stores them as a JSON file (docs/formats/json.md),
//! and the reader returns the same values. This module computes no statistics and prints nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumIter, IntoEnumIterator};
use switchcost_units::Bytes;

use crate::sealed_log::{Form, ReadRecordError, read_document};
use crate::{Cache, Source};

/// Name and version of the format of prices.
pub const PRICES_SCHEMA: &str = "switchcost.prices/3";

/// Kind of access by which a program requests a line. The kind decides how much of a miss the
/// hardware can hide, and so the cost of losing the line.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Display,
    EnumIter,
    JsonSchema,
    Serialize,
    Deserialize,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Kind {
    /// Lines next to one that was requested shortly before, which the hardware prefetches.
    Sequential,
    /// Sequential lines with many instructions between them, which a core executes during a miss.
    SequentialSpaced,
    /// Lines at equal distances, which one instruction requests.
    Strided,
    /// Strided lines with many instructions between them.
    StridedSpaced,
    /// Loads from arbitrary addresses, of which several are in flight at the same time.
    Gathered,
    /// Gathered loads with many instructions between them.
    GatheredSpaced,
    /// Loads from arbitrary addresses that come alone, or wait for the load before. Used if
    /// dependences between loads are unknown.
    Dependent,
    /// Loads from arbitrary addresses, each of which depends on the value of another line.
    Chained,
    /// Stores to arbitrary addresses.
    Stored,
    /// Stores to arbitrary addresses, with many instructions between them.
    StoredSpaced,
    /// Instruction fetches that are prefetched together with those of the lines before.
    Code,
    /// Instruction fetches that come alone, for which the core waits.
    CodeAlone,
}

impl Kind {
    /// Returns the kinds that have a measured cost. A chained line costs as much as a dependent
    /// one.
    pub fn priced() -> impl Iterator<Item = Kind> {
        Kind::iter().filter(|kind| *kind != Kind::Chained)
    }

    /// Returns the kind of the same access with many instructions between two lines; the same kind
    /// if instructions hide nothing of a miss.
    pub fn spaced(self) -> Kind {
        match self {
            Kind::Sequential => Kind::SequentialSpaced,
            Kind::Strided => Kind::StridedSpaced,
            Kind::Gathered => Kind::GatheredSpaced,
            Kind::Stored => Kind::StoredSpaced,
            kind => kind,
        }
    }

    /// Returns the kind of the same access with few instructions between two lines.
    pub fn unspaced(self) -> Kind {
        Kind::iter()
            .find(|kind| kind.spaced() == self)
            .unwrap_or(self)
    }
}

/// Costs of a lost cache line on one machine, measured with arrays.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Prices {
    /// Name and version of this JSON format, [`PRICES_SCHEMA`].
    pub schema: String,
    /// Version of the program that measured the costs.
    pub program_version: String,
    /// Start of the measurement (RFC 3339, UTC).
    pub started_at: String,
    /// Name of the CPU model, if known.
    pub cpu_model: Option<String>,
    /// Caches of the measured CPU.
    pub caches: Vec<Cache>,
    /// Size of a cache line in bytes.
    pub line_bytes: Bytes,
    /// Cost of a lost line, for each kind of access, array size and footprint.
    pub lines: Vec<Price>,
}

/// Cost of a lost line: the additional time per line of an array after another task touched a
/// footprint.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Price {
    /// Kind of access to the array.
    pub kind: Kind,
    /// Size of the array in bytes.
    pub own_bytes: Bytes,
    /// Footprint: number of bytes that another task touched before the array was accessed.
    pub away_bytes: Bytes,
    /// Cost per line in nanoseconds, as the median over arrays at different addresses.
    pub ns: f64,
    /// Lower end of the confidence interval in nanoseconds.
    pub low_ns: f64,
    /// Upper end of the confidence interval in nanoseconds.
    pub high_ns: f64,
    /// Number of arrays that were measured.
    pub n: usize,
}

impl Form for Prices {
    const FORM: &'static str = PRICES_SCHEMA;
    // Version 1 also had a price of the kernel's switch path. Versions 1 and 2 have no prices of
    // spaced lines.
    const OLDER: &'static [&'static str] = &["switchcost.prices/1", "switchcost.prices/2"];
    const WRITER: &'static str = "switchcost measure --prices";
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

impl Prices {
    /// Returns prices with these costs and no facts about the machine.
    pub fn new(lines: Vec<Price>) -> Prices {
        Prices {
            schema: PRICES_SCHEMA.to_owned(),
            program_version: String::new(),
            started_at: String::new(),
            cpu_model: None,
            caches: Vec::new(),
            line_bytes: Bytes(64),
            lines,
        }
    }

    /// Returns the reason why the prices are invalid; `None` if they are valid.
    fn flaw(&self) -> Option<&'static str> {
        let is_price = |price: &Price| {
            price.own_bytes.0 > 0
                && [price.ns, price.low_ns, price.high_ns]
                    .iter()
                    .all(|ns| ns.is_finite())
        };
        if self.lines.is_empty() {
            return Some("no price");
        }
        let fit = self.lines.iter().all(is_price) && self.line_bytes.0 > 0;
        (!fit).then_some("a price of no size, or that is no number")
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::*;

    fn price() -> Price {
        Price {
            kind: Kind::Dependent,
            own_bytes: Bytes::kib(8),
            away_bytes: Bytes::mib(4),
            ns: 7.0,
            low_ns: 6.0,
            high_ns: 8.0,
            n: 8,
        }
    }

    fn text(prices: &Prices) -> String {
        serde_json::to_string(prices).expect("plain data")
    }

    fn outcome(text: &str) -> Result<Prices, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("p.json");
        std::fs::write(&path, text).expect("room");
        let name = path.display().to_string();
        read_prices(path.as_path()).map_err(|error| error.to_string().replace(&name, "PATH"))
    }

    #[test]
    fn what_is_no_price_file_is_refused() {
        let prices = Prices::new(vec![price()]);
        assert_eq!(outcome(&text(&prices)), Ok(prices.clone()));
        let foreign = |why| {
            format!(
                "PATH is not a record of switchcost measure --prices ({why}); name a file written by switchcost measure \
                 --prices"
            )
        };
        let damaged = |why| format!("PATH is damaged at line 1 ({why}); name another file");
        let of_no_size = Price {
            own_bytes: Bytes(0),
            ..price()
        };
        for (text, error) in [
            ("nothing".to_owned(), foreign("it does not begin with JSON")),
            (
                r#"{"schema":"switchcost.profile/2"}"#.to_owned(),
                foreign("its schema is \"switchcost.profile/2\", not switchcost.prices"),
            ),
            (
                text(&Prices::new(vec![of_no_size])),
                damaged("a price of no size, or that is no number"),
            ),
            (text(&Prices::new(Vec::new())), damaged("no price")),
        ] {
            assert_eq!(outcome(&text), Err(error));
        }
        assert!(outcome(&text(&prices).replace("prices/3", "prices/2")).is_ok());
        let later = outcome(&text(&prices).replace("prices/3", "prices/4")).expect_err("unknown");
        assert!(later.contains("switchcost.prices/4"), "{later}");
        let missing = read_prices(Path::new("/none/p.json")).expect_err("none");
        assert_eq!(
            missing.to_string(),
            "cannot read /none/p.json: No such file or directory (os error 2); name a file written by switchcost measure \
             --prices"
        );
    }

    /// Reads the seed files of the fuzzer for prices, which are of version 1.
    #[test]
    fn hostile_files_are_read_or_refused_and_what_is_said_of_them_commands_no_terminal() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/prices_file");
        let entries = std::fs::read_dir(folder).expect("a corpus");
        let paths: Vec<PathBuf> = entries
            .map(|entry| entry.expect("an entry").path())
            .collect();
        assert!(!paths.is_empty());
        for path in paths {
            let read = read_prices(path.as_path());
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
