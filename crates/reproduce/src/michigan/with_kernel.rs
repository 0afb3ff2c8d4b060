//! Claims on Figure 4 of the poster, simulated with the kernel: misses of two tasks in a guest,
//! with their hand-offs.

use switchcost_design::result::{HierarchyCounts, LevelCounts};
use switchcost_units::Bytes;

use crate::arm::{ARMS, Arm};
use crate::claims::{Found, Quantities, Term, exact, ranged};
use crate::exhibit::Cell;
use crate::interval::slope_interval;
use crate::records::collect_known;
use crate::text::number;
use crate::{Axis, Chart, Effort, Exhibit, Outcome, Records, Series, Step, Style};

/// Array sizes in KiB, the fewest that decide every claim.
const SIZES_KIB: [u64; 5] = [8, 32, 64, 128, 256];
const QUICK_SIZES_KIB: [u64; 2] = [8, 256];
/// Number of hand-offs by each of the two tasks: enough that one-time misses are fewer than one per
/// hand-off.
const TURNS: u64 = 500;
const TASKS: u64 = 2;

/// The layer that switches: the kernel, or a user-level library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layer {
    Kernel,
    User,
}

pub(super) const LAYERS: [Layer; 2] = [Layer::Kernel, Layer::User];

/// Options that vary fields of the design. The last field varies fastest in the record.
const VARIED: &str = "--vary L2.inclusion=neither,inclusive --vary ITLB+DTLB+STLB.on_switch=flush,keep --vary DTLB.entries=64,256";

/// A variant of the design, numbered by its position in the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Variant {
    /// The processor as in its manuals, with TLBs that are flushed at a switch.
    Usual = 0,
    /// A data TLB with four times the entries.
    LargerTlb = 1,
    /// TLBs that keep their entries at a switch.
    TlbsKept = 2,
    /// A data TLB with four times the entries, and TLBs that keep their entries at a switch.
    LargerTlbKept = 3,
    /// An inclusive second-level cache, as the poster assumes.
    Inclusive = 4,
}

impl Layer {
    fn name(self) -> &'static str {
        match self {
            Layer::Kernel => "kernel",
            Layer::User => "user level",
        }
    }
}

pub(super) fn step(layer: Layer, arm: Arm, kib: u64) -> String {
    named("michigan-guest", layer, arm, kib)
}

fn named(stem: &str, layer: Layer, arm: Arm, kib: u64) -> String {
    let layer = if layer == Layer::Kernel {
        "kernel"
    } else {
        "user"
    };
    format!("{stem}-{layer}-{}-{kib}KiB", arm.name())
}

pub(super) fn steps(effort: Effort) -> Vec<Step> {
    let sizes: &[u64] = effort.choose(&SIZES_KIB, &QUICK_SIZES_KIB);
    let pairs = LAYERS
        .iter()
        .flat_map(|layer| ARMS.iter().map(move |arm| (*layer, *arm)));
    let of_pair = |(layer, arm)| {
        sizes
            .iter()
            .flat_map(move |kib| steps_of_arm(layer, arm, *kib))
    };
    pairs.flat_map(of_pair).collect()
}

/// Returns the steps that trace one arm of a layer, and simulate the trace.
fn steps_of_arm(layer: Layer, arm: Arm, kib: u64) -> [Step; 2] {
    let trace = named("michigan-turns", layer, arm, kib);
    let mechanism = if layer == Layer::Kernel {
        "pipe"
    } else {
        "ucontext"
    };
    let option = arm.option();
    let line = format!(
        "trace walks --system --mechanism {mechanism} --size {kib}KiB --turns {TURNS}{option}"
    );
    let simulate = format!("simulate records/{trace}.sct --design michigan-xeon-d1541 {VARIED}");
    [
        Step::new(trace, &line),
        Step::new(step(layer, arm, kib), &simulate),
    ]
}

/// A counter of the poster, and the function that reads it from the counts of a simulated
/// hierarchy.
#[derive(Clone, Copy)]
struct Counter {
    name: &'static str,
    of: fn(&HierarchyCounts) -> Option<u64>,
    /// The two variants of the design that are compared for the counter, with their names.
    variants: [(Variant, &'static str); 2],
}

fn level<'a>(counts: &'a HierarchyCounts, name: &str) -> Option<&'a LevelCounts> {
    let all = counts.levels.iter().chain(&counts.tlbs);
    all.into_iter().find(|level| level.name == name)
}

const L1I: Counter = Counter {
    name: "L1I misses",
    of: |counts| Some(level(counts, "L1I")?.instruction_misses),
    variants: [
        (Variant::Usual, "L2 not inclusive"),
        (Variant::Inclusive, "L2 inclusive"),
    ],
};
const DTLB: Counter = Counter {
    name: "dTLB load misses",
    of: |counts| Some(level(counts, "DTLB")?.load_misses),
    variants: [
        (Variant::Usual, "TLBs flushed"),
        (Variant::TlbsKept, "TLBs kept"),
    ],
};

/// A cache or TLB counter on one variant of the design, for switches by the kernel or by a
/// user-level library.
#[derive(Clone, Copy)]
struct MissCounter {
    counter: Counter,
    variant: Variant,
    layer: Layer,
}

/// Returns the counts of the hierarchy that keeps its content at switches, on one variant of the
/// design.
fn shared(
    records: &Records,
    variant: Variant,
    layer: Layer,
    arm: Arm,
    kib: u64,
) -> Outcome<&HierarchyCounts> {
    let (step, place) = (step(layer, arm, kib), variant as usize);
    let why = "the record lacks a variant of the design";
    Ok(&records.design(&step, place, why)?.hierarchies.shared)
}

/// Returns the number of misses per hand-off that a counter has on a simulated trace.
fn misses(records: &Records, place: MissCounter, arm: Arm, kib: u64) -> Outcome<f64> {
    let counts = shared(records, place.variant, place.layer, arm, kib)?;
    let count = (place.counter.of)(counts).ok_or("the design lacks the level")?;
    Ok(count as f64 / (TURNS * TASKS) as f64)
}

/// Returns the difference in misses per hand-off between two tasks and one.
fn gap(records: &Records, place: MissCounter, kib: u64) -> Outcome<f64> {
    Ok(misses(records, place, Arm::Two, kib)? - misses(records, place, Arm::Alone, kib)?)
}

/// Returns the numbers by array size in KiB, without sizes that have none; an error with fewer than
/// two numbers.
fn points_by_size(of: impl Fn(u64) -> Outcome<f64>) -> Outcome<Vec<(u64, f64)>> {
    collect_known(&SIZES_KIB, 2, of)
}

fn mean(points: &[(u64, f64)]) -> f64 {
    points.iter().map(|(_, number)| number).sum::<f64>() / points.len() as f64
}

fn mean_gap(records: &Records, place: MissCounter) -> Outcome<f64> {
    Ok(mean(&points_by_size(|kib| gap(records, place, kib))?))
}

/// Returns a number for each array size. The sizes differ by design, so their differences are no
/// noise, and a simulated number has no interval of its own.
fn size_terms(name: &str, points: &[(u64, f64)]) -> Vec<Term> {
    let term = |(kib, value): &(u64, f64)| exact(format!("{name}, {}", Bytes::kib(*kib)), *value);
    points.iter().map(term).collect()
}

/// Returns the growth of the difference in misses when the array size doubles, for each layer: the
/// slope of a line through the sizes.
fn grows(records: &Records, variant: Variant) -> Outcome {
    let (mut terms, mut notes) = (Vec::new(), Vec::new());
    for layer in LAYERS {
        let gaps = points_by_size(|kib| {
            gap(
                records,
                MissCounter {
                    counter: L1I,
                    variant,
                    layer,
                },
                kib,
            )
        })?;
        let line: Vec<(f64, f64)> = gaps
            .iter()
            .map(|(kib, gap)| ((*kib as f64).log2(), *gap))
            .collect();
        let slope = slope_interval(&line).ok_or("too few sizes for a line with an interval")?;
        terms.push(Term::new(layer.name(), slope));
        let ((small, first), (large, last)) = (gaps[0], gaps[gaps.len() - 1]);
        let [small, large] = [small, large].map(Bytes::kib);
        notes.push(format!(
            "{}: {} misses per hand-off at {small}, {} at {large}",
            layer.name(),
            number(first),
            number(last)
        ));
    }
    Ok(Found::new(terms, notes.join("; ")))
}

fn gaps(records: &Records, variant: Variant) -> Outcome {
    let mut terms = Vec::new();
    for layer in LAYERS {
        let place = MissCounter {
            counter: L1I,
            variant,
            layer,
        };
        let points = points_by_size(|kib| gap(records, place, kib))?;
        terms.extend(size_terms(layer.name(), &points));
    }
    Ok(Found::new(terms, ""))
}

/// Returns the mean difference in misses per hand-off between two tasks and one for switches by the
/// kernel, minus the mean difference for switches at user level.
fn kernels_more(records: &Records, counter: Counter, variant: Variant) -> Outcome<f64> {
    let [kernel, user] = LAYERS.map(|layer| {
        mean_gap(
            records,
            MissCounter {
                counter,
                variant,
                layer,
            },
        )
    });
    Ok(kernel? - user?)
}

fn larger_gap(records: &Records, variant: Variant) -> Outcome {
    let of = |layer, kib| {
        gap(
            records,
            MissCounter {
                counter: L1I,
                variant,
                layer,
            },
            kib,
        )
    };
    let more = points_by_size(|kib| Ok(of(Layer::Kernel, kib)? - of(Layer::User, kib)?))?;
    Ok(Found::new(size_terms("kernel minus user level", &more), ""))
}

/// Returns the difference in cycles per hand-off between two tasks and one, for switches by the
/// kernel.
fn cost(records: &Records, variant: Variant, kib: u64) -> Outcome<f64> {
    let cycles = |arm| {
        Ok::<_, String>(
            shared(records, variant, Layer::Kernel, arm, kib)?.cycles as f64
                / (TURNS * TASKS) as f64,
        )
    };
    Ok(cycles(Arm::Two)? - cycles(Arm::Alone)?)
}

/// Returns the cost that an inclusive second-level cache adds to a switch, as a share of the cost
/// with this cache.
fn inclusion(records: &Records) -> Outcome {
    let added = |kib| {
        let [without, with] =
            [Variant::Usual, Variant::Inclusive].map(|variant| cost(records, variant, kib));
        let (without, with) = (without?, with?);
        if with > 0.0 {
            Ok((with - without) / with)
        } else {
            Err("a switch costs nothing".to_owned())
        }
    };
    Ok(Found::new(
        size_terms("added by inclusion", &points_by_size(added)?),
        "",
    ))
}

/// Returns the ratio of the lines that an inclusive second-level cache invalidates in the first
/// levels to the misses of these levels.
fn few_taken_away(records: &Records) -> Outcome {
    let share = |kib| {
        let levels = &shared(records, Variant::Inclusive, Layer::Kernel, Arm::Two, kib)?.levels;
        let of = |is_first: bool, count: fn(&LevelCounts) -> u64| -> f64 {
            levels
                .iter()
                .filter(|level| level.name.starts_with("L1") == is_first)
                .map(count)
                .sum::<u64>() as f64
        };
        let (taken, missed) = (
            of(false, |level| level.back_invalidations),
            of(true, LevelCounts::misses),
        );
        if missed > 0.0 {
            Ok(taken / missed)
        } else {
            Err("the first levels miss nothing".to_owned())
        }
    };
    Ok(Found::new(
        size_terms("taken away over missed", &points_by_size(share)?),
        "",
    ))
}

/// Returns a number with TLBs that are flushed at a switch. Its interval reaches to the number with
/// TLBs that keep their entries.
fn tlb_term(name: &str, of: impl Fn(Variant) -> Outcome<f64>) -> Outcome<Term> {
    let kept = of(Variant::TlbsKept)?;
    Ok(ranged(name, of(Variant::Usual)?, std::iter::once(kept)))
}

const FLUSHED_OR_KEPT: &str = "with and without a flush of the TLBs at a switch";

fn tlb_gap(records: &Records) -> Outcome {
    let ratio = |variant| {
        let place = MissCounter {
            counter: DTLB,
            variant,
            layer: Layer::Kernel,
        };
        let of = |arm| {
            Ok::<_, String>(mean(&points_by_size(|kib| {
                misses(records, place, arm, kib)
            })?))
        };
        Ok(of(Arm::Two)? / of(Arm::Alone)?)
    };
    Ok(Found::number(
        tlb_term("two over one", ratio)?,
        FLUSHED_OR_KEPT,
    ))
}

fn tlb_spaces(records: &Records) -> Outcome {
    let more = |variant| kernels_more(records, DTLB, variant);
    Ok(Found::number(
        tlb_term("kernel minus user level", more)?,
        FLUSHED_OR_KEPT,
    ))
}

/// Returns the cycles per hand-off of two processes minus those of one alone: the cycles in all
/// caches and TLBs, and those in the TLBs.
fn cycles(records: &Records, variant: Variant, kib: u64) -> Outcome<[f64; 2]> {
    let of = |arm| {
        let HierarchyCounts { levels, tlbs, .. } =
            shared(records, variant, Layer::Kernel, arm, kib)?;
        let sum = |of: &[LevelCounts]| {
            of.iter().map(|level| level.cycles).sum::<u64>() as f64 / (TURNS * TASKS) as f64
        };
        Ok::<_, String>([sum(levels) + sum(tlbs), sum(tlbs)])
    };
    let ([all, tlbs], [all_alone, tlbs_alone]) = (of(Arm::Two)?, of(Arm::Alone)?);
    if all <= all_alone {
        return Err(format!(
            "two tasks took no more cycles than one at {}",
            Bytes::kib(kib)
        ));
    }
    Ok([all - all_alone, tlbs - tlbs_alone])
}

/// Returns the numbers at array sizes above 64 KiB, without sizes that have none.
fn above_64(of: impl Fn(u64) -> Outcome<Term>) -> Outcome {
    let above: Vec<u64> = SIZES_KIB.into_iter().filter(|kib| *kib > 64).collect();
    let terms = collect_known(&above, 1, of)?;
    let terms = terms.into_iter().map(|(_, term)| term).collect();
    Ok(Found::new(terms, FLUSHED_OR_KEPT))
}

fn tlb_dominates(records: &Records) -> Outcome {
    above_64(|kib| {
        let share = |variant| {
            let [all, tlbs] = cycles(records, variant, kib)?;
            Ok(tlbs / all)
        };
        tlb_term(&format!("TLBs' share at {}", Bytes::kib(kib)), share)
    })
}

fn larger_tlb(records: &Records) -> Outcome {
    above_64(|kib| {
        let all = |variant| Ok::<_, String>(cycles(records, variant, kib)?[0]);
        let flushed = all(Variant::LargerTlb)? / all(Variant::Usual)?;
        let kept = all(Variant::LargerTlbKept)? / all(Variant::TlbsKept)?;
        let name = format!("with 256 entries over 64 at {}", Bytes::kib(kib));
        Ok(ranged(name, flushed, std::iter::once(kept)))
    })
}

pub(super) fn figure_4(records: &Records) -> Exhibit {
    let title = "Misses of one task alone and of two alternating tasks on the Xeon D-1541";
    let columns = [
        "size",
        "counter",
        "design",
        "kernel, alone",
        "kernel, two",
        "user level, alone",
        "user level, two",
    ];
    let mut exhibit = Exhibit::new("Figure 4 with the kernel", title, columns);
    let mut lines = Vec::new();
    for counter in [L1I, DTLB] {
        for (variant, name) in counter.variants {
            for kib in sizes(records) {
                exhibit.row(row(records, counter, (variant, name), kib));
            }
            for layer in LAYERS {
                // Contexts at user level share an address space, so a switch between them flushes
                // no TLB.
                let depends = layer == Layer::Kernel || counter.name == L1I.name;
                if !depends && variant == Variant::TlbsKept {
                    continue;
                }
                let place = MissCounter {
                    counter,
                    variant,
                    layer,
                };
                let points = SIZES_KIB
                    .iter()
                    .filter_map(|kib| Some(((kib << 10) as f64, gap(records, place, *kib).ok()?)));
                let of = format!("{}, {}", counter.name, layer.name());
                let name = if depends { format!("{of}, {name}") } else { of };
                lines.push(Series::new(name, Style::Found, points));
            }
        }
    }
    exhibit.chart = Chart::draw(
        "size of each task's array",
        Axis::Size,
        "more misses per hand-off than alone",
        Axis::Linear,
        lines,
    );
    exhibit.steps = SIZES_KIB.into_iter().flat_map(steps_of).collect();
    exhibit.add_note("The tasks of Figures 2 and 3 in a guest with a current kernel. Alone: each task, without the other, passes the token to itself \
         over its own pipe (kernel), or calls its walk (user level). According to Intel's manual, the second level is not inclusive; the poster \
         assumes that it is. `reproduce michigan --system` runs it.");
    exhibit
}

/// Returns Figure 2 of the poster, simulated: the cost of a switch by the kernel, and the part of
/// this cost that is due to TLB misses.
pub(super) fn figure_2(records: &Records) -> Exhibit {
    let title = "Additional cycles of misses of two tasks in the kernel, and the TLBs' part";
    let mut exhibit = Exhibit::new(
        "Figure 2 with the kernel",
        title,
        [
            "size",
            "design",
            "cycles per hand-off",
            "of the caches",
            "of the TLBs",
            "TLBs %",
            "dTLB load misses per hand-off",
        ],
    );
    let mut lines = Vec::new();
    for (variant, name) in DTLB.variants {
        let at = |kib: u64| cycles(records, variant, kib);
        for kib in sizes(records) {
            let found = at(kib);
            let why = found.as_ref().err().map_or("", String::as_str);
            let of = |of: fn(&[f64; 2]) -> f64, decimals| Cell::new(&found, decimals, of);
            let misses = gap(
                records,
                MissCounter {
                    counter: DTLB,
                    variant,
                    layer: Layer::Kernel,
                },
                kib,
            );
            exhibit.row(vec![
                Bytes::kib(kib).into(),
                name.into(),
                of(|[all, _]| *all, 0),
                of(|[all, tlbs]| all - tlbs, 0),
                of(|[_, tlbs]| *tlbs, 0),
                of(|[all, tlbs]| tlbs / all * 100.0, 0),
                Cell::or_missing(misses.ok(), 1, why),
            ]);
        }
        for (part, of) in [("all", 0), ("TLBs", 1)] {
            let points = SIZES_KIB
                .iter()
                .filter_map(|kib| Some(((kib << 10) as f64, at(*kib).ok()?[of])));
            lines.push(Series::new(format!("{part}, {name}"), Style::Found, points));
        }
    }
    exhibit.chart = Chart::draw(
        "size of each task's array",
        Axis::Size,
        "cycles per hand-off",
        Axis::Linear,
        lines,
    );
    exhibit.steps = SIZES_KIB
        .into_iter()
        .flat_map(|kib| ARMS.map(|arm| step(Layer::Kernel, arm, kib)))
        .collect();
    exhibit.add_note("From the guests of *Figure 4 with the kernel*; misses do not overlap.");
    exhibit
}

fn steps_of(kib: u64) -> impl Iterator<Item = String> {
    LAYERS
        .into_iter()
        .flat_map(move |layer| ARMS.map(|arm| step(layer, arm, kib)))
}

/// Returns the array sizes that have a result, in KiB. If no size has a result, only the largest
/// size is returned; its row gives the reason.
fn sizes(records: &Records) -> Vec<u64> {
    let is_known = |kib: &u64| steps_of(*kib).any(|step| records.simulated(&step).is_ok());
    let known: Vec<u64> = SIZES_KIB.into_iter().filter(is_known).collect();
    if known.is_empty() {
        SIZES_KIB[SIZES_KIB.len() - 1..].to_vec()
    } else {
        known
    }
}

fn row(
    records: &Records,
    counter: Counter,
    (variant, name): (Variant, &str),
    kib: u64,
) -> Vec<Cell> {
    let mut row: Vec<Cell> = vec![Bytes::kib(kib).into(), counter.name.into(), name.into()];
    for layer in LAYERS {
        row.extend(ARMS.map(|arm| {
            let found = misses(
                records,
                MissCounter {
                    counter,
                    variant,
                    layer,
                },
                arm,
                kib,
            );
            Cell::new(&found, 2, |misses| *misses)
        }));
    }
    row
}

pub(super) fn quantities() -> Quantities {
    vec![
        ("simulated-l1i-grows", |r| grows(r, Variant::Inclusive)),
        ("kernel-l1i-gaps", |r| gaps(r, Variant::Usual)),
        ("inclusive-l1i-gaps", |r| gaps(r, Variant::Inclusive)),
        ("kernel-l1i-larger-gap", |r| larger_gap(r, Variant::Usual)),
        ("inclusive-l1i-larger-gap", |r| {
            larger_gap(r, Variant::Inclusive)
        }),
        ("simulated-inclusion", inclusion),
        ("few-taken-away", few_taken_away),
        ("kernel-dtlb-gap", tlb_gap),
        ("kernel-dtlb-spaces", tlb_spaces),
        ("dtlb-dominates", tlb_dominates),
        ("larger-tlb", larger_tlb),
    ]
}
