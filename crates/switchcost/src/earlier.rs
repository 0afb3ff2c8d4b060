//! Reads the records in a folder (`--history`) as evidence of the spread between runs on this
//! machine.

use std::fs;
use std::path::Path;

use switchcost_analysis::EarlierRecords;
use switchcost_record::{EarlierRuns, Header, MeasureRecord, ReadRecordError, Source};

use crate::exit::{Failure, Outcome};
use crate::kinds::{Kind, kind};
use crate::runs;

/// A folder with records of measurements, whose headers have been read.
pub(crate) struct Folder {
    /// Headers of the records, newest first.
    headers: Vec<(Source, Header)>,
    /// Reasons why other records cannot be read.
    unreadable: Vec<&'static str>,
}

impl Folder {
    /// Opens a folder and reads the headers of its records. Files that are no records of
    /// measurements are skipped. The folder may be empty.
    pub(crate) fn open(folder: &Path) -> Outcome<Folder> {
        let failed = Failure::open_folder(folder);
        let entries = fs::read_dir(folder)
            .map_err(failed)?
            .flatten()
            .map(|entry| Source::listed(entry.path()));
        let is_one = |source: &Source| {
            source.path().is_file()
                && runs::is_named_as_record(source)
                && kind(source) == Kind::Measurement
        };
        let (mut headers, mut unreadable) = (Vec::new(), Vec::new());
        for source in entries.filter(is_one) {
            match MeasureRecord::read_header(&source) {
                Ok(header) => headers.push((source, header)),
                Err(error) => unreadable.push(refusal_reason(&error)),
            }
        }
        // Times in UTC sort as text.
        headers.sort_by(|(_, a), (_, b)| b.started_at.cmp(&a.started_at));
        Ok(Folder {
            headers,
            unreadable,
        })
    }

    /// Returns the spread between earlier runs on the machine of `header`, whose host must not be
    /// redacted.
    pub(crate) fn runs_before(&self, header: &Header) -> EarlierRuns {
        let mut earlier = EarlierRecords::new(header);
        self.unreadable
            .iter()
            .for_each(|why| earlier.leave_out(*why));
        for (source, of_it) in &self.headers {
            if !earlier.takes(of_it) {
                continue;
            }
            match MeasureRecord::read(source) {
                Ok(record) => earlier.add(&record, &switchcost_analysis::analyse(&record)),
                Err(error) => earlier.leave_out(refusal_reason(&error)),
            }
        }
        earlier.finish()
    }
}

fn refusal_reason(error: &ReadRecordError) -> &'static str {
    match error {
        ReadRecordError::Open { .. } => "that cannot be read",
        ReadRecordError::Version { .. } => "of another version of the format",
        ReadRecordError::Foreign { .. } => "that do not begin as records do",
        ReadRecordError::Damaged { .. } => "damaged",
    }
}
