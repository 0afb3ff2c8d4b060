use switchcost_analysis::{CaseFinding, Estimate, Findings, Interval};
use switchcost_record::{Between, Class, MeasureRecord, Mechanism};
use switchcost_units::Bytes;

use super::{class, measured};
use crate::plain::plain;
use crate::quantity::{centre, interval, is_cost, number, with_interval};

/// Returns the answer, such as: `A goroutine hand-off over a channel costs 101 ns (95 to 107), and
/// one between OS threads over a futex costs 1.68 us (1.61 to 1.75), 15 to 17 times as much. With
/// 256 KiB of data each ...`
pub(in crate::measure) fn describe_answer(record: &MeasureRecord, findings: &Findings) -> String {
    let of_runtime =
        |found: &&CaseFinding| found.case.runtime.is_some() && found.case.working_set.is_empty();
    let first = measured(findings)
        .filter(of_runtime)
        .find(|found| class(found) == Class::HandOff);
    let Some(found) = first.or_else(|| measured(findings).find(of_runtime)) else {
        return nothing(findings);
    };
    let Some(cost) = &found.handoff_ns else {
        return nothing(findings);
    };
    let what = row_subject(record, found);
    if !is_cost(cost) {
        return format!("The cost of {what} is {}.", with_interval(cost));
    }
    let mut text = format!(
        "{} costs {} ({})",
        capital(&what),
        centre(cost),
        interval(cost)
    );
    let Some((kernel, threads)) = thread(findings, found, Bytes(0)) else {
        return text + ".";
    };
    text += &format!(
        ", and one between OS threads {} costs {}",
        over(kernel),
        with_interval(&threads)
    );
    text += &format!(", {}.", times(&threads, cost));
    text + &data_sentence(findings, found) + &across_cpus(findings, found)
}

fn row_subject(record: &MeasureRecord, found: &CaseFinding) -> String {
    let of = found.case.runtime.as_ref();
    let facts = record
        .header
        .runtimes
        .iter()
        .find(|facts| of.is_some_and(|of| of.runtime == facts.name));
    let words = facts.and_then(|facts| {
        facts
            .handoffs
            .iter()
            .find(|handoff| of.is_some_and(|of| of.handoff == handoff.name))
    });
    let words = words.map_or_else(|| found.case.name(), |handoff| handoff.words.clone());
    let article = if words.starts_with(['a', 'e', 'i', 'o']) {
        "an"
    } else {
        "a"
    };
    format!("{article} {}", plain(&words))
}

fn capital(text: &str) -> String {
    text.replacen('a', "A", 1)
}

/// Returns the hand-off between OS threads under the same conditions as `beside`, with arrays of
/// `size`, and its cost; `None` if it was not measured.
fn thread<'a>(
    findings: &'a Findings,
    beside: &CaseFinding,
    size: Bytes,
) -> Option<(&'a CaseFinding, Estimate)> {
    let is_alike = |found: &&CaseFinding| {
        let case = &found.case;
        case.runtime.is_none()
            && case.between == Between::Thread
            && case.working_set.size_bytes == size
            && (case.tasks, &case.placement) == (beside.case.tasks, &beside.case.placement)
    };
    let found = measured(findings).find(is_alike)?;
    let cost = if size == Bytes(0) {
        found.handoff_ns.clone()
    } else {
        found.handoff_cost()
    };
    Some((found, cost.filter(is_cost)?))
}

fn over(found: &CaseFinding) -> String {
    match found.case.mechanism {
        Mechanism::Futex => "over a futex".to_owned(),
        other => format!("by {other}"),
    }
}

fn times(one: &Estimate, other: &Estimate) -> String {
    let ratio = Interval::from(one) / other.into();
    let range = |low: f64, high: f64| match (rounded(low), rounded(high)) {
        (low, high) if low == high => low,
        (low, high) => format!("{low} to {high}"),
    };
    match (ratio.low, ratio.high) {
        (low, high) if low > 1.0 => format!("{} times as much", range(low, high)),
        (low, high) if high < 1.0 => format!("{} times less", range(1.0 / high, 1.0 / low)),
        _ => "with no significant difference".to_owned(),
    }
}

fn rounded(ratio: f64) -> String {
    if ratio >= 10.0 {
        format!("{ratio:.0}")
    } else {
        number((ratio * 10.0).round() / 10.0)
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_owned()
    }
}

/// Returns a sentence on the hand-off `found` with arrays of the largest size that was measured
/// both for the runtime and for OS threads; empty if there is none.
fn data_sentence(findings: &Findings, found: &CaseFinding) -> String {
    let alike = measured(findings).filter(|other| {
        other.case.runtime == found.case.runtime
            && (other.case.tasks, &other.case.placement)
                == (found.case.tasks, &found.case.placement)
            && !other.case.working_set.is_empty()
    });
    let pairs = alike.filter_map(|other| {
        let size = other.case.working_set.size_bytes;
        Some((
            size,
            other.handoff_cost().filter(is_cost)?,
            thread(findings, other, size)?.1,
        ))
    });
    let Some((size, own, threads)) = pairs.max_by_key(|(size, ..)| *size) else {
        return String::new();
    };
    format!(
        " With {size} of data each, the first costs {}, and the second {}, {}.",
        with_interval(&own),
        with_interval(&threads),
        times(&threads, &own)
    )
}

/// Returns a sentence on the hand-off `found` across CPUs; empty if it was not measured.
fn across_cpus(findings: &Findings, found: &CaseFinding) -> String {
    let is_across = |other: &&CaseFinding| {
        other.case.runtime == found.case.runtime
            && (other.case.tasks, other.case.working_set)
                == (found.case.tasks, found.case.working_set)
            && other.case.placement.cpus.len() > found.case.placement.cpus.len()
    };
    let pair = |other: &CaseFinding| {
        Some((
            other.handoff_ns.clone().filter(is_cost)?,
            thread(findings, other, Bytes(0))?.1,
        ))
    };
    let Some((own, threads)) = measured(findings).find(is_across).and_then(pair) else {
        return String::new();
    };
    let times = times(&threads, &own);
    format!(
        " Across two CPUs, the first costs {}, and the second {}, {times}.",
        with_interval(&own),
        with_interval(&threads)
    )
}

fn nothing(findings: &Findings) -> String {
    let why = findings
        .results
        .iter()
        .filter(|found| found.case.runtime.is_some())
        .find_map(|found| match &found.verdict {
            switchcost_analysis::Verdict::NotMeasured { why } => {
                Some(format!(" For {}: {why}.", found.case.name()))
            }
            _ => None,
        });
    format!("No runtime was measured.{}", why.unwrap_or_default())
}
