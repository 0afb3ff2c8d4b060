//! Describes how earlier runs on this machine contribute to the intervals.

use switchcost_analysis::{BetweenRuns, CaseFinding, Findings, Source};
use switchcost_record::{EarlierRuns, Header};

use crate::Page;
use crate::quantity::number;

/// Maximum number of reasons given for records that are left out.
const REASONS: usize = 2;

/// Adds a sentence on the earlier runs, if the record refers to earlier records.
pub(super) fn add(page: &mut Page, header: &Header, findings: &Findings) {
    describe_earlier(header, findings)
        .into_iter()
        .for_each(|words| page.prose(words));
}

/// Returns a sentence on the earlier runs; `None` if the record refers to no earlier records.
fn describe_earlier(header: &Header, findings: &Findings) -> Option<String> {
    let earlier = header.earlier.as_ref()?;
    let costs: Vec<(&CaseFinding, &BetweenRuns)> = findings
        .results
        .iter()
        .filter_map(|finding| Some((finding, finding.between_runs.as_ref()?)))
        .collect();
    let own: Vec<(&CaseFinding, &BetweenRuns)> = costs
        .iter()
        .copied()
        .filter(|(_, runs)| runs.source == Source::EarlierRecords)
        .collect();
    let records = records(earlier);
    if own.is_empty() {
        let most = costs
            .iter()
            .map(|(_, runs)| runs.earlier_runs)
            .max()
            .unwrap_or(0);
        return Some(format!(
            "intervals do not use earlier runs of this machine, since only {most} of the 7 needed are usable ({records})"
        ));
    }
    let runs = range(
        own.iter().map(|(_, runs)| f64::from(runs.earlier_runs)),
        |runs| format!("{runs:.0}"),
    );
    let shares = range(own.iter().map(|(_, runs)| runs.share * 100.0), number);
    let of = if own.len() < costs.len() {
        format!(" of {} of {} costs", own.len(), costs.len())
    } else {
        String::new()
    };
    Some(format!(
        "intervals{of} from {runs} earlier runs of this machine, {}, which differ by {shares} % ({records}){}",
        span(&own),
        out_of_reach(&own, findings.plan.precision)
    ))
}

/// Formats the range from the least to the largest value with the function `written`.
fn range(values: impl Iterator<Item = f64> + Clone, written: impl Fn(f64) -> String) -> String {
    let (least, most) = (
        values.clone().fold(f64::INFINITY, f64::min),
        values.fold(0.0, f64::max),
    );
    let (least, most) = (written(least), written(most));
    if least == most {
        least
    } else {
        format!("{least} to {most}")
    }
}

/// Formats the days of the first and the last earlier run.
fn span(own: &[(&CaseFinding, &BetweenRuns)]) -> String {
    let day = |moment: &str| moment.split('T').next().unwrap_or_default().to_owned();
    let since = own
        .iter()
        .filter_map(|(_, runs)| runs.since.as_deref())
        .min()
        .map(day)
        .unwrap_or_default();
    let until = own
        .iter()
        .filter_map(|(_, runs)| runs.until.as_deref())
        .max()
        .map(day)
        .unwrap_or_default();
    if since == until {
        since
    } else {
        format!("{since} to {until}")
    }
}

/// Formats the number of earlier records, and the most frequent reasons why some of them were left
/// out.
fn records(earlier: &EarlierRuns) -> String {
    let mut reasons: Vec<(&str, u32)> = earlier
        .left_out
        .iter()
        .map(|(why, count)| (why.as_str(), *count))
        .collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let named: Vec<String> = reasons
        .iter()
        .take(REASONS)
        .map(|(why, count)| format!("{count} {why}"))
        .collect();
    let left_out = if named.is_empty() {
        String::new()
    } else {
        format!("; left out: {}", named.join(", "))
    };
    format!(
        "{} {} found{left_out}",
        earlier.found,
        if earlier.found == 1 {
            "record"
        } else {
            "records"
        }
    )
}

/// Returns a sentence on the best precision that can be reached, if runs differ too much for the
/// requested precision; empty otherwise.
fn out_of_reach(own: &[(&CaseFinding, &BetweenRuns)], wanted: f64) -> String {
    let beyond: Vec<f64> = own
        .iter()
        .map(|(_, runs)| runs.least_half_width)
        .filter(|least| *least >= wanted)
        .collect();
    if beyond.is_empty() {
        return String::new();
    }
    let of = if own.len() > 1 {
        format!(" for {} of {} costs", beyond.len(), own.len())
    } else {
        String::new()
    };
    let least = range(beyond.iter().map(|least| least * 100.0), number);
    format!(
        "; at best +-{least} % can be reached{of}, not +-{} %",
        number(wanted * 100.0)
    )
}
