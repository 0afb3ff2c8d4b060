//! What became of every single sample.

use record::MeasureRecord;

use crate::cleanliness::Context;
use crate::run::{by_case, usual_probes};

/// For each sample of the record, in its order, the names of the reasons why it does not enter an estimate; none for a
/// clean one. Samples that carried an instrument are judged as if they had not.
pub fn left_out(record: &MeasureRecord) -> Vec<Vec<&'static str>> {
    let probes = usual_probes(record);
    let by_case = by_case(record, &record.samples, |sample| sample.case);
    let contexts = record.header.plan.cases.iter().zip(&by_case).map(|(case, samples)| {
        let plain: Vec<_> = samples.iter().copied().filter(|sample| sample.is_plain()).collect();
        Context::new(case, &plain, probes.get(&case.placement.cpus.first().copied()).copied())
    });
    let contexts: Vec<Context<'_>> = contexts.collect();
    let reasons = |case: u32| contexts.get(case as usize);
    record.samples.iter().map(|sample| reasons(sample.case).map_or_else(Vec::new, |c| c.reasons(sample))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use crate::testing::{FakeCase, fake_record};
    use units::Nanos;

    /// The counts that the findings give by reason are those of the single samples.
    #[test]
    fn single_samples_add_up_to_what_is_excluded() {
        let mut record = fake_record(vec![FakeCase::pipe(), FakeCase::fiber()], 6);
        record.samples[3].evidence.steal_ns = Some(Nanos::millis(10));
        record.samples[3].evidence.is_clock_backwards = true;
        let of_other =
            record.samples.iter().position(|sample| sample.case != record.samples[3].case).expect("two cases");
        record.samples[of_other].evidence.major_faults = 1_000_000;
        let left_out = left_out(&record);
        assert_eq!(left_out.len(), record.samples.len());
        assert_eq!(left_out[3], ["clock-backwards", "steal"]);
        assert_eq!(left_out[of_other], ["faults"]);
        assert!(left_out[0].is_empty());
        let findings = analyse(&record);
        for (number, finding) in findings.results.iter().enumerate() {
            let of_case = record.samples.iter().zip(&left_out).filter(|(sample, _)| sample.case as usize == number);
            let dirty = of_case.filter(|(_, reasons)| !reasons.is_empty()).count();
            assert_eq!((dirty, finding.excluded.total), (1, 1), "{number}");
        }
    }
}
