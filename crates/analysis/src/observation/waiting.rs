use std::collections::BTreeMap;

use switchcost_record::observation::Behind;

use super::KeptWaitingFinding;

/// Matrix of waiting times for a CPU: observed programs by programs that had the CPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting<'a> {
    /// Names of the observed programs, longest waits first; untrusted text that must be escaped
    /// before it is shown.
    pub observed: Vec<&'a str>,
    /// Programs that had the CPU during the waits, longest waits first. If some programs are not
    /// listed, a last entry `None` stands for them.
    pub behind: Vec<Option<&'a Behind>>,
    /// Waiting times in nanoseconds: one row per observed program, one column per entry of
    /// `behind`.
    pub wait_ns: Vec<Vec<f64>>,
}

/// Returns the matrix with at most `most_observed` rows, and `most_behind` columns for listed
/// programs. The other columns are summed.
pub fn waiting(
    found: &[KeptWaitingFinding],
    most_observed: usize,
    most_behind: usize,
) -> Waiting<'_> {
    let observed = longest(
        found
            .iter()
            .map(|each| (each.observed.as_str(), each.wait_ns)),
        most_observed,
    );
    let drawn = || {
        found
            .iter()
            .filter(|each| observed.contains(&each.observed.as_str()))
    };
    let mut behind: Vec<Option<&Behind>> = longest(
        drawn().map(|each| (&each.behind, each.wait_ns)),
        most_behind,
    )
    .into_iter()
    .map(Some)
    .collect();
    if drawn().any(|each| !behind.contains(&Some(&each.behind))) {
        behind.push(None);
    }
    let mut wait_ns = vec![vec![0.0; behind.len()]; observed.len()];
    for each in drawn() {
        let row = observed.iter().position(|name| *name == each.observed);
        let column = behind
            .iter()
            .position(|other| other.is_none_or(|other| *other == each.behind));
        if let Some((row, column)) = row.zip(column) {
            wait_ns[row][column] += each.wait_ns;
        }
    }
    Waiting {
        observed,
        behind,
        wait_ns,
    }
}

/// Returns the keys with the largest sums, at most `most`.
fn longest<T: Ord + Copy>(each: impl Iterator<Item = (T, f64)>, most: usize) -> Vec<T> {
    let mut sums: BTreeMap<T, f64> = BTreeMap::new();
    each.for_each(|(of, ns)| *sums.entry(of).or_default() += ns);
    let mut sums: Vec<(T, f64)> = sums.into_iter().collect();
    sums.sort_by(|a, b| b.1.total_cmp(&a.1));
    sums.into_iter().take(most).map(|(of, _)| of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(observed: &str, behind: &Behind, wait_ns: f64) -> KeptWaitingFinding {
        let (observed, behind) = (observed.to_owned(), behind.clone());
        KeptWaitingFinding {
            observed,
            is_kernel: false,
            behind,
            is_own: false,
            wait_ns,
            share: 0.0,
            waits: None,
        }
    }

    #[test]
    fn all_that_a_program_waited_is_behind_somebody() {
        let other = |name: &str| Behind::Process(name.to_owned());
        let (cc, ld, no_process) = (other("cc"), other("ld"), Behind::Nobody);
        let found = [
            kept("a", &cc, 5.0),
            kept("b", &cc, 4.0),
            kept("b", &ld, 3.0),
            kept("b", &no_process, 1.0),
        ];
        let all = waiting(&found, 2, 3);
        assert_eq!(
            (all.observed, all.behind),
            (
                vec!["b", "a"],
                vec![Some(&cc), Some(&ld), Some(&no_process)]
            )
        );
        assert_eq!(all.wait_ns, [[4.0, 3.0, 1.0], [5.0, 0.0, 0.0]]);
        let few = waiting(&found, 1, 1);
        assert_eq!(
            (&few.observed, &few.behind),
            (&vec!["b"], &vec![Some(&cc), None])
        );
        assert_eq!(few.wait_ns, [[4.0, 4.0]]);
        assert!(waiting(&[], 1, 1).wait_ns.is_empty());
    }
}
