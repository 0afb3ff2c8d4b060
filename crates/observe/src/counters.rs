//! Hardware counters that the BPF program reads at each switch, if the machine has them and they
//! pass known-answer tests.

use std::os::fd::AsFd;

use switchcost_host::perf::{CpuCounters, Event, System, prove, shares};
use switchcost_record::observation::CountedTurns;
use switchcost_record::{SelfTest, SelfTestOutcome};
use switchcost_units::{CpuId, Nanos};

use crate::kernel::Kernel;
use crate::layout::COUNTERS;
use crate::sums::histogram;
use crate::tables::Tables;

/// Events in the order of the BPF program's counters.
const EVENTS: [Event; COUNTERS] = [
    Event::Instructions,
    Event::Cycles,
    Event::L1dLoadMisses,
    Event::LlcLoadMisses,
];

/// Events that are counted, and the reasons why others are not.
#[derive(Clone, Default)]
pub(crate) struct Counters {
    /// Counted events, with their indices in [`EVENTS`].
    counted: Vec<(usize, Event)>,
    tests: Vec<SelfTest>,
}

impl Counters {
    /// Tests the events on a CPU. Without a valid count of instructions nothing is counted. A
    /// machine without hardware counters gets no message.
    pub(crate) fn prove(cpu: Option<CpuId>) -> Counters {
        let mut tests = prove(&System, &EVENTS[..1], cpu);
        if matches!(tests[0].outcome, SelfTestOutcome::Unavailable { .. }) {
            return Counters::default();
        }
        if tests[0].outcome == SelfTestOutcome::Admitted {
            tests.extend(prove(&System, &EVENTS[1..], cpu));
        }
        let is_admitted = |(place, _): &(usize, &Event)| {
            tests.get(*place).map(|test| &test.outcome) == Some(&SelfTestOutcome::Admitted)
        };
        let admitted: Vec<Event> = EVENTS
            .iter()
            .enumerate()
            .filter(is_admitted)
            .map(|(_, event)| *event)
            .collect();
        // Events that do not fit on the CPU's counters together with instructions are not counted.
        let together = shares(&System, &admitted, cpu)
            .into_iter()
            .next()
            .unwrap_or_default();
        let place = |event: &Event| EVENTS.iter().position(|of| of == event);
        let counted = together
            .iter()
            .filter_map(|event| Some((place(event)?, *event)));
        Counters {
            counted: counted.collect(),
            tests,
        }
    }

    /// Returns the set of counted events for the BPF program, one bit each.
    pub(crate) fn bits(&self) -> u8 {
        self.counted.iter().map(|(place, _)| 1 << place).sum()
    }

    /// Starts to count on `cpus`; returns `None` if no event is counted.
    pub(crate) fn open(
        &self,
        kernel: &mut Kernel,
        cpus: &[CpuId],
    ) -> Result<Option<CpuCounters>, String> {
        if self.counted.is_empty() {
            return Ok(None);
        }
        let table = kernel
            .array("counter_events")
            .map_err(|error| error.to_string())?;
        let counters = CpuCounters::place(&self.counted, cpus, table.as_fd(), COUNTERS);
        counters.map(Some).map_err(|why| why.to_string())
    }

    /// Gives up counting, for the reason `why`.
    pub(crate) fn refuse(&mut self, why: &str) {
        self.counted.clear();
        for test in &mut self.tests {
            test.outcome = SelfTestOutcome::Unavailable {
                why: why.to_owned(),
            };
        }
    }

    pub(crate) fn tests(&self) -> &[SelfTest] {
        &self.tests
    }

    /// Returns the counts of a task over its time slices; `None` if nothing is counted.
    pub(crate) fn turns(&self, tables: &Tables, slot: usize) -> Option<CountedTurns> {
        let counted = tables.counted(slot)?;
        let events = self
            .counted
            .iter()
            .map(|(place, event)| (event.to_string(), counted.sums[*place]));
        (!self.counted.is_empty()).then(|| CountedTurns {
            ran_ns: Nanos(counted.ran_ns),
            events: events.collect(),
            most_instructions_per_us: counted.most_per_us,
            instructions: histogram(&counted.turns),
        })
    }
}
