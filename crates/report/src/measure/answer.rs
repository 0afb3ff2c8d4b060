use analysis::{CaseFinding, Estimate, Findings, Verdict};
use record::{Between, Case, Mechanism};

use super::conditions::{label, placement, walk};
use super::row::has_numbers;
use crate::page::Page;
use crate::quantity::{centre, interval, is_cost, percent, with_interval};

/// The answer to the user's question in one or two sentences.
pub(super) fn add(page: &mut Page, findings: &Findings) {
    let reload = super::reload::in_words(findings);
    if reload.is_none() || headline(&findings.results).is_some_and(|(finding, _)| finding.case.away.is_none()) {
        page.paragraph(&answer(findings));
    }
    reload.into_iter().for_each(|sentence| page.paragraph(&format!("{sentence}.")));
}

fn answer(findings: &Findings) -> String {
    let Some((finding, estimate)) = headline(&findings.results) else { return nothing(findings) };
    let mut text = format!("{} {}", subject(finding), price(estimate));
    if let Some(more) = indirect(findings, finding) {
        text += &format!("; {more}");
    }
    text += ".";
    if finding.verdict == Verdict::Suspect {
        let names: Vec<_> = finding.flags.iter().map(|flag| flag.name).collect();
        text += &format!(" The number is suspect ({}): see the notes below.", names.join(", "));
    }
    text
}

/// The result that speaks for the run: a switch between two processes over a pipe, or else the first there is.
fn headline(results: &[CaseFinding]) -> Option<(&CaseFinding, &Estimate)> {
    let with = |number: fn(&CaseFinding) -> Option<&Estimate>| {
        move |f: &'_ &CaseFinding| has_numbers(f) && number(f).is_some_and(|e| e.estimate.is_finite())
    };
    let direct: Vec<_> = results.iter().filter(with(|f| f.direct_ns.as_ref())).collect();
    let is_classic = |c: &Case| c.mechanism == Mechanism::Pipe && c.between == Between::Process && c.tasks == 2;
    let is_empty = |f: &&&CaseFinding| f.case.working_set.is_empty();
    let classic = || direct.iter().filter(is_empty).find(|f| is_classic(&f.case));
    let chosen = classic().or_else(|| direct.iter().find(is_empty)).or(direct.first());
    if let Some(finding) = chosen {
        return finding.direct_ns.as_ref().map(|estimate| (*finding, estimate));
    }
    let finding = results.iter().find(with(|f| f.handoff_ns.as_ref()))?;
    finding.handoff_ns.as_ref().map(|estimate| (finding, estimate))
}

fn nothing(findings: &Findings) -> String {
    let why = findings.results.iter().find_map(|finding| match &finding.verdict {
        Verdict::NotMeasured { why } => Some(format!(" {}: {why}", label(&finding.case))),
        _ => None,
    });
    format!("Nothing was measured.{}", why.unwrap_or_default())
}

fn subject(finding: &CaseFinding) -> String {
    let what = if finding.direct_ns.is_some() { "switch" } else { "hand-off" };
    let between = match finding.case.between {
        Between::Process => "processes",
        Between::Thread => "threads",
        Between::User => "user-level contexts",
    };
    let place = if finding.case.placement.is_one_cpu() { "" } else { &format!(" ({})", placement(&finding.case)) };
    format!("A {what} between {between} {}{place}", means(finding.case.mechanism))
}

fn means(mechanism: Mechanism) -> &'static str {
    match mechanism {
        Mechanism::Pipe => "over a pipe",
        Mechanism::Eventfd => "through an eventfd",
        Mechanism::Futex => "through a futex",
        Mechanism::MutexCondvar => "through a mutex and a condition variable",
        Mechanism::MutexCondvarUnlocked => "through a mutex and a condition variable, notified unlocked,",
        Mechanism::Socketpair => "over a socket pair",
        Mechanism::Tcp => "over TCP",
        Mechanism::PosixSem => "through a POSIX semaphore",
        Mechanism::PosixMq => "through a POSIX message queue",
        Mechanism::Signal => "by a signal",
        Mechanism::Yield => "by sched_yield",
        Mechanism::Fiber => "by resuming a fiber",
        Mechanism::Ucontext => "by swapcontext",
        Mechanism::Green => "of a user-level thread library",
        Mechanism::GreenPreempt => "of a user-level thread library, preempted,",
        Mechanism::Async => "of an async runtime",
        Mechanism::Preempt => "by preemption",
        Mechanism::Synthetic => "that is made up",
    }
}

fn price(estimate: &Estimate) -> String {
    if !is_cost(estimate) {
        return format!("has a cost that is {}", centre(estimate));
    }
    let (cost, interval) = (centre(estimate), interval(estimate));
    let confidence = percent(estimate.confidence);
    format!("costs {cost} here ({interval} at {confidence} confidence, {} repetitions)", estimate.n)
}

/// The largest indirect cost under the headline's mechanism, or that there is none to be seen.
fn indirect(findings: &Findings, headline: &CaseFinding) -> Option<String> {
    let key = |c: &Case| (c.mechanism, c.between, c.tasks, c.placement.clone(), c.policy);
    let alike = findings.results.iter().filter(|f| has_numbers(f) && key(&f.case) == key(&headline.case));
    let mut priced: Vec<_> = alike.filter_map(|f| f.indirect_ns.as_ref().map(|estimate| (f, estimate))).collect();
    priced.sort_by(|(_, a), (_, b)| a.estimate.total_cmp(&b.estimate));
    if let Some((finding, estimate)) = priced.iter().rfind(|(_, estimate)| is_cost(estimate)) {
        let most = if priced.len() > 1 { ", the most of all that were tried" } else { "" };
        let suspect = if finding.verdict == Verdict::Suspect { ", and suspect" } else { "" };
        return Some(format!("{}, {} more{most}{suspect}", data(&finding.case), with_interval(estimate)));
    }
    let (finding, estimate) = priced.iter().max_by_key(|(finding, _)| finding.case.working_set.size_bytes)?;
    Some(format!("{}, the indirect cost is {}", data(&finding.case), centre(estimate)))
}

fn data(case: &Case) -> String {
    format!("with {} of data each ({})", case.working_set.size_bytes, walk(&case.working_set))
}
