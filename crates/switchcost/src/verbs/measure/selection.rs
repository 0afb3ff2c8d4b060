//! Converts flags to a selection of cases.

use std::collections::BTreeSet;

use switchcost_facts::{Root, cpus_by_quiet, relation};
use switchcost_measure::{PlacementChoice, Preset, RequestedControls, RuntimeSelection, Selection};
use switchcost_record::{HostManifest, Policy, Relation, Rounds, VectorCase};
use switchcost_units::{CpuId, parse_cpu_list};

use crate::claims::Claims;
use crate::cli::measure::{MeasureArguments, PlacementFlag, VectorStateFlag};
use crate::exit::{Failure, Outcome};

/// Returns the placement of the tasks on the CPUs named by the user. By default, the tasks are on
/// the quietest CPU that no other measurement uses, on a pair that includes this CPU, or on all
/// allowed CPUs in turn (`--placement matrix`).
pub(super) fn placement(
    arguments: &MeasureArguments,
    host: &HostManifest,
    claims: &mut Claims,
) -> Outcome<PlacementChoice> {
    let named = arguments.cpu.as_deref().map(parse_cpu_list).transpose();
    let mut named = named.map_err(|error| Failure::usage(error.to_string()))?;
    // A CPU that is named twice counts once.
    let mut seen = BTreeSet::new();
    named
        .iter_mut()
        .for_each(|cpus| cpus.retain(|cpu| seen.insert(*cpu)));
    if arguments.no_pin {
        return Ok(PlacementChoice::Unpinned);
    }
    if host.cpus_allowed.is_empty() {
        return Err(Failure::cpu_refusal());
    }
    let placement = match arguments.placement {
        PlacementFlag::One if arguments.concurrent => PlacementFlag::Pair,
        named => named,
    };
    let needs_two = || {
        let count = host.cpus_allowed.len();
        Failure::usage(format!(
            "{count} CPU is allowed, and --placement {placement} takes two; allow another (taskset), or leave --placement out"
        ))
    };
    let mut two = || pair(host, claims).ok_or_else(needs_two);
    match (placement, named.as_deref()) {
        (PlacementFlag::One, Some([cpu])) => Ok(PlacementChoice::One(*cpu)),
        (PlacementFlag::One | PlacementFlag::Pair, Some([a, b])) => {
            Ok(PlacementChoice::Pair(*a, *b))
        }
        (PlacementFlag::Both, Some([a, b])) => Ok(PlacementChoice::OneAndPair(*a, *b)),
        (PlacementFlag::Matrix | PlacementFlag::Both, _) if arguments.concurrent => {
            Err(Failure::usage(format!(
                "--placement {placement} cannot be combined with --concurrent; use --placement pair"
            )))
        }
        (PlacementFlag::Matrix, Some(cpus)) if cpus.len() >= 2 => {
            Ok(PlacementChoice::Matrix(cpus.to_vec()))
        }
        (_, Some(cpus)) => Err(wrong_number(placement, cpus)),
        (PlacementFlag::Matrix, None) if host.cpus_allowed.len() >= 2 => {
            Ok(PlacementChoice::Matrix(host.cpus_allowed.clone()))
        }
        (PlacementFlag::Pair, None) => two().map(|(a, b)| PlacementChoice::Pair(a, b)),
        (PlacementFlag::Both, None) => two().map(|(a, b)| PlacementChoice::OneAndPair(a, b)),
        (PlacementFlag::Matrix, None) => Err(needs_two()),
        (PlacementFlag::One, None) => claims
            .first_free(&cpus_by_quiet(host))
            .map(PlacementChoice::One)
            .ok_or_else(Failure::cpu_refusal),
    }
}

/// Returns the quietest CPU that no other measurement uses, and a partner: the first CPU that
/// shares a cache with it, or else the first other CPU. Returns `None` without a partner.
fn pair(host: &HostManifest, claims: &mut Claims) -> Option<(CpuId, CpuId)> {
    let first = claims.first_free(&cpus_by_quiet(host))?;
    let others = || {
        host.cpus_allowed
            .iter()
            .copied()
            .filter(|cpu| *cpu != first)
    };
    let shares = |cpu: &CpuId| relation(&Root::system(), first, *cpu) == Relation::SharedCache;
    let second = others().find(shares).or_else(|| others().next())?;
    Some((first, second))
}

fn wrong_number(placement: PlacementFlag, cpus: &[CpuId]) -> Failure {
    Failure::usage(format!(
        "--placement {placement} needs {}, but --cpu names {}; write, for example, --cpu {}",
        match placement {
            PlacementFlag::One => "one or two CPUs",
            PlacementFlag::Pair | PlacementFlag::Both => "two different CPUs",
            PlacementFlag::Matrix => "two or more CPUs",
        },
        match cpus.len() {
            0 => "none".to_owned(),
            1 => "only one".to_owned(),
            more => format!("{more} CPUs"),
        },
        match placement {
            PlacementFlag::One => "0",
            PlacementFlag::Pair | PlacementFlag::Both | PlacementFlag::Matrix => "0,1",
        }
    ))
}

pub(super) fn requested_controls(
    arguments: &MeasureArguments,
    placement: &PlacementChoice,
) -> RequestedControls {
    let cpus = Some(placement.cpus()).filter(|cpus| !cpus.is_empty());
    RequestedControls {
        cpus,
        policy: arguments.policy,
        is_real_time_off: arguments.no_rt || arguments.has_runtimes(),
    }
}

pub(super) fn preset(arguments: &MeasureArguments) -> Preset {
    match (arguments.quick, arguments.full, arguments.lmbench) {
        (true, _, _) => Preset::Quick,
        (_, true, _) => Preset::Full,
        (_, _, true) => Preset::Lmbench,
        _ => Preset::Default,
    }
}

pub(super) fn selection(
    arguments: &MeasureArguments,
    preset: Preset,
    placement: PlacementChoice,
    policy: Policy,
    runtimes: Vec<RuntimeSelection>,
) -> Outcome<Selection> {
    let vectors = vectors(arguments)?;
    Ok(Selection {
        preset,
        mechanisms: arguments.mechanism.clone(),
        runtimes,
        is_ladder: arguments.is_ladder,
        betweens: arguments.between.clone(),
        tasks: arguments.tasks.clone(),
        sizes: arguments.size.clone(),
        strides: arguments.stride.clone(),
        accesses: arguments.access.clone(),
        walk: arguments.walk(),
        reload: arguments.reload,
        away: arguments.away.clone(),
        vectors,
        is_concurrent: arguments.concurrent,
        placement,
        policy,
        precision_per_mille: arguments.precision,
        confidence_per_mille: arguments.confidence,
        budget: arguments.budget,
        max_repetitions: arguments.max_repetitions,
        wants_counters: !arguments.no_counters,
        rounds: Rounds {
            round_trips: arguments.round_trips,
            flush_bytes: arguments.flush,
            pause_ns: arguments.pause,
        },
        synthetic_switch: arguments.synthetic_switch,
        synthetic_reload: arguments.synthetic_reload,
    })
}

/// Returns the cases for the vector registers named by the user; an error if the machine lacks
/// some.
fn vectors(arguments: &MeasureArguments) -> Outcome<Vec<VectorCase>> {
    let named = &arguments.vector_state;
    if named.is_empty() {
        return Ok(Vec::new());
    }
    chosen(named, &switchcost_host::vector_state::available()).map_err(Failure::usage)
}

fn chosen(named: &[VectorStateFlag], there: &[VectorCase]) -> Result<Vec<VectorCase>, String> {
    let has: Vec<String> = there.iter().map(|case| case.state.to_string()).collect();
    let missing = |wanted: &str| {
        let has = if has.is_empty() {
            "none (it has no XSAVE that tells what is in use)".to_owned()
        } else {
            has.join(", ")
        };
        format!(
            "this machine has no vector state {wanted}, only {has}; choose one of these with --vector-state, or all"
        )
    };
    let mut all: Vec<VectorCase> = Vec::new();
    for flag in named {
        let found: Vec<VectorCase> = match flag {
            VectorStateFlag::All => there.to_vec(),
            VectorStateFlag::One(state) => there
                .iter()
                .copied()
                .filter(|case| case.state == *state)
                .collect(),
        };
        if found.is_empty() {
            return Err(missing(&flag.to_string()));
        }
        all.extend(found);
    }
    all.sort_by_key(|case| case.state);
    all.dedup();
    Ok(all)
}

#[cfg(test)]
mod tests {
    use switchcost_record::VectorState;
    use switchcost_units::Bytes;

    use super::*;

    #[test]
    fn vector_registers_are_those_that_the_machine_has_each_once() {
        let case = |state, bytes| VectorCase {
            state,
            xsave_bytes: Bytes(bytes),
        };
        let there = [
            case(VectorState::Init, 0),
            case(VectorState::Sse, 512),
            case(VectorState::Avx, 768),
        ];
        let one = VectorStateFlag::One;
        assert_eq!(
            chosen(&[one(VectorState::Avx), VectorStateFlag::All], &there),
            Ok(there.to_vec())
        );
        assert_eq!(
            chosen(&[one(VectorState::Sse)], &there),
            Ok(there[1..2].to_vec())
        );
        let why = "this machine has no vector state amx, only init, sse, avx; choose one of these with --vector-state, or all";
        assert_eq!(
            chosen(&[one(VectorState::Amx)], &there),
            Err(why.to_owned())
        );
        let why = "this machine has no vector state all, only none (it has no XSAVE that tells what is in use); choose one \
             of these with --vector-state, or all";
        assert_eq!(chosen(&[VectorStateFlag::All], &[]), Err(why.to_owned()));
    }
}
