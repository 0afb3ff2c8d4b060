//! Compares two ways in which tasks share a cache: time-shared on one CPU, and concurrently from
//! two CPUs.
//!
//! The same arrays are walked over in both cases. Each time is compared with that of a walk alone.
//! With time-sharing, the other task evicts lines between two walks; with concurrent use, during
//! each walk. A time slice has the length of one walk here. With n walks per time slice,
//! time-sharing costs 1/n of this time per walk.

use switchcost_record::{Case, HostManifest};

use crate::measurement::bounds::data_caches;
use crate::measurement::findings::{CaseFinding, Flag, FlagName, LosesMore, SharedCache, Verdict};
use crate::statistics::Interval;

/// Largest slowdown by concurrent use, as a share, of arrays of which two fit into a first-level
/// cache. If such arrays are slowed down more, the CPUs share a core or its clock, and the effect
/// of caches cannot be separated.
const WITHOUT_CACHES: f64 = 0.1;

/// Returns the comparison of both ways of sharing, for every size at which tasks ran concurrently.
pub(crate) fn shared_cache(results: &[CaseFinding], host: &HostManifest) -> Vec<SharedCache> {
    let withheld = shares_more_than_a_cache(results, host);
    let at_once = results
        .iter()
        .enumerate()
        .filter(|(_, finding)| is_at_once(&finding.case));
    at_once
        .map(|(place, finding)| one(results, place, finding, withheld.as_deref()))
        .collect()
}

fn is_at_once(case: &Case) -> bool {
    !case.mechanism.hands_over()
}

fn one(
    results: &[CaseFinding],
    at_once: usize,
    found: &CaseFinding,
    withheld: Option<&str>,
) -> SharedCache {
    let is_same = |other: &CaseFinding| {
        let (own, case) = (&found.case, &other.case);
        !is_at_once(case)
            && case.placement.is_one_cpu()
            && case.away.is_none()
            && (case.working_set, case.between, case.tasks)
                == (own.working_set, own.between, own.tasks)
    };
    let in_turn = results.iter().position(is_same);
    let turns = in_turn.and_then(|place| results.get(place));
    let in_turn_ns = turns.and_then(|finding| finding.indirect_reload_ns.clone());
    let at_once_ns = found.total_ns.clone();
    let both = in_turn_ns.as_ref().zip(at_once_ns.as_ref());
    let missing = || unmeasured(turns, "in turn").or_else(|| unmeasured(Some(found), "at once"));
    let why = missing().or_else(|| withheld.map(str::to_owned));
    let difference = both
        .filter(|_| why.is_none())
        .map(|(in_turn, at_once)| Interval::from(in_turn) - at_once.into());
    SharedCache {
        working_set: found.case.working_set,
        in_turn,
        at_once,
        alone_ns: found.walk_ns.clone(),
        in_turn_ns,
        at_once_ns,
        in_turn_less_at_once_ns: difference,
        loses_more: difference.map_or(LosesMore::Inconclusive, judge),
        why,
    }
}

fn judge(difference: Interval) -> LosesMore {
    match (difference.low > 0.0, difference.high < 0.0) {
        (true, _) => LosesMore::InTurn,
        (_, true) => LosesMore::AtOnce,
        _ => LosesMore::Inconclusive,
    }
}

fn unmeasured(finding: Option<&CaseFinding>, how: &str) -> Option<String> {
    match finding {
        None => Some(format!("the same was not measured {how}")),
        Some(CaseFinding {
            verdict: Verdict::NotMeasured { why },
            ..
        }) => Some(format!("{how}: {why}")),
        Some(_) => None,
    }
}

/// Returns the reason why the slowdown by concurrent use cannot be attributed to caches; `None` if
/// a control case shows that it can, or if no cache is known.
fn shares_more_than_a_cache(results: &[CaseFinding], host: &HostManifest) -> Option<String> {
    let nearest = data_caches(host).first().map(|cache| cache.size_bytes.0)?;
    let fits = |finding: &&CaseFinding| finding.case.working_set.size_bytes.0 * 2 <= nearest;
    let control = results
        .iter()
        .filter(|finding| is_at_once(&finding.case))
        .filter(fits);
    let control = control.min_by_key(|finding| finding.case.working_set.size_bytes);
    let numbers = control.and_then(|finding| {
        Some((
            finding,
            finding.total_ns.as_ref()?,
            finding.walk_ns.as_ref()?,
        ))
    });
    let Some((finding, slower, alone)) = numbers else {
        return Some(
            "no array that fits twice in the first level was measured, so it is unknown whether the CPUs share more than a \
             cache; add --size 4KiB"
                .to_owned(),
        );
    };
    let [least, most] = [slower.low, slower.high].map(|end| end / alone.estimate);
    (most > WITHOUT_CACHES).then(|| {
        format!(
            "with {} each, which fits in each CPU's first level, concurrent walks are {:.0} to {:.0} % slower: the CPUs also \
             share a core or its clock, so the cost of the shared cache cannot be separated",
            finding.case.working_set.size_bytes,
            least * 100.0,
            most * 100.0
        )
    })
}

/// Returns the flag that a guest knows only from its hypervisor which CPUs share a cache; `None` on
/// a physical machine, if the hypervisor is unknown, or if `found` is empty.
pub(crate) fn guest_flag(found: &[SharedCache], host: &HostManifest) -> Option<Flag> {
    let name = host
        .hypervisor
        .known()
        .filter(|name| *name != "none" && !found.is_empty())?;
    let detail = format!(
        "{name} reports that these CPUs share a cache, but may run them on any cores: if concurrent walks lose nothing, the \
         CPUs may share no cache"
    );
    Some(Flag {
        name: FlagName::TopologyOfAGuest,
        detail,
    })
}

#[cfg(test)]
mod tests {
    use switchcost_record::Mechanism;
    use switchcost_units::Bytes;

    use super::*;
    use crate::testing::{FakeCase, assert_near, assert_within, fake_record, host, pipe};
    use crate::{Findings, analyse};

    fn in_turn(size: Bytes, reload_ns: f64) -> FakeCase {
        let mut case = pipe().with_set(size).noise(0.0);
        case.reload_ns = reload_ns;
        case
    }

    /// Makes a concurrent case with a walk that takes 10 us alone.
    fn at_once(size: Bytes, reload_ns: f64) -> FakeCase {
        let mut case = in_turn(size, reload_ns);
        (case.baseline_ns, case.switch_ns) = (0.0, 0.0);
        case.across_cpus()
            .change(|case| case.mechanism = Mechanism::Concurrent)
    }

    const CONTROL: Bytes = Bytes::kib(4);
    const SIZE: Bytes = Bytes::kib(64);

    fn found(cases: Vec<FakeCase>) -> Findings {
        analyse(&fake_record(cases, 8))
    }

    fn of_size(found: &Findings) -> &SharedCache {
        let mut sizes = found.shared_cache.iter();
        let found = sizes.find(|one| one.working_set.size_bytes == SIZE);
        found.expect("this size")
    }

    #[test]
    fn whichever_loses_more_is_reported_with_its_interval() {
        for (turns, once, wanted) in [
            (4_000.0, 1_000.0, LosesMore::InTurn),
            (1_000.0, 4_000.0, LosesMore::AtOnce),
            (2_000.0, 2_010.0, LosesMore::Inconclusive),
        ] {
            let found = found(vec![
                in_turn(SIZE, turns),
                at_once(CONTROL, 10.0),
                at_once(SIZE, once),
            ]);
            let one = of_size(&found);
            assert_eq!(
                (one.loses_more, &one.why),
                (wanted, &None),
                "{turns} {once}"
            );
            assert_eq!((one.in_turn, one.at_once), (Some(0), 2));
            assert_near(&one.in_turn_ns, turns, 0.01);
            assert_near(&one.at_once_ns, once, 0.01);
            assert_near(&one.alone_ns, 10_000.0, 0.01);
            let difference = one.in_turn_less_at_once_ns.expect("a difference");
            assert_within(difference.estimate, turns - once, 1.0);
            assert!(
                difference.low < turns - once && turns - once < difference.high,
                "{difference:?}"
            );
        }
    }

    /// The limit on the slowdown of the control case is 1 us, a tenth of a walk alone.
    #[test]
    fn cpus_that_share_more_than_a_cache_are_not_compared() {
        let shared = |slower| {
            found(vec![
                in_turn(SIZE, 4_000.0),
                at_once(CONTROL, slower),
                at_once(SIZE, 3_000.0),
            ])
        };
        let apart = shared(900.0);
        assert_eq!(of_size(&apart).loses_more, LosesMore::InTurn);
        let together = shared(2_000.0);
        let one = of_size(&together);
        assert_eq!(
            (one.loses_more, one.in_turn_less_at_once_ns),
            (LosesMore::Inconclusive, None)
        );
        let why = one.why.as_ref().expect("a reason");
        assert!(
            why.starts_with(
                "with 4 KiB each, which fits in each CPU's first level, concurrent walks are 19 to"
            ),
            "{why}"
        );
        assert!(one.at_once_ns.is_some(), "the numbers stand");
    }

    #[test]
    fn without_a_control_or_without_turns_nothing_is_compared() {
        let alone = found(vec![in_turn(SIZE, 4_000.0), at_once(SIZE, 1_000.0)]);
        let no_turns = found(vec![at_once(CONTROL, 10.0), at_once(SIZE, 1_000.0)]);
        for (found, expected) in [
            (alone, "add --size 4KiB"),
            (no_turns, "the same was not measured in turn"),
        ] {
            let why = of_size(&found).why.as_deref().expect("a reason");
            assert!(why.contains(expected), "{why}");
        }
        assert!(found(vec![in_turn(SIZE, 4_000.0)]).shared_cache.is_empty());
    }

    #[test]
    fn walks_at_once_have_no_hand_off() {
        let found = found(vec![at_once(SIZE, 1_000.0)]);
        let one = &found.results[0];
        assert!(
            one.direct_ns.is_none() && one.handoff_ns.is_none() && one.indirect_ns.is_none(),
            "{one:?}"
        );
        assert!(
            one.flags
                .iter()
                .all(|flag| flag.name != FlagName::HandoffAcrossCpus),
            "{:?}",
            one.flags
        );
    }

    #[test]
    fn a_guest_says_whose_word_it_is() {
        let found = found(vec![at_once(SIZE, 1_000.0)]).shared_cache;
        let mut host = host();
        let named = |host: &HostManifest| guest_flag(&found, host).map(|flag| flag.detail);
        host.hypervisor = switchcost_record::Fact::Known("KVM".to_owned());
        assert!(named(&host).is_some_and(|detail| {
            detail.starts_with("KVM reports that these CPUs share a cache")
        }));
        assert_eq!(guest_flag(&[], &host), None);
        host.hypervisor = switchcost_record::Fact::Known("none".to_owned());
        assert_eq!(named(&host), None);
    }
}
