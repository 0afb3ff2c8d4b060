//! Finds results of `inject` for the observed programs, by their build IDs.

mod injected;
mod programs;
mod seen;

use switchcost_record::observation::{KnownReload, Observation, Source};

use programs::Programs;
pub(super) use seen::Seen;

pub(super) fn find(observation: &Observation, seen: Seen) -> Vec<KnownReload> {
    if observation.calibration.is_none() || observation.source != Source::Bpf {
        return Vec::new();
    }
    injected::find(Programs::new(observation, seen), &observation.host)
}
