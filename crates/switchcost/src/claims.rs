//! Claims CPUs for a measurement, so that two measurements do not use the same CPU.

use switchcost_host::cpu_claim::{Claimed, CpuClaim, claim};
use switchcost_measure::PlacementChoice;
use switchcost_record::{Control, ControlOutcome};
use switchcost_units::CpuId;

use crate::messages::say;

const REMEDY: &str = "wait for that run, or choose another CPU with --cpu";

/// CPUs that this process has claimed for measuring. Dropping this value releases them.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    held: Vec<(CpuId, CpuClaim)>,
    /// Notes on other measurements, to be printed when this measurement begins.
    notes: Vec<String>,
    /// CPUs requested by the user that another process has claimed, with its PID if known.
    contested: Vec<(CpuId, Option<i32>)>,
}

impl Claims {
    /// Claims the first of `cpus` that no other measurement uses, or returns the first CPU if all
    /// are in use; `None` without CPUs.
    pub(crate) fn first_free(&mut self, cpus: &[CpuId]) -> Option<CpuId> {
        let (found, taken) = first_free(cpus, claim);
        let Some((cpu, claim)) = found else {
            return cpus.first().copied();
        };
        for (other, process) in taken {
            let process = named(process);
            self.notes.push(format!(
                "{process} is measuring on CPU {other}, so this run uses CPU {cpu}"
            ));
        }
        self.held.push((cpu, claim));
        Some(cpu)
    }

    /// Claims the CPUs of a placement. Adds a note for each CPU that another measurement uses,
    /// because the two measurements will disturb each other.
    pub(crate) fn named(&mut self, placement: &PlacementChoice) {
        for cpu in placement.cpus() {
            if self.held.iter().any(|(held, _)| *held == cpu) {
                continue;
            }
            match claim(cpu) {
                Claimed::Ours(claim) => self.held.push((cpu, claim)),
                Claimed::Anothers(process) => self.contested.push((cpu, process)),
            }
        }
        self.notes
            .extend(self.contested.iter().map(|(cpu, process)| {
                let found = named(*process);
                format!("{found} also measures on CPU {cpu}, which disturbs both; {REMEDY}")
            }));
    }

    /// Returns a refused control for the record, for each CPU that this measurement shares with
    /// another one.
    pub(crate) fn refused(&self) -> Vec<Control> {
        let refused = |(cpu, process): &(CpuId, Option<i32>)| Control {
            name: "cpu-alone".to_owned(),
            wanted: format!("CPU {cpu} for this measurement alone"),
            outcome: ControlOutcome::Refused {
                found: format!("{} measuring on CPU {cpu}", named(*process)),
                needed: "it alone: both measurements are disturbed".to_owned(),
                fix: REMEDY.to_owned(),
                lasting_fix: String::new(),
            },
        };
        self.contested.iter().map(refused).collect()
    }

    /// Prints the notes on other measurements. A note does not prevent the measurement.
    pub(crate) fn report(&mut self) {
        self.notes.drain(..).for_each(|note| say!("{note}"));
    }
}

fn named(process: Option<i32>) -> String {
    process.map_or_else(
        || "another process".to_owned(),
        |process| format!("process {process}"),
    )
}

/// The first CPU that could be claimed, and the CPUs before it, which other processes have claimed,
/// each with the PID of its process if known.
type FirstFree = (Option<(CpuId, CpuClaim)>, Vec<(CpuId, Option<i32>)>);

fn first_free(cpus: &[CpuId], mut claim: impl FnMut(CpuId) -> Claimed) -> FirstFree {
    let mut taken = Vec::new();
    for cpu in cpus {
        match claim(*cpu) {
            Claimed::Ours(claim) => return (Some((*cpu, claim)), taken),
            Claimed::Anothers(process) => taken.push((*cpu, process)),
        }
    }
    (None, taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_that_another_measures_on_is_passed_over() {
        let cpus = [CpuId(3), CpuId(1), CpuId(0)];
        let of_another = |cpu: CpuId| match cpu.0 {
            3 => Claimed::Anothers(Some(7)),
            _ => claim(CpuId(100_000 + cpu.0)),
        };
        let (found, taken) = first_free(&cpus, of_another);
        assert_eq!(found.map(|(cpu, _)| cpu), Some(CpuId(1)));
        assert_eq!(taken, [(CpuId(3), Some(7))]);
        let (none, taken) = first_free(&cpus, |_| Claimed::Anothers(None));
        assert!(none.is_none() && taken.len() == 3);
    }

    #[test]
    fn a_named_cpu_that_another_measures_on_is_a_control_refused_in_the_record() {
        let place = PlacementChoice::One(CpuId(200_000));
        let (mut first, mut second) = (Claims::default(), Claims::default());
        first.named(&place);
        second.named(&place);
        assert_eq!((first.refused(), first.notes.len()), (vec![], 0));
        assert_eq!(second.notes.len(), 1);
        let [control] = &second.refused()[..] else {
            panic!("one CPU is not ours")
        };
        assert_eq!(control.name, "cpu-alone");
        let found = format!("process {} measuring on CPU 200000", std::process::id());
        assert!(
            matches!(&control.outcome, ControlOutcome::Refused { found: f, .. } if *f == found),
            "{control:?}"
        );
    }
}
