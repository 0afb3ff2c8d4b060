//! What is known from elsewhere of what cold caches cost the observed programs, by build ID: from records of `inject`, and from profiles.

mod injected;
mod profiled;
mod programs;

use switchcost_record::observation::{KnownReload, Observation, Source};

use programs::Programs;

pub(super) use profiled::Found;

/// With the profile that is named, if one is.
pub(super) fn find(observation: &Observation, named: Option<&Found>) -> Vec<KnownReload> {
    if observation.calibration.is_none() || observation.source != Source::Bpf {
        return Vec::new();
    }
    let (programs, host) = (Programs::of(observation), &observation.host);
    let profiled = profiled::find(programs.clone(), named, observation);
    injected::find(programs, host)
        .into_iter()
        .chain(profiled)
        .collect()
}
