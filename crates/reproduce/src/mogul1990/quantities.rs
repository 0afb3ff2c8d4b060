//! Computes the quantities of the claims of Mogul and Borg, with intervals over trials.

use switchcost_analysis::simulation::{Group, Point};

use super::sample::{
    ALL, CLIENT, COMPUTE, LARGER, SCHEDULER, Sample, TIMESHARING, arithmetic, costs, ends,
    first_tenth, geometric, group, less, level, over, samples, tenths, trials_of,
};
use super::{DESIGNS, SETS, Trial, trials};
use crate::claims::{Found, Quantities, Term, exact};
use crate::interval::{Interval, largest, share_interval, smallest};
use crate::{Outcome, Records};

/// Pairs of designs that differ in the speed of the processor.
const FASTER: [[&str; 2]; 2] = [["1a", "2a"], ["1b", "2b"]];

/// Cycle time of the DECstation 5000/200, in microseconds.
const CYCLE_US: f64 = 0.04;

fn average(records: &Records, set: usize, design: &str) -> Outcome<Vec<Sample>> {
    costs(records, set, design, |found| &found.average_cost_cycles)
}

fn overhead(records: &Records, set: usize, design: &str) -> Outcome<Vec<Sample>> {
    costs(records, set, design, |found| &found.table_4_overhead)
}

fn involuntary(trial: &Trial<'_>) -> u64 {
    trial.head.trace.involuntary_switches
}

fn other_switches(trial: &Trial<'_>) -> u64 {
    trial.switches() - involuntary(trial)
}

/// Returns the mean over trials of a share of their switches. The interval is at least as long as
/// the interval of the count.
fn share(records: &Records, set: usize, of: fn(&Trial<'_>) -> u64) -> Outcome {
    let all = trials(records, &SETS[set])?;
    let samples = samples(records, set, |trial| {
        Some(of(trial) as f64 / trial.switches().max(1) as f64)
    })?;
    let term = arithmetic("share of the switches", &samples)?;
    let (counted, switches) = (
        all.iter().map(of).sum(),
        all.iter().map(Trial::switches).sum(),
    );
    let counted = share_interval(counted, switches);
    let term = Term {
        low: term.low.min(counted.low),
        high: term.high.max(counted.high),
        ..term
    };
    Ok(Found::number(term, trials_of(&samples)))
}

const CALL: Group = Group::Class("system call");

/// Formats the total number of a group's segments over all trials of Timesharing, such as `120
/// segments`.
fn segments_after_tenth(records: &Records, wanted: &Group) -> String {
    let all = trials(records, &SETS[TIMESHARING]).unwrap_or_default();
    let designs = all.iter().filter_map(|trial| trial.design("1a"));
    let segments: u64 = designs
        .filter_map(|design| group(design, wanted))
        .map(|group| group.segments)
        .sum();
    format!("{segments} segments")
}

/// Returns the cumulative excess cycles of a group's switches at `after` instructions since the
/// switch; `None` if the curve ends before.
fn cumulative(trial: &Trial<'_>, wanted: &Group, after: u64) -> Option<f64> {
    let curve = &group(trial.design("1a")?, wanted)?.curve;
    let length = trial.findings.interval_instructions;
    let reached = curve
        .iter()
        .find(|point| point.since_switch_instructions + length >= after)?;
    Some(reached.cumulative_excess_cycles)
}

/// Returns the ratio of the excess cycles after 300,000 instructions to the excess cycles after
/// 225,000; `None` if the curve ends before.
fn growth(trial: &Trial<'_>) -> Option<f64> {
    Some(cumulative(trial, &ALL, 300_000)? / cumulative(trial, &ALL, 225_000)?)
}

/// Returns the ratio of the instructions per switch here to the paper's number, which is the number
/// of instructions in Table 4 divided by 5000 switches.
fn mean_turn(records: &Records, set: usize) -> Outcome<Term> {
    let published = super::published(SETS[set].published, "1a", |row| row.instructions_millions);
    let samples = samples(records, set, |trial| {
        let here = trial.design("1a")?.instructions as f64 / trial.switches() as f64;
        Some(here / (published * 1e6 / 5000.0))
    })?;
    geometric(SETS[set].published, &samples)
}

/// Returns the median length of segments, in instructions.
fn median_turn(records: &Records, set: usize) -> Outcome<Term> {
    let samples = samples(records, set, |trial| {
        let lengths = &trial.findings.lengths;
        let all = lengths.iter().find(|found| found.group == Group::All)?;
        Some(all.median_instructions as f64)
    })?;
    geometric(format!("{}, instructions", SETS[set].published), &samples)
}

/// Returns the cumulative excess cycles of a group's switches at the cut-off of all switches;
/// `None` if the trial lacks the group.
fn segments_at_cut(trial: &Trial<'_>, wanted: &Group) -> Option<f64> {
    let design = trial.design("1a")?;
    let is_before = |point: &&Point| point.since_switch_instructions < design.cut.instructions;
    let reached = group(design, wanted)?.curve.iter().rfind(is_before)?;
    Some(reached.cumulative_excess_cycles)
}

/// Returns the geometric mean of a number over the trials of a set of programs.
fn mean_of_trials(
    records: &Records,
    set: usize,
    name: &str,
    of: fn(&Trial<'_>) -> Option<f64>,
) -> Outcome {
    let samples = samples(records, set, of)?;
    Ok(Found::number(
        geometric(name, &samples)?,
        trials_of(&samples),
    ))
}

fn cost_after_calls(records: &Records) -> Outcome {
    let found = mean_of_trials(
        records,
        TIMESHARING,
        "after system calls / after the scheduler",
        |trial| {
            let design = trial.design("1a")?;
            let early = |wanted| first_tenth(design, wanted, |point| point.private_cpi.mean);
            Some(early(&CALL)? / early(&SCHEDULER)?)
        },
    )?;
    let note = format!(
        "{}; {} after system calls",
        found.note,
        segments_after_tenth(records, &CALL)
    );
    Ok(Found { note, ..found })
}

/// Returns the changes of the private CPI after involuntary switches, between the first tenth, the
/// middle and the last tenth of the curve.
fn changes(records: &Records) -> Outcome {
    let part = |name: &str, of: fn([f64; 3]) -> f64| {
        let of_trial = |trial: &Trial<'_>| {
            tenths(trial.design("1a")?, &SCHEDULER, |p| p.private_cpi.mean).map(of)
        };
        geometric(name, &samples(records, TIMESHARING, of_trial)?)
    };
    let terms = vec![
        part("first tenth over the middle", |[early, middle, _]| {
            early / middle
        })?,
        part("middle over the first tenth", |[early, middle, _]| {
            middle / early
        })?,
        part("middle over the last tenth", |[_, middle, late]| {
            middle / late
        })?,
        part("last tenth over the middle", |[_, middle, late]| {
            late / middle
        })?,
    ];
    Ok(Found::new(terms, ""))
}

fn shared_cpi(trial: &Trial<'_>) -> Option<f64> {
    let design = trial.design("1a")?;
    Some(design.hierarchies.shared.cycles as f64 / design.instructions as f64)
}

fn private_cpi(trial: &Trial<'_>) -> Option<f64> {
    let design = trial.design("1a")?;
    Some(design.hierarchies.private.cycles as f64 / design.instructions as f64)
}

/// Returns the ratio of a number for one set of programs to the same number for another.
fn between_sets(
    records: &Records,
    name: &str,
    sets: [usize; 2],
    of: fn(&Trial<'_>) -> Option<f64>,
) -> Outcome {
    let [above, below] = sets.map(|set| samples(records, set, of));
    let (above, below) = (above?, below?);
    let note = format!(
        "{} and {}; {}",
        level(&above, 1.0),
        level(&below, 1.0),
        trials_of(&above)
    );
    Ok(Found::number(
        geometric(name, &over(&above, &below, false))?,
        note,
    ))
}

type PerDesign = fn(&Records, usize, &str) -> Outcome<Vec<Sample>>;

/// Returns the ratio of a number on design `to` to the same number on design `from`, from the same
/// references.
fn moved(records: &Records, of: PerDesign, set: usize, [from, to]: [&str; 2]) -> Outcome<Term> {
    let (from_samples, to_samples) = (of(records, set, from)?, of(records, set, to)?);
    geometric(
        format!("{}, {to} over {from}", SETS[set].published),
        &over(&to_samples, &from_samples, true),
    )
}

fn moves(records: &Records, of: PerDesign, moves: &[(usize, [&str; 2])]) -> Outcome {
    let terms = moves
        .iter()
        .map(|(set, designs)| moved(records, of, *set, *designs))
        .collect::<Result<_, _>>()?;
    let first = of(records, moves[0].0, moves[0].1[0])?;
    Ok(Found::new(terms, trials_of(&first)))
}

fn cheaper(records: &Records, set: usize, designs: [&str; 2]) -> Outcome {
    let found = moves(records, average, &[(set, designs)])?;
    let [from, to] = designs.map(|design| average(records, set, design));
    let note = format!(
        "{} and {} cycles; {}",
        level(&from?, 1.0),
        level(&to?, 1.0),
        found.note
    );
    Ok(Found { note, ..found })
}

/// Returns a number of one set of programs minus the same number of another set, on each design. A
/// ratio is not used, because a cost may be about 0.
fn more_on_designs(
    records: &Records,
    of: PerDesign,
    pairs: &[[usize; 2]],
    scale: f64,
    unit: &str,
) -> Outcome {
    let (mut terms, mut notes) = (Vec::new(), Vec::new());
    for design in DESIGNS {
        for [above, below] in pairs {
            let name = format!(
                "{}: {} minus {}",
                design, SETS[*above].published, SETS[*below].published
            );
            let mut more = less(
                &of(records, *above, design)?,
                &of(records, *below, design)?,
                false,
            );
            more.iter_mut().for_each(|sample| sample.value *= scale);
            terms.push(arithmetic(name, &more)?);
        }
        let each = (0..SETS.len()).map(|set| Ok(level(&of(records, set, design)?, scale)));
        notes.push(format!(
            "{design}: {}",
            each.collect::<Outcome<Vec<String>>>()?.join(", ")
        ));
    }
    let trials = trials_of(&of(records, TIMESHARING, DESIGNS[0])?);
    Ok(Found::new(
        terms,
        format!("{unit}, {}; {trials}", notes.join("; ")),
    ))
}

/// Returns the ratio of two spreads for each trial: the spread of the sets' overheads on 1a, over
/// the spread of the sets' costs. A spread is the ratio of the largest to the smallest number.
fn spread(records: &Records) -> Outcome {
    let extremes = |of: PerDesign| -> Outcome<Vec<Sample>> {
        let sets = (0..SETS.len())
            .map(|set| of(records, set, "1a"))
            .collect::<Result<Vec<_>, _>>()?;
        let of_trial = |first: &Sample| {
            let same = sets
                .iter()
                .map(|set| set.iter().find(|sample| sample.trial == first.trial));
            let values: Vec<f64> = same
                .collect::<Option<Vec<_>>>()?
                .iter()
                .map(|sample| sample.value)
                .collect();
            let [most, least] = [
                values.iter().copied().fold(f64::MIN, f64::max),
                values.iter().copied().fold(f64::MAX, f64::min),
            ];
            Some(Sample {
                trial: first.trial,
                value: most / least,
                without_one: Vec::new(),
            })
        };
        Ok(sets[0].iter().filter_map(of_trial).collect())
    };
    let (costs, overheads) = (extremes(average)?, extremes(overhead)?);
    let note = format!(
        "overheads differ by {}, costs by {}; {}",
        level(&overheads, 1.0),
        level(&costs, 1.0),
        trials_of(&costs)
    );
    Ok(Found::number(
        geometric(
            "spread of the overheads over that of the costs",
            &over(&overheads, &costs, false),
        )?,
        note,
    ))
}

/// Returns the ratio of the average cost here to the published one, on each design.
fn magnitude(records: &Records, set: usize) -> Outcome {
    let one = |design: &&str| {
        let published =
            super::published(SETS[set].published, design, |row| row.average_cost_cycles);
        let here = average(records, set, design)?;
        let ratios: Vec<Sample> = here
            .into_iter()
            .map(|sample| scaled(sample, 1.0 / published))
            .collect();
        geometric(format!("{design}: here over published"), &ratios)
    };
    let terms = DESIGNS.iter().map(one).collect::<Outcome<Vec<Term>>>()?;
    Ok(Found::new(terms, trials_of(&average(records, set, "1a")?)))
}

fn scaled(sample: Sample, by: f64) -> Sample {
    let without_one = sample.without_one.iter().map(|value| value * by).collect();
    Sample {
        value: sample.value * by,
        without_one,
        ..sample
    }
}

/// Returns the changes of the overhead of Compute-bound and of Client-Server between designs. A
/// difference is used, because an overhead may be about 0.
fn overhead_changes(records: &Records, between: [[&str; 2]; 2]) -> Outcome<Vec<Term>> {
    let changes = [COMPUTE, CLIENT].into_iter().flat_map(|set| {
        between.map(|[from, to]| {
            let [from_samples, to_samples] =
                [from, to].map(|design| overhead(records, set, design));
            let more = less(&to_samples?, &from_samples?, true);
            arithmetic(format!("{}, {to} minus {from}", SETS[set].published), &more)
        })
    });
    changes.collect()
}

/// Returns the smallest change, and minus the largest. Both are below 0 if one overhead falls and
/// another rises. Which overhead falls is not known in advance.
fn trend_extremes(records: &Records) -> Outcome {
    let changes = Found::new(overhead_changes(records, FASTER)?, "");
    let all: Vec<Interval> = changes.terms.iter().map(Term::interval).collect();
    let (least, most) = smallest(&all).zip(largest(&all)).ok_or("no change")?;
    let terms = vec![
        Term::new("smallest change of the overhead", least),
        Term::new("minus the largest", -most),
    ];
    Ok(Found::new(terms, changes.words()))
}

pub(super) fn microseconds(records: &Records, set: usize) -> Outcome<Term> {
    let us: Vec<Sample> = average(records, set, "1a")?
        .into_iter()
        .map(|sample| scaled(sample, CYCLE_US))
        .collect();
    geometric(format!("{}, us", SETS[set].published), &us)
}

fn cost_in_microseconds(records: &Records, set: usize) -> Outcome {
    Ok(Found::number(
        microseconds(records, set)?,
        trials_of(&average(records, set, "1a")?),
    ))
}

pub(crate) fn quantities() -> Quantities {
    [
        design_quantities(),
        across_designs(),
        magnitudes(),
        super::reasons::quantities(),
    ]
    .concat()
}

/// Returns the quantities on causes of switches, and on the cost by the time since a switch.
fn design_quantities() -> Quantities {
    vec![
        ("compute-bound-is-involuntary", |r| {
            share(r, COMPUTE, other_switches)
        }),
        ("client-server-is-voluntary", |r| {
            share(r, CLIENT, involuntary)
        }),
        ("no-page-faults", |r| {
            let of = |trial: &Trial<'_>| {
                Some(
                    group(trial.design("1a")?, &Group::Class("page fault"))
                        .map_or(0.0, |g| g.segments as f64),
                )
            };
            let found = samples(r, CLIENT, of)?;
            Ok(Found::number(
                exact(
                    "switches by page faults",
                    found.iter().map(|sample| sample.value).sum(),
                ),
                "",
            ))
        }),
        ("timesharing-is-involuntary", |r| {
            share(r, TIMESHARING, involuntary)
        }),
        ("system-calls-end-early", super::curves::median_lengths),
        ("mean-turns", |r| {
            let terms = (0..SETS.len()).map(|set| mean_turn(r, set));
            Ok(Found::new(terms.collect::<Result<_, _>>()?, ""))
        }),
        ("median-turns", |r| {
            let terms = (0..SETS.len()).map(|set| median_turn(r, set));
            Ok(Found::new(terms.collect::<Result<_, _>>()?, ""))
        }),
        ("cpi-falls", |r| {
            mean_of_trials(
                r,
                TIMESHARING,
                "first tenth of the curve over its last",
                |trial| {
                    let (early, late) =
                        ends(trial.design("1a")?, &ALL, |point| point.shared_cpi.mean)?;
                    Some(early / late)
                },
            )
        }),
        ("system-calls-raise-cpi", cost_after_calls),
        ("scheduler-flatter", super::disk::flatter),
        ("scheduler-not-flat", changes),
        ("scheduler-is-all", |r| {
            mean_of_trials(r, TIMESHARING, "the scheduler's over all", |trial| {
                Some(segments_at_cut(trial, &SCHEDULER)? / segments_at_cut(trial, &ALL)?)
            })
        }),
        ("no-asymptote", |r| {
            mean_of_trials(
                r,
                TIMESHARING,
                "after 300,000 instructions / after 225,000",
                growth,
            )
        }),
        ("below-reload-bound", |r| {
            mean_of_trials(r, TIMESHARING, "cost over reloading every line", |trial| {
                let design = trial.design("1a")?;
                Some(design.average_cost_cycles.estimate? / design.reload_bound_cycles as f64)
            })
        }),
        ("lower-plateau", |r| {
            between_sets(
                r,
                "Compute-bound over Timesharing",
                [COMPUTE, TIMESHARING],
                |trial| cumulative(trial, &ALL, 300_000),
            )
        }),
        ("lower-cpi", |r| {
            between_sets(
                r,
                "Compute-bound over Timesharing",
                [COMPUTE, TIMESHARING],
                shared_cpi,
            )
        }),
        ("flat-after-4000", |r| {
            mean_of_trials(
                r,
                CLIENT,
                "at the cut-off / after 4,000 instructions",
                |trial| Some(segments_at_cut(trial, &ALL)? / cumulative(trial, &ALL, 4000)?),
            )
        }),
        ("private-cpi-near-1", |r| {
            mean_of_trials(r, CLIENT, "private CPI", private_cpi)
        }),
    ]
}

/// Returns the quantities on ratios of costs and overheads between designs.
fn across_designs() -> Quantities {
    vec![
        ("order-of-costs", |r| {
            more_on_designs(
                r,
                average,
                &[[TIMESHARING, COMPUTE], [COMPUTE, CLIENT]],
                1.0,
                "cycles",
            )
        }),
        ("timesharing-cheaper-1b", |r| {
            cheaper(r, TIMESHARING, ["1a", "1b"])
        }),
        ("timesharing-cheaper-2b", |r| {
            cheaper(r, TIMESHARING, ["2a", "2b"])
        }),
        ("compute-bound-cheaper-1b", |r| {
            cheaper(r, COMPUTE, ["1a", "1b"])
        }),
        ("compute-bound-cheaper-2b", |r| {
            cheaper(r, COMPUTE, ["2a", "2b"])
        }),
        ("client-server-cheaper-2b", |r| {
            cheaper(r, CLIENT, ["2a", "2b"])
        }),
        ("dearer-on-2a", |r| {
            moves(
                r,
                average,
                &[TIMESHARING, COMPUTE, CLIENT].map(|set| (set, ["1a", "2a"])),
            )
        }),
        ("dear-switches-are-rare", spread),
        ("timesharing-highest-overhead", |r| {
            more_on_designs(
                r,
                overhead,
                &[[TIMESHARING, COMPUTE], [TIMESHARING, CLIENT]],
                100.0,
                "overheads in %",
            )
        }),
        ("timesharing-magnitude", |r| magnitude(r, TIMESHARING)),
        ("compute-bound-magnitude", |r| magnitude(r, COMPUTE)),
        ("client-server-magnitude", |r| magnitude(r, CLIENT)),
        ("timesharing-worsens", |r| {
            moves(r, overhead, &FASTER.map(|designs| (TIMESHARING, designs)))
        }),
        ("others-no-trend", trend_extremes),
        ("timesharing-improves", |r| {
            moves(r, overhead, &LARGER.map(|designs| (TIMESHARING, designs)))
        }),
        ("others-less-consistent", |r| {
            Ok(Found::new(overhead_changes(r, LARGER)?, ""))
        }),
    ]
}

/// Returns the quantities on the magnitude of costs, and on their origins.
fn magnitudes() -> Quantities {
    vec![
        ("tens-to-hundreds", |r| {
            let terms = (0..SETS.len())
                .map(|set| microseconds(r, set))
                .collect::<Result<_, _>>()?;
            Ok(Found::new(
                terms,
                trials_of(&average(r, TIMESHARING, "1a")?),
            ))
        }),
        ("thousands-of-cycles", |r| {
            let (timesharing, compute) =
                (average(r, TIMESHARING, "1a")?, average(r, COMPUTE, "1a")?);
            let note = trials_of(&timesharing);
            Ok(Found::new(
                vec![
                    geometric("Timesharing", &timesharing)?,
                    geometric("Compute-bound", &compute)?,
                ],
                note,
            ))
        }),
        ("plateau", |r| {
            mean_of_trials(
                r,
                COMPUTE,
                "after 300,000 instructions / after 225,000",
                growth,
            )
        }),
        ("disk-faults-raise-cpi", super::disk::fault_outcome),
        ("not-by-single-programs", super::single::saved_otherwise),
        (
            "larger-caches-for-switching",
            super::single::switching_needs_more,
        ),
        ("dominates", |r| cost_in_microseconds(r, TIMESHARING)),
        ("comparable", |r| cost_in_microseconds(r, CLIENT)),
        ("kernel-raises-cost", super::with_kernel::added),
    ]
}
