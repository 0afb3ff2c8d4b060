//! Published tables, read from the CSV files in `published/`.

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// A row of Table 4 of Mogul and Borg 1990.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Trial {
    pub(crate) trial: String,
    /// Name of the memory design: `1a`, `1b`, `2a` or `2b`.
    pub(crate) design: String,
    /// Name of the benchmark set: `Timesharing`, `Compute-bound` or `Client-Server`.
    pub(crate) benchmark_set: String,
    pub(crate) instructions_millions: f64,
    pub(crate) data_refs_millions: f64,
    pub(crate) average_cost_cycles: f64,
    pub(crate) total_cycles_millions: f64,
    pub(crate) overhead_percent: f64,
}

/// A row of Tables 1 and 2 of Li, Ding and Shen 2007.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct LiRow {
    /// Environment of the runs: `quiet` or `network interference`.
    pub(crate) environment: String,
    pub(crate) array_kb: u64,
    /// Setting of the runs: `dual-processor` or `single-processor`.
    pub(crate) setting: String,
    /// Lower end of the 90 % interval of the mean; the paper prints no unit.
    pub(crate) ci90_low: f64,
    /// Upper end of the 90 % interval of the mean; the paper prints no unit.
    pub(crate) ci90_high: f64,
}

pub(crate) fn li_tables() -> Vec<LiRow> {
    read(include_str!("../published/li2007-tables-1-2.csv"))
}

pub(crate) fn mogul_table_4() -> Vec<Trial> {
    read(include_str!("../published/mogul1990-table-4.csv"))
}

/// Reads the rows of a CSV file that is built into the program. A test reads all such files.
fn read<T: DeserializeOwned>(text: &str) -> Vec<T> {
    let rows = csv::Reader::from_reader(text.as_bytes()).into_deserialize();
    rows.map(|row| row.expect("a row of a file that the tests have read"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_whole() {
        let trials = mogul_table_4();
        assert_eq!((trials.len(), li_tables().len()), (25, 12));
        // The overhead ratio is the average cost of 5000 switches over all cycles: so the rows agree with themselves, to half of the
        // last digit that is printed (two of them below 1 %, one above).
        for row in &trials {
            let overhead =
                row.average_cost_cycles * 5000.0 / (row.total_cycles_millions * 1e6) * 100.0;
            let half = if row.overhead_percent < 1.0 {
                0.005
            } else {
                0.05
            };
            assert!(
                (overhead - row.overhead_percent).abs() < half + 1e-9,
                "{row:?}: {overhead}"
            );
        }
    }
}
