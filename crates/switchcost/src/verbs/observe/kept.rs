//! Writes the record of an observation every few seconds, so that a crash loses no more than a few
//! seconds.

use std::io::{self, BufWriter};
use std::path::Path;
use std::time::{Duration, Instant};

use switchcost_host::draft::Draft;
use switchcost_observe::NoBpf;
use switchcost_record::WriteRecordError;
use switchcost_record::observation::Observation;

use crate::exit::{Failure, Outcome};
use crate::runs::Place;

/// Least time from one snapshot to the next.
const EACH: Duration = Duration::from_secs(5);
/// Least time between two snapshots, as a multiple of the time that a snapshot takes.
const SELDOM: u32 = 100;

pub(super) struct Kept {
    place: Place,
    /// Draft of the record, opened at the start so that an unwritable path is reported immediately;
    /// `None` after it was used.
    draft: Option<Draft>,
    /// Whether this run wrote the file with the record's name. Another run that began later may
    /// have written such a file earlier.
    is_named: bool,
    next_at: Instant,
}

impl Kept {
    pub(super) fn claim(place: Place) -> Outcome<Kept> {
        let Place { path, readers } = &place;
        if path.symlink_metadata().is_ok() {
            return Err(Failure::from(WriteRecordError::Exists(path.clone())));
        }
        let draft = Draft::new_for_readers(*readers, path).map_err(Failure::output(path))?;
        Ok(Kept {
            place,
            draft: Some(draft),
            is_named: false,
            next_at: Instant::now() + EACH,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.place.path
    }

    /// Writes a snapshot of the record, if one is due. A failed write is repeated later.
    pub(super) fn look(&mut self, so_far: &mut dyn FnMut() -> Result<Observation, NoBpf>) {
        if Instant::now() < self.next_at {
            return;
        }
        let began = Instant::now();
        if let Ok(observation) = so_far() {
            let _ = self.write(&Observation {
                is_unfinished: true,
                ..observation
            });
        }
        self.next_at = Instant::now() + EACH.max(began.elapsed() * SELDOM);
    }

    /// Writes the record under its name, and replaces the last snapshot.
    pub(super) fn write(&mut self, observation: &Observation) -> Result<(), WriteRecordError> {
        self.put(observation)
            .map_err(|source| WriteRecordError::new(&self.place.path, source))
    }

    fn put(&mut self, observation: &Observation) -> io::Result<()> {
        let draft = self.draft.take().map_or_else(
            || Draft::new_for_readers(self.place.readers, &self.place.path),
            Ok,
        )?;
        let mut buffered = BufWriter::new(draft);
        observation.write(&mut buffered)?;
        let draft = buffered
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        if self.is_named {
            return draft.keep();
        }
        draft.keep_new()?;
        self.is_named = true;
        Ok(())
    }
}
