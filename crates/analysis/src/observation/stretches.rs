use switchcost_record::observation::{Moment, Observation, Source};
use switchcost_units::Nanos;

/// Switches and waits of the observed tasks in one interval of the observation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// Start of the interval, in seconds since the start of the observation.
    pub from_seconds: f64,
    /// End of the interval, in seconds since the start of the observation.
    pub to_seconds: f64,
    /// Number of voluntary switches per second.
    pub voluntary: f64,
    /// Number of involuntary switches per second, including calls of sched_yield.
    pub involuntary: f64,
    /// Mean number of tasks that waited for a CPU; `None` if not counted.
    pub waiting: Option<f64>,
}

/// Returns the intervals of an observation in order. Empty for a record of an earlier version.
pub fn stretches(observation: &Observation) -> Vec<Stretch> {
    let moments = long_enough(&observation.moments);
    // Run times are 0 if the kernel counts neither waits nor run times.
    let has_waits =
        observation.source != Source::Perf && moments.iter().any(|moment| moment.run_ns.0 > 0);
    let begins = std::iter::once(Nanos(0)).chain(moments.iter().map(|moment| moment.end_ns));
    begins
        .zip(&moments)
        .map(|(begin, moment)| stretch(begin, moment, has_waits))
        .collect()
}

fn stretch(begin: Nanos, moment: &Moment, has_waits: bool) -> Stretch {
    let seconds = length(begin, moment) / 1e9;
    Stretch {
        from_seconds: begin.0 as f64 / 1e9,
        to_seconds: moment.end_ns.0 as f64 / 1e9,
        voluntary: moment.voluntary as f64 / seconds,
        involuntary: moment.involuntary as f64 / seconds,
        waiting: has_waits.then(|| moment.wait_ns.0 as f64 / 1e9 / seconds),
    }
}

fn length(begin: Nanos, moment: &Moment) -> f64 {
    moment.end_ns.0.saturating_sub(begin.0) as f64
}

/// Merges each interval that is shorter than half of the one before, such as the last, into the one
/// before. A wait that ends in a short interval may have lasted longer than the interval.
fn long_enough(moments: &[Moment]) -> Vec<Moment> {
    let mut all: Vec<Moment> = Vec::new();
    for moment in moments {
        let ends = all
            .iter()
            .rev()
            .map(|moment| moment.end_ns)
            .chain([Nanos(0)]);
        let [end, before] = [0, 1].map(|back| ends.clone().nth(back).unwrap_or_default());
        let is_short = length(end, moment) < 0.5 * end.0.saturating_sub(before.0) as f64
            || moment.end_ns <= end;
        match all.last_mut().filter(|_| is_short) {
            Some(last) => *last = together(last, moment),
            None if moment.end_ns > end => all.push(*moment),
            None => (),
        }
    }
    all
}

fn together(one: &Moment, next: &Moment) -> Moment {
    Moment {
        end_ns: one.end_ns.max(next.end_ns),
        voluntary: one.voluntary.saturating_add(next.voluntary),
        involuntary: one.involuntary.saturating_add(next.involuntary),
        run_ns: Nanos(one.run_ns.0.saturating_add(next.run_ns.0)),
        wait_ns: Nanos(one.wait_ns.0.saturating_add(next.wait_ns.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{observation, tasks};
    use super::*;
    use crate::testing::assert_within;

    fn moment(end_ms: u64, switches: u64) -> Moment {
        let wait_ns = Nanos(switches * 1_000_000);
        Moment {
            end_ns: Nanos::millis(end_ms),
            voluntary: switches,
            involuntary: 1,
            run_ns: Nanos(1),
            wait_ns,
        }
    }

    fn of(moments: Vec<Moment>, source: Source) -> Vec<Stretch> {
        stretches(&Observation {
            moments,
            source,
            ..observation(tasks(Vec::new()))
        })
    }

    #[test]
    fn counts_become_rates_of_their_own_stretch() {
        let found = of(vec![moment(100, 50), moment(300, 50)], Source::Bpf);
        let second = Stretch {
            from_seconds: 0.1,
            to_seconds: 0.3,
            voluntary: 250.0,
            involuntary: 5.0,
            waiting: Some(0.25),
        };
        assert_eq!(
            (found.len(), found[0].voluntary, found[1]),
            (2, 500.0, second)
        );
    }

    #[test]
    fn a_short_rest_of_the_window_has_no_rate_of_its_own() {
        let found = of(
            vec![moment(100, 10), moment(200, 10), moment(201, 10)],
            Source::Bpf,
        );
        assert_eq!(found.len(), 2);
        assert_within(found[1].voluntary, 20.0 / 0.101, 1e-9);
        // No moment is earlier than the one before.
        let backwards = of(vec![moment(100, 10), moment(50, 10)], Source::Bpf);
        assert_eq!((backwards.len(), backwards[0].voluntary), (1, 200.0));
        assert_eq!(of(vec![moment(0, 10)], Source::Bpf), []);
    }

    #[test]
    fn waits_that_were_not_counted_are_none() {
        assert_eq!(of(vec![moment(100, 10)], Source::Perf)[0].waiting, None);
        let unknown = Moment {
            run_ns: Nanos(0),
            wait_ns: Nanos(0),
            ..moment(100, 10)
        };
        assert_eq!(of(vec![unknown], Source::Proc)[0].waiting, None);
    }
}
