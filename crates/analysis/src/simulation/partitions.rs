//! Checks whether the keys of a cache partition match processes of the trace.

use switchcost_design::result::ProcessFacts;
use switchcost_design::{Design, Partition};

use itertools::Itertools;

/// Largest number of program names in a message.
const SHOWN: usize = 6;

/// Returns a text for each key of a partition that matches no process of the trace. A misspelt key
/// has no effect.
pub(crate) fn unmatched_keys(design: &Design, processes: &[ProcessFacts]) -> Vec<String> {
    let is_known = |key: &str| {
        processes
            .iter()
            .any(|one| Partition::names(key, &one.name, one.process))
    };
    let of_level = |level: &switchcost_design::Level| {
        let keys = level
            .partition
            .iter()
            .flat_map(Partition::masks)
            .map(|(key, _)| key);
        let unknown = keys.filter(|key| !is_known(key));
        unknown
            .map(|key| {
                format!(
                    "{} has ways for {key}, which is no process of the trace: {}",
                    level.name,
                    known(processes)
                )
            })
            .collect::<Vec<_>>()
    };
    design.levels.iter().flat_map(of_level).collect()
}

fn known(processes: &[ProcessFacts]) -> String {
    let mut names = processes
        .iter()
        .map(|process| process.name.as_str())
        .unique()
        .collect_vec();
    let more = names.len().saturating_sub(SHOWN);
    names.truncate(SHOWN);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    format!("they are {}{more}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::super::testing::Run;

    #[test]
    fn a_program_that_is_misspelt_is_reported() {
        let mut run = Run::turns(&[0]);
        let mut of = |partition: &str| {
            let level = &mut run.head.designs[0].design.levels[1];
            level.partition = Some(partition.parse().expect("a partition"));
            let flags = run.design().flags.into_iter();
            flags
                .filter(|flag| flag.name == crate::FlagName::PartitionWithoutProcess)
                .map(|flag| flag.detail)
                .collect::<Vec<_>>()
        };
        assert!(of("long:1+process:2:2+default:1").is_empty());
        assert_eq!(
            of("lnog:1+process:3:2"),
            [
                "L1D has ways for lnog, which is no process of the trace: they are long, short",
                "L1D has ways for process:3, which is no process of the trace: they are long, short"
            ]
        );
    }
}
