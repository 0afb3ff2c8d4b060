//! Explains how the levels of a design are simulated, and what prevents a faster method.

use switchcost_design::Design;

use crate::machine::{FallbackReason, fallbacks};

/// Returns the name of each level, then of each TLB, with the method by which its lookups are
/// answered. The design must have passed its check.
pub fn explain(design: &Design) -> Vec<(String, String)> {
    let ways = fallbacks(design).into_iter();
    ways.map(|(name, fallback)| (name, sentence(fallback)))
        .collect()
}

fn sentence(fallback: Option<FallbackReason>) -> String {
    let Some(reason) = fallback else {
        return "one lookup answers for all three views: plain LRU".to_owned();
    };
    format!("each view is looked up by itself: {}", because(reason))
}

fn because(reason: FallbackReason) -> &'static str {
    match reason {
        FallbackReason::Replacement => {
            "the line that leaves a set is not always the least recently used one"
        }
        FallbackReason::VictimCache => "lines come back from a victim cache",
        FallbackReason::StreamBuffers => "lines come in from stream buffers",
        FallbackReason::Prefetch => "lines are prefetched into the sets",
        FallbackReason::Partition => "its ways are partitioned: a program fills its own only",
        FallbackReason::Exclusive => "it is exclusive: a line that is found leaves",
        FallbackReason::CarriedAddress => {
            "its tags are virtual, and a later level needs physical addresses"
        }
        FallbackReason::Time => {
            "the design has buses or timed stream buffers, and each view has a clock of its own"
        }
        FallbackReason::Behind => "the levels before it are simulated elsewhere",
    }
}

#[cfg(test)]
mod tests {
    use switchcost_design::{shipped, vary};

    use super::explain;

    #[test]
    fn says_which_way_is_taken_and_why_not_the_faster_one() {
        let of = |name: &str| {
            let design = shipped::find(name).expect("it is shipped");
            let lines = explain(&design).into_iter();
            lines
                .map(|(level, way)| format!("{level}: {way}"))
                .collect::<Vec<_>>()
        };
        let all = "one lookup answers for all three views: plain LRU";
        let zen = of("zen4-epyc-9004");
        assert_eq!(zen[0], format!("L1I: {all}"));
        assert_eq!(zen[2], format!("L2: {all}"));
        assert_eq!(
            zen[3],
            "L3: each view is looked up by itself: it is exclusive: a line that is found leaves"
        );
        assert!(
            of("li2007-xeon")[0].contains("a clock of its own"),
            "{:?}",
            of("li2007-xeon")
        );
    }

    #[test]
    fn says_what_a_field_that_is_varied_costs() {
        let of = |axis: &str| {
            let base = shipped::find("plain-lru").expect("it is shipped");
            let varied = vary(&base, &[axis]).expect("it can be built").remove(0);
            explain(&varied).swap_remove(2).1
        };
        let alone = "each view is looked up by itself";
        assert_eq!(
            of("L2.partition=default:3"),
            format!("{alone}: its ways are partitioned: a program fills its own only")
        );
        for prefetcher in [
            "L2.stride=64:2:4",
            "L2.streamer=32:2:20",
            "L2.prefetch=next-line",
        ] {
            assert_eq!(
                of(prefetcher),
                format!("{alone}: lines are prefetched into the sets")
            );
        }
        for policy in ["drrip", "ship"] {
            let because = "the line that leaves a set is not always the least recently used one";
            assert_eq!(
                of(&format!("L2.replacement={policy}")),
                format!("{alone}: {because}")
            );
        }
    }
}
