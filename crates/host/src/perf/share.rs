//! Which events fit onto the CPU's counters at the same time.

use super::workloads::counted_loop;
use super::{CounterSource, Event};

/// Long enough to be counted, and short: a twentieth of a millisecond.
const TRIAL_ROUNDS: u64 = 100_000;

/// Divides events into shares that count together all the time, as seen on the calling thread. A share is counted in
/// one go; the next one after it, never at the same time.
///
/// A CPU has four to a dozen counters, some of them taken by the kernel's watchdog or by the sibling hyperthread, and a
/// group that does not fit counts nothing at all. Software events need no counter and come in the first share. Left
/// out is what does not count even alone.
pub fn shares(source: &dyn CounterSource, events: &[Event]) -> Vec<Vec<Event>> {
    let (hardware, software): (Vec<Event>, Vec<Event>) =
        events.iter().partition(|event| event.is_hardware());
    let mut shares: Vec<Vec<Event>> = Vec::new();
    for event in hardware {
        match shares
            .iter_mut()
            .find(|share| count_together(source, &with(share, event)))
        {
            Some(share) => share.push(event),
            None if count_together(source, &[event]) => shares.push(vec![event]),
            None => {}
        }
    }
    if shares.is_empty() && !software.is_empty() {
        shares.push(Vec::new());
    }
    if let Some(first) = shares.first_mut() {
        first.extend(software);
    }
    shares
}

fn with(share: &[Event], event: Event) -> Vec<Event> {
    share.iter().copied().chain([event]).collect()
}

fn count_together(source: &dyn CounterSource, events: &[Event]) -> bool {
    let Ok(mut group) = source.open(events, crate::task::current_tid()) else {
        return false;
    };
    let trial = group.start().and_then(|()| {
        counted_loop(TRIAL_ROUNDS);
        group.stop()?;
        group.read()
    });
    trial.is_ok_and(|reading| !reading.is_multiplexed())
}

#[cfg(test)]
mod tests {
    use super::super::fake::{Script, Scripted};
    use super::super::{CounterSet, System};
    use super::*;
    use strum::IntoEnumIterator;

    fn all() -> Vec<Event> {
        Event::iter().collect()
    }

    fn cpu(counters: usize) -> Scripted {
        Scripted::new(Event::iter().map(|event| (event, Script::Counts(1)))).with_counters(counters)
    }

    #[test]
    fn what_fits_is_counted_together_and_the_rest_after_it() {
        let shares = shares(&cpu(4), &all());
        let hardware: Vec<usize> = shares
            .iter()
            .map(|share| share.iter().filter(|e| e.is_hardware()).count())
            .collect();
        assert_eq!(hardware, [4, 3]);
        assert_eq!(
            (shares[0].len(), shares[1].len()),
            (8, 3),
            "software events come once"
        );
        let mut events = shares.concat();
        events.sort();
        assert_eq!(events, all());
        for share in shares {
            assert!(CounterSet::open(&cpu(4), &share, &[1]).is_ok(), "{share:?}");
        }
        assert!(
            CounterSet::open(&cpu(4), &all(), &[1]).is_err(),
            "which all of them together cannot be"
        );
    }

    #[test]
    fn a_cpu_with_counters_enough_needs_one_share() {
        assert_eq!(super::shares(&cpu(7), &all()).len(), 1);
    }

    #[test]
    fn what_never_counts_all_the_time_is_left_out() {
        let source = Scripted::new([
            (Event::Cycles, Script::Multiplexed(9)),
            (Event::Instructions, Script::Counts(9)),
        ]);
        let wanted = [Event::Cycles, Event::Instructions];
        assert_eq!(super::shares(&source, &wanted), [vec![Event::Instructions]]);
        assert_eq!(super::shares(&source, &[]), Vec::<Vec<Event>>::new());
    }

    #[test]
    fn without_hardware_events_the_kernels_are_one_share() {
        let software = [Event::ContextSwitches, Event::PageFaults];
        assert_eq!(super::shares(&System, &software), [software.to_vec()]);
    }
}
