//! Generates records that no machine would write: numbers up to their limits, and hostile texts.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use strum::IntoEnumIterator;
use switchcost_record::{
    Arm, Batches, Between, Cache, CacheKind, Case, Class, ClockFacts, Control, ControlOutcome,
    CoreClock, CostName, CountedHandoffs, CpuQuota, Cycles, EarlierCase, EarlierRuns, End,
    EndReason, Evidence, Fact, HandoffFacts, Header, HostManifest, InterruptLoad, KernelSwitches,
    Latency, Line, MEASURE_FORM, Mechanism, Placement, Plan, Policy, Refusal, Relation, Rounds,
    RuntimeCase, RuntimeFacts, RuntimeRun, Sample, Scheduler, SelfTest, SelfTestOutcome,
    SharedCost, Spread, SwitchPath, SwitchPlan, Tlb, TlbKind, VectorCase, VectorState, Walks,
    WarmUp,
};
use switchcost_units::{Bytes, CpuId, Nanos, TickRate, Ticks};
use switchcost_workload::{Access, Pages, Pattern, Sharing, WorkingSet};

fn number() -> impl Strategy<Value = u64> {
    // 2^53 + 1 is the first that a double does not hold.
    prop_oneof![
        Just(0),
        Just(1),
        Just((1 << 53) + 1),
        Just(u64::MAX - 1),
        Just(u64::MAX),
        any::<u64>()
    ]
}

fn small() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0), Just(u32::MAX), any::<u32>()]
}

pub(crate) fn text() -> impl Strategy<Value = String> {
    let hostile = [
        "",
        "\0\u{1}\u{1f}\u{7f}\u{85}\u{9b}2J",
        "\"\\\"\\\\/\u{8}\u{c}",
        "two\nlines\r\nand\ra\ttab",
        "{\"line\":\"end\"}\n",
        "\u{1b}]0;title\u{7}",
        "\u{202e}gnp.exe\u{2028}\u{2029}\u{feff}",
        "🦀👩‍👩‍👧 Größe 工\u{10ffff}",
        "null",
        "unknown",
    ];
    prop_oneof![
        select(hostile.to_vec()).prop_map(str::to_owned),
        vec(any::<char>(), 0..12).prop_map(String::from_iter),
    ]
}

fn fact<T: Clone + std::fmt::Debug + 'static>(
    value: impl Strategy<Value = T> + 'static,
) -> BoxedStrategy<Fact<T>> {
    prop_oneof![value.prop_map(Fact::Known), text().prop_map(Fact::unknown)].boxed()
}

fn one_of<T: IntoEnumIterator + Clone + std::fmt::Debug + 'static>() -> impl Strategy<Value = T> {
    select(T::iter().collect::<Vec<_>>())
}

fn cpu() -> impl Strategy<Value = CpuId> {
    small().prop_map(CpuId)
}

fn cpus() -> impl Strategy<Value = Vec<CpuId>> {
    vec(cpu(), 0..3)
}

fn nanos() -> impl Strategy<Value = Nanos> {
    number().prop_map(Nanos)
}

fn ticks() -> impl Strategy<Value = Ticks> {
    number().prop_map(Ticks)
}

fn bytes() -> impl Strategy<Value = Bytes> {
    number().prop_map(Bytes)
}

fn rate() -> impl Strategy<Value = TickRate> {
    number().prop_map(TickRate)
}

fn cache() -> impl Strategy<Value = Cache> {
    let kind = select(vec![
        CacheKind::Data,
        CacheKind::Instruction,
        CacheKind::Unified,
    ]);
    (small(), kind, bytes(), bytes(), option::of(small()), cpus()).prop_map(
        |(level, kind, size_bytes, line_bytes, ways, shared_by)| Cache {
            level,
            kind,
            size_bytes,
            line_bytes,
            ways,
            shared_by,
        },
    )
}

fn tlb() -> impl Strategy<Value = Tlb> {
    let kind = select(vec![TlbKind::Data, TlbKind::Instruction, TlbKind::Unified]);
    (small(), kind, small(), bytes()).prop_map(|(level, kind, entries, page_bytes)| Tlb {
        level,
        kind,
        entries,
        page_bytes,
    })
}

fn interrupt_load() -> impl Strategy<Value = InterruptLoad> {
    let counts = (number(), number(), number(), option::of(number()));
    (cpu(), counts).prop_map(
        |(cpu, (since_boot, observed, observed_ms, busy_per_mille))| InterruptLoad {
            cpu,
            since_boot,
            observed,
            observed_ms,
            busy_per_mille,
        },
    )
}

fn switch_path() -> impl Strategy<Value = SwitchPath> {
    let numbers = (
        fact(any::<i32>()),
        fact(number()),
        fact(small()),
        fact(small()),
        fact(any::<bool>()),
    );
    let (texts, lists) = (vec(fact(text()), 5), vec(fact(vec(text(), 0..3)), 3));
    (numbers, texts, lists, btree_map(text(), text(), 0..3)).prop_map(
        |(numbers, texts, lists, settings)| {
            let (nice, slice_ns, control_group_depth, seccomp_filters, is_traced) = numbers;
            let texts: [Fact<String>; 5] = texts.try_into().expect("five");
            let [control_group, autogroup, speculation, sched_ext, audit] = texts;
            let [ftrace, observers, security_modules]: [Fact<Vec<String>>; 3] =
                lists.try_into().expect("three");
            let utilization_clamp = seccomp_filters
                .known()
                .map_or_else(|| Fact::unknown("x"), |most| Fact::Known([0, *most]));
            SwitchPath {
                nice,
                slice_ns,
                utilization_clamp,
                control_group,
                control_group_depth,
                autogroup,
                seccomp_filters,
                speculation,
                is_traced,
                sched_ext,
                ftrace,
                observers,
                audit,
                security_modules,
                settings,
            }
        },
    )
}

fn host() -> impl Strategy<Value = HostManifest> {
    let (texts, facts) = ((text(), text(), text()), vec(fact(text()), 8));
    let claims = (
        any::<bool>(),
        fact(any::<bool>()),
        fact(any::<bool>()),
        fact(any::<bool>()),
        fact(small()),
    );
    let quota = option::of(
        (text(), number(), number()).prop_map(|(file, quota_us, period_us)| CpuQuota {
            file,
            quota_us,
            period_us,
        }),
    );
    let scheduler = (
        fact(vec(text(), 0..5)),
        fact(any::<bool>()),
        fact(any::<bool>()),
    );
    let scheduler = option::of(scheduler.prop_map(
        |(preemption_models, slice_extension, is_cache_aware)| Scheduler {
            preemption_models,
            slice_extension,
            is_cache_aware,
        },
    ));
    let limits = (quota, scheduler, option::of(switch_path()));
    let lists = (
        vec(cpus(), 3),
        vec(cache(), 0..3),
        fact(vec(tlb(), 0..3)),
        vec(interrupt_load(), 0..3),
        limits,
    );
    let (sizes, mitigations) = ((bytes(), bytes(), bytes()), btree_map(text(), text(), 0..3));
    (texts, facts, claims, lists, sizes, mitigations).prop_map(
        |(texts, facts, claims, lists, sizes, mitigations)| {
            let (
                (hostname, kernel, architecture),
                (page_bytes, memory_bytes, memory_available_bytes),
            ) = (texts, sizes);
            let facts: [Fact<String>; 8] = facts.try_into().expect("eight");
            let [
                distribution,
                cpu_model,
                huge_pages,
                clock_source,
                hypervisor,
                governor,
                preemption,
                kernel_command_line,
            ] = facts;
            let (is_tsc_invariant, is_smt_active, is_kpti_active, has_pcid, timer_hz) = claims;
            let (cpus, caches, tlbs, interrupts, (cpu_quota, scheduler, switch_path)) = lists;
            let [cpus_online, cpus_allowed, cpus_isolated]: [Vec<CpuId>; 3] =
                cpus.try_into().expect("three");
            HostManifest {
                hostname,
                kernel,
                distribution,
                architecture,
                cpu_model,
                cpus_online,
                cpus_allowed,
                cpus_isolated,
                caches,
                undescribed_caches: Vec::new(),
                microcode: timer_hz.known().map(|hz| format!("{hz:#x}")),
                core_khz: timer_hz.known().map(|hz| [u64::from(*hz); 2]),
                tlbs,
                page_bytes,
                huge_pages,
                memory_bytes,
                memory_available_bytes,
                clock_source,
                is_tsc_invariant,
                hypervisor,
                governor,
                is_turbo_on: Some(is_tsc_invariant).filter(|on| *on),
                is_smt_active,
                mitigations,
                is_kpti_active,
                has_pcid,
                timer_hz,
                preemption,
                kernel_command_line,
                interrupts,
                cpu_quota,
                scheduler,
                switch_path,
            }
        },
    )
}

fn clock() -> impl Strategy<Value = ClockFacts> {
    (text(), text(), rate(), ticks()).prop_map(|(source, reason, ticks_per_second, read_cost)| {
        ClockFacts {
            source,
            reason,
            ticks_per_second,
            read_cost,
        }
    })
}

fn control() -> impl Strategy<Value = Control> {
    let refused = (text(), text(), text(), text()).prop_map(|(found, needed, fix, lasting_fix)| {
        ControlOutcome::Refused {
            found,
            needed,
            fix,
            lasting_fix,
        }
    });
    let outcome = prop_oneof![
        Just(ControlOutcome::Applied),
        Just(ControlOutcome::TurnedOff),
        refused
    ];
    (text(), text(), outcome).prop_map(|(name, wanted, outcome)| Control {
        name,
        wanted,
        outcome,
    })
}

fn working_set() -> impl Strategy<Value = WorkingSet> {
    let names = (
        one_of::<Access>(),
        one_of::<Pattern>(),
        one_of::<Sharing>(),
        one_of::<Pages>(),
    );
    (bytes(), bytes(), names).prop_map(
        |(size_bytes, stride_bytes, (access, pattern, sharing, pages))| WorkingSet {
            size_bytes,
            stride_bytes,
            access,
            pattern,
            sharing,
            pages,
        },
    )
}

fn placement() -> impl Strategy<Value = Placement> {
    use Relation::*;
    let relation = select(vec![
        SameCpu,
        Smt,
        SharedCache,
        SameSocket,
        OtherSocket,
        Unknown,
        Unpinned,
    ]);
    (cpus(), relation).prop_map(|(cpus, relation)| Placement { cpus, relation })
}

fn switch_plan() -> impl Strategy<Value = SwitchPlan> {
    (number(), number()).prop_map(|(low_per_mille, high_per_mille)| SwitchPlan {
        low_per_mille,
        high_per_mille,
    })
}

fn runtime_case() -> impl Strategy<Value = RuntimeCase> {
    (text(), text(), one_of::<Class>()).prop_map(|(runtime, handoff, class)| RuntimeCase {
        runtime,
        handoff,
        class,
    })
}

fn runtime_facts() -> impl Strategy<Value = RuntimeFacts> {
    let handoff = (text(), text(), text()).prop_map(|(name, words, baseline)| HandoffFacts {
        name,
        words,
        baseline,
    });
    (text(), text(), text(), vec(handoff, 0..3)).prop_map(|(name, version, program, handoffs)| {
        RuntimeFacts {
            name,
            version,
            program,
            handoffs,
        }
    })
}

fn runtime_run(cases: u32) -> impl Strategy<Value = RuntimeRun> {
    let warm_up = (nanos(), nanos(), number()).prop_map(|(at_ns, wall_ns, handoffs)| WarmUp {
        at_ns,
        wall_ns,
        handoffs,
    });
    (
        0..cases,
        small(),
        text(),
        nanos(),
        vec(warm_up, 0..3),
        option::of(number()),
    )
        .prop_map(
            |(case, repetition, version, start_ns, warm_up, collections)| RuntimeRun {
                case,
                repetition,
                version,
                start_ns,
                warm_up,
                collections,
            },
        )
}

fn case() -> impl Strategy<Value = Case> {
    let runtime = option::of(runtime_case()).boxed();
    let vectors = option::of(
        (one_of::<VectorState>(), number()).prop_map(|(state, bytes)| VectorCase {
            state,
            xsave_bytes: Bytes(bytes),
        }),
    );
    (case_of_the_kernel(), runtime, vectors)
        .prop_map(|(case, runtime, vectors)| Case {
            runtime,
            vectors,
            ..case
        })
        .boxed()
}

fn case_of_the_kernel() -> BoxedStrategy<Case> {
    let names = (
        one_of::<Mechanism>(),
        one_of::<Between>(),
        one_of::<Policy>(),
    );
    let sets = (working_set(), option::of(number().prop_map(Bytes)));
    (names, small(), sets, placement(), option::of(switch_plan()))
        .prop_map(
            |((mechanism, between, policy), tasks, (working_set, away), placement, switches)| {
                Case {
                    mechanism,
                    between,
                    tasks,
                    working_set,
                    away,
                    vectors: None,
                    placement,
                    policy,
                    runtime: None,
                    switches,
                }
            },
        )
        .boxed()
}

fn plan() -> impl Strategy<Value = Plan> {
    let numbers = (small(), small(), small(), vec(nanos(), 5));
    (text(), vec(case(), 1..4).boxed(), numbers, any::<bool>()).prop_map(
        |(preset, cases, numbers, wants_counters)| {
            let (precision_per_mille, confidence_per_mille, max_repetitions, times) = numbers;
            let [
                budget_ns,
                batch_ns,
                repetition_ns,
                synthetic_switch_ns,
                synthetic_reload_ns,
            ]: [Nanos; 5] = times.try_into().expect("5");
            Plan {
                preset,
                cases,
                precision_per_mille,
                confidence_per_mille,
                budget_ns,
                max_repetitions,
                batch_ns,
                repetition_ns,
                synthetic_switch_ns,
                synthetic_reload_ns,
                rounds: Rounds {
                    round_trips: Some(batch_ns.0 / 3).filter(|n| n % 2 == 1),
                    ..Rounds::default()
                },
                wants_counters,
            }
        },
    )
}

/// Generates headers with runtimes and with earlier runs.
pub(crate) fn header() -> BoxedStrategy<Header> {
    let runtimes = vec(runtime_facts(), 0..3).boxed();
    (header_of_the_kernel(), runtimes, option::of(earlier()))
        .prop_map(|(header, runtimes, earlier)| Header {
            runtimes,
            earlier,
            ..header
        })
        .boxed()
}

fn earlier() -> impl Strategy<Value = EarlierRuns> {
    let spread =
        (0..9_usize, number(), number()).prop_map(|(place, between_ppm, within_ppm)| Spread {
            cost: CostName::iter().nth(place).expect("nine of them"),
            between_ppm,
            within_ppm,
        });
    let case = (
        (small(), small(), small()),
        (text(), text()),
        vec(spread, 0..4),
    )
        .prop_map(
            |((case, runs, repetitions), (since, until), spreads)| EarlierCase {
                case,
                runs,
                since,
                until,
                repetitions,
                spreads,
            },
        );
    (small(), vec((text(), small()), 0..3), vec(case, 0..3)).prop_map(|(found, left_out, cases)| {
        EarlierRuns {
            found,
            left_out: left_out.into_iter().collect(),
            cases,
        }
    })
}

fn header_of_the_kernel() -> BoxedStrategy<Header> {
    let texts = (text(), text(), vec(text(), 0..4));
    let clocks = (clock(), core_clock());
    (
        texts,
        number(),
        host(),
        clocks,
        vec(control(), 0..3),
        plan(),
    )
        .prop_map(
            |(
                (program_version, started_at, command),
                seed,
                host,
                (clock, core_clock),
                controls,
                plan,
            )| Header {
                schema: MEASURE_FORM.to_owned(),
                program_version,
                started_at,
                command,
                seed,
                host,
                clock,
                core_clock,
                controls,
                runtimes: Vec::new(),
                earlier: None,
                plan,
            },
        )
        .boxed()
}

fn core_clock() -> impl Strategy<Value = CoreClock> {
    (
        small(),
        option::of(small()),
        small(),
        ticks(),
        option::of(small()),
    )
        .prop_map(
            |(
                chain_length,
                multiplication_cycles,
                additions,
                overhead_ticks,
                unshared_per_mille,
            )| CoreClock {
                chain_length,
                multiplication_cycles,
                additions,
                overhead_ticks,
                unshared_per_mille,
                counter: unshared_per_mille.map(|_| "msr/aperf/".to_owned()),
                shared_costs: unshared_per_mille
                    .map(|ratio_per_mille| SharedCost {
                        ratio_per_mille,
                        cost_per_mille: chain_length,
                    })
                    .into_iter()
                    .collect(),
            },
        )
}

fn self_test() -> impl Strategy<Value = SelfTest> {
    let unavailable = text().prop_map(|why| SelfTestOutcome::Unavailable { why });
    let wrong = (number(), number(), number()).prop_map(|(expected_low, expected_high, found)| {
        SelfTestOutcome::Wrong {
            expected_low,
            expected_high,
            found,
        }
    });
    let outcome = prop_oneof![Just(SelfTestOutcome::Admitted), unavailable, wrong];
    (text(), text(), outcome).prop_map(|(instrument, known_answer, outcome)| SelfTest {
        instrument,
        known_answer,
        outcome,
    })
}

fn latency() -> impl Strategy<Value = Latency> {
    let walks = || {
        (number(), vec(ticks(), 0..4)).prop_map(|(loads, walk_ticks)| Walks { loads, walk_ticks })
    };
    let others = (
        option::of(walks()),
        option::of(walks()),
        option::of(walks()),
    );
    (bytes(), walks(), others).prop_map(
        |(size_bytes, chase, (emptied, emptied_by_page, in_order))| {
            let Walks { loads, walk_ticks } = chase;
            Latency {
                size_bytes,
                loads,
                walk_ticks,
                emptied,
                emptied_by_page,
                in_order,
            }
        },
    )
}

fn evidence() -> impl Strategy<Value = Evidence> {
    let times = (nanos(), nanos(), option::of(nanos()), option::of(nanos()));
    let counts = (
        option::of(number()),
        option::of(number()),
        number(),
        number(),
    );
    let places = (
        option::of(cpu()),
        option::of(cpu()),
        option::of(number()),
        option::of(number()),
    );
    (times, counts, places, ticks(), ticks(), any::<bool>()).prop_map(
        |(times, counts, places, probe_before, probe_after, is_clock_backwards)| {
            let (wall_ns, task_cpu_ns, run_delay_ns, steal_ns) = times;
            let (interrupts, softirqs, minor_faults, major_faults) = counts;
            let (cpu_before, cpu_after, khz_before, khz_after) = places;
            Evidence {
                wall_ns,
                task_cpu_ns,
                task_user_ns: run_delay_ns,
                task_system_ns: steal_ns,
                run_delay_ns,
                steal_ns,
                interrupts,
                softirqs,
                minor_faults,
                major_faults,
                cpu_before,
                cpu_after,
                khz_before,
                khz_after,
                probe_before,
                probe_after,
                is_clock_backwards,
            }
        },
    )
}

fn counters() -> impl Strategy<Value = Option<BTreeMap<String, u64>>> {
    option::of(btree_map(text(), number(), 0..3))
}

/// Generates samples of a case below `cases`.
fn sample(cases: u32) -> impl Strategy<Value = Sample> {
    let place = (0..cases, small(), small(), one_of::<Arm>());
    let counts = (nanos(), number(), ticks(), (number(), number()), number());
    (place, counts, evidence(), counters(), vec(small(), 0..4)).prop_map(
        |(place, counts, evidence, counters, handoff_ticks)| {
            let (case, repetition, position, arm) = place;
            let (at_ns, handoffs, ticks, (voluntary, involuntary), user_switches) = counts;
            let kernel_switches = KernelSwitches {
                voluntary,
                involuntary,
            };
            Sample {
                case,
                repetition,
                position,
                arm,
                at_ns,
                handoffs,
                ticks,
                kernel_switches,
                user_switches,
                evidence,
                counters,
                handoff_ticks,
            }
        },
    )
}

/// Generates cycles of a case below `cases`, with complete columns.
fn cycles(cases: u32) -> impl Strategy<Value = Cycles> {
    let place = (0..cases, small(), nanos(), small());
    let counts = (
        number(),
        number(),
        number(),
        (number(), number()),
        option::of(number()),
    );
    let batch = (one_of::<Arm>(), small(), ticks(), ticks());
    let probes = vec((ticks(), ticks()), 4);
    (place, counts, evidence(), vec(batch, 0..4), probes).prop_map(
        |(place, counts, evidence, batches, probes)| {
            let (case, repetition, at_ns, batches_per_cycle) = place;
            let (
                switching_handoffs,
                control_switches,
                user_switches,
                (voluntary, involuntary),
                counted,
            ) = counts;
            let switches = KernelSwitches {
                voluntary,
                involuntary,
            };
            let mut columns = Batches::default();
            for ((arm, handoffs, handoff_ticks, walk_ticks), (chain, additions)) in
                batches.into_iter().zip(&probes[1..])
            {
                columns.push_probe(*chain, *additions);
                columns.push(arm, handoffs, handoff_ticks, walk_ticks);
            }
            columns.push_probe(probes[0].0, probes[0].1);
            Cycles {
                case,
                repetition,
                at_ns,
                batches_per_cycle,
                switching_handoffs,
                control_switches,
                kernel_switches: switches,
                user_switches,
                counted: counted.map(|handoffs| CountedHandoffs { handoffs, switches }),
                evidence,
                batches: columns,
            }
        },
    )
}

fn refusal(cases: u32) -> impl Strategy<Value = Refusal> {
    (0..cases, small(), text()).prop_map(|(case, repetition, why)| Refusal {
        case,
        repetition,
        why,
    })
}

fn end() -> impl Strategy<Value = End> {
    let counted = proptest::option::of((small(), small()));
    let reason = select(vec![EndReason::Complete, EndReason::Interrupted]);
    (reason, nanos(), rate(), counted).prop_map(
        |(reason, elapsed_ns, ticks_per_second, counted)| End {
            reason,
            elapsed_ns,
            ticks_per_second,
            switches: counted.map(|(voluntary, involuntary)| KernelSwitches {
                voluntary: voluntary.into(),
                involuntary: involuntary.into(),
            }),
        },
    )
}

/// Generates lines that may occur in the middle of a record whose plan has `cases` cases.
fn middle_line(cases: u32) -> impl Strategy<Value = Line> {
    prop_oneof![
        self_test().prop_map(Line::SelfTest).boxed(),
        latency().prop_map(Line::Latency).boxed(),
        // Boxed: so many fields in each other's closures are more than a test's stack holds.
        sample(cases)
            .prop_map(|sample| Line::Sample(Box::new(sample)))
            .boxed(),
        cycles(cases)
            .prop_map(|cycles| Line::Cycles(Box::new(cycles)))
            .boxed(),
        runtime_run(cases)
            .prop_map(|run| Line::Runtime(Box::new(run)))
            .boxed(),
        refusal(cases).prop_map(Line::Refusal).boxed(),
    ]
}

/// Generates lines for any place in a record.
pub(crate) fn line() -> impl Strategy<Value = Line> {
    prop_oneof![
        1 => header().prop_map(|header| Line::Header(Box::new(header))),
        4 => middle_line(u32::MAX),
        1 => end().prop_map(Line::End),
    ]
}

/// Generates a header with the lines that may follow it, with or without an end.
pub(crate) fn record() -> impl Strategy<Value = (Header, Vec<Line>)> {
    header().prop_flat_map(|header| {
        let cases = header.plan.cases.len() as u32;
        (
            Just(header),
            vec(middle_line(cases), 0..6),
            option::of(end()),
        )
            .prop_map(|(header, mut lines, end)| {
                lines.extend(end.map(Line::End));
                (header, lines)
            })
    })
}
