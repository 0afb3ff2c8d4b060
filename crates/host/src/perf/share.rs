//! Divides events into groups that fit onto the CPU's counters.

use switchcost_units::CpuId;

use super::workloads::counted_loop;
use super::{CounterSet, CounterSource, Event, Scope};
use crate::control::pin;

/// Number of rounds of the trial loop: long enough to be counted, in a twentieth of a millisecond.
const TRIAL_ROUNDS: u64 = 100_000;

/// Divides events into groups, each small enough for the CPU's counters to count all the time.
/// Whether a group is small enough is tested on the calling thread. Groups are to be used one after
/// the other, never at the same time.
///
/// A CPU has four to a dozen counters, some of which the kernel's watchdog or the sibling
/// hyperthread takes. A group that does not fit counts nothing. Events of the kernel are in their
/// own group: if they shared a group with events of the CPU, the CPU would at each switch count the
/// kernel's work for their counters. Events that do not count even alone are left out.
pub fn shares(source: &dyn CounterSource, events: &[Event], cpu: Option<CpuId>) -> Vec<Vec<Event>> {
    let _pin = cpu.and_then(|cpu| pin(&[cpu]).ok());
    let scope = Scope::own(cpu);
    let (hardware, software): (Vec<Event>, Vec<Event>) =
        events.iter().partition(|event| event.is_hardware());
    let mut shares: Vec<Vec<Event>> = Vec::new();
    for event in hardware {
        match shares
            .iter_mut()
            .find(|share| count_together(source, &extend_share(share, event), &scope))
        {
            Some(share) => share.push(event),
            None if count_together(source, &[event], &scope) => shares.push(vec![event]),
            None => {}
        }
    }
    shares.extend(Some(software).filter(|events| !events.is_empty()));
    shares
}

fn extend_share(share: &[Event], event: Event) -> Vec<Event> {
    share.iter().copied().chain([event]).collect()
}

fn count_together(source: &dyn CounterSource, events: &[Event], scope: &Scope) -> bool {
    let Ok(mut counters) = CounterSet::open(source, events, scope) else {
        return false;
    };
    let trial = counters.start().and_then(|()| {
        counted_loop(TRIAL_ROUNDS);
        counters.stop()?;
        counters.read()
    });
    trial.is_ok_and(|counts| counts.len() == events.len())
}

#[cfg(test)]
mod tests {
    use super::super::System;
    use super::super::fake::{Script, Scripted};
    use super::*;
    use strum::IntoEnumIterator;

    fn all() -> Vec<Event> {
        Event::iter().collect()
    }

    fn cpu(counters: usize) -> Scripted {
        Scripted::new(Event::iter().map(|event| (event, Script::Counts(1))))
            .limit_counters(counters)
    }

    #[test]
    fn what_fits_is_counted_together_and_the_rest_after_it() {
        let shares = shares(&cpu(4), &all(), None);
        let hardware: Vec<usize> = shares
            .iter()
            .map(|share| share.iter().filter(|e| e.is_hardware()).count())
            .collect();
        assert_eq!(
            hardware,
            [4, 4, 1, 0],
            "the kernel's come last, by themselves"
        );
        let mut events = shares.concat();
        events.sort();
        assert_eq!(events, all());
        for share in shares {
            assert!(
                count_together(&cpu(4), &share, &Scope::own(None)),
                "{share:?}"
            );
        }
        assert!(
            !count_together(&cpu(4), &all(), &Scope::own(None)),
            "which all of them together cannot be"
        );
    }

    #[test]
    fn a_cpu_with_counters_enough_needs_one_share_beside_the_kernels() {
        assert_eq!(super::shares(&cpu(9), &all(), None).len(), 2);
    }

    #[test]
    fn what_never_counts_all_the_time_is_left_out() {
        let source = Scripted::new([
            (Event::Cycles, Script::Multiplexed(9)),
            (Event::Instructions, Script::Counts(9)),
        ]);
        let wanted = [Event::Cycles, Event::Instructions];
        assert_eq!(
            super::shares(&source, &wanted, None),
            [vec![Event::Instructions]]
        );
        assert_eq!(super::shares(&source, &[], None), Vec::<Vec<Event>>::new());
    }

    #[test]
    fn without_hardware_events_the_kernels_are_one_share() {
        let software = [Event::ContextSwitches, Event::PageFaults];
        assert_eq!(super::shares(&System, &software, None), [software.to_vec()]);
    }
}
