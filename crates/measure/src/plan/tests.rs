use super::*;
use switchcost_record::{Cache, CacheKind, Fact, Rounds, VectorState};
use switchcost_workload::{Pattern, Sharing};

/// Change of a selection that is refused, and the start of the error message.
type Refused = (fn(&mut Selection), &'static str);

fn host() -> HostManifest {
    let text = include_str!("../../tests/host.json");
    serde_json::from_str(text).expect("a manifest")
}

fn selection() -> Selection {
    Selection {
        preset: Preset::Default,
        mechanisms: vec![],
        runtimes: Vec::new(),
        is_ladder: false,
        betweens: vec![],
        tasks: vec![],
        sizes: vec![],
        strides: vec![],
        accesses: vec![],
        walk: WorkingSet::NONE,
        reload: false,
        away: vec![],
        vectors: Vec::new(),
        is_concurrent: false,
        placement: PlacementChoice::One(CpuId(1)),
        policy: Policy::Fifo,
        precision_per_mille: None,
        confidence_per_mille: 900,
        budget: None,
        max_repetitions: None,
        wants_counters: false,
        rounds: Rounds::default(),
        synthetic_switch: Nanos(2000),
        synthetic_reload: Nanos(0),
    }
}

/// Returns the selection of the tests after `change`.
fn with(change: impl FnOnce(&mut Selection)) -> Selection {
    let mut wanted = selection();
    change(&mut wanted);
    wanted
}

fn make(selection: &Selection) -> Result<Plan, PlanError> {
    plan(selection, &host(), &|_, _| Relation::SharedCache)
}

fn made(selection: &Selection) -> Plan {
    make(selection).expect("a plan")
}

fn planned(change: impl FnOnce(&mut Selection)) -> Plan {
    made(&with(change))
}

fn message(selection: &Selection) -> String {
    make(selection).expect_err("no such plan").to_string()
}

fn refusal(change: impl FnOnce(&mut Selection)) -> String {
    message(&with(change))
}

fn sizes(plan: &Plan) -> Vec<Bytes> {
    let sizes = plan.cases.iter().map(|case| case.working_set.size_bytes);
    sizes.collect()
}

fn names(plan: &Plan) -> Vec<String> {
    let cases = plan.cases.iter();
    cases
        .map(|case| format!("{} {}", case.name(), case.working_set.size_bytes))
        .collect()
}

#[test]
fn what_is_not_selected_is_not_run() {
    let plan = planned(|s| {
        s.mechanisms = vec![Mechanism::Pipe, Mechanism::Futex];
        s.sizes = vec![Bytes(0), Bytes::kib(64)];
        s.strides = vec![Bytes(8)];
        s.accesses = vec![Access::Rmw];
    });
    assert_eq!(
        names(&plan),
        ["pipe 0 B", "pipe 64 KiB", "futex 0 B", "futex 64 KiB"]
    );
    let is_usual = |case: &Case| case.between == Between::Process && case.tasks == 2;
    assert!(plan.cases.iter().all(is_usual));
}

#[test]
fn without_flags_all_mechanisms_and_a_sweep_are_run() {
    let plan = planned(|_| ());
    let has = |mechanism| plan.cases.iter().any(|case| case.mechanism == mechanism);
    for mechanism in Mechanism::real() {
        assert!(has(mechanism), "{mechanism}");
    }
    assert!(!has(Mechanism::Synthetic));
    let sizes = sizes(&plan);
    assert!(
        sizes.contains(&Bytes::kib(1)) && sizes.contains(&Bytes::mib(64)),
        "{sizes:?}"
    );
    assert!(plan.cases.iter().all(|case| case.away.is_none()));
    assert!(plan.cases.iter().all(|case| case.mechanism.hands_over()));
}

#[test]
fn the_full_grid_is_the_papers() {
    let plan = planned(|s| s.preset = Preset::Full);
    let count = |access, stride| {
        let is_counted = |case: &&Case| {
            let set = case.working_set;
            set.size_bytes.0 > 0 && set.access == access && set.stride_bytes == Bytes(stride)
        };
        plan.cases.iter().filter(is_counted).count()
    };
    assert_eq!((count(Access::Read, 8), count(Access::Write, 8)), (16, 16));
    assert!(count(Access::Rmw, 8) >= 16);
    assert_eq!(
        [64, 128, 512, 4096].map(|stride| count(Access::Rmw, stride)),
        [6; 4]
    );
}

#[test]
fn lmbenchs_columns_are_its_own_also_on_a_pair_of_cpus() {
    for placement in [
        PlacementChoice::One(CpuId(1)),
        PlacementChoice::Pair(CpuId(0), CpuId(1)),
    ] {
        let plan = planned(|s| (s.preset, s.placement) = (Preset::Lmbench, placement));
        let columns: Vec<String> = plan
            .cases
            .iter()
            .map(|c| format!("{}p/{}K", c.tasks, c.working_set.size_bytes.0 >> 10))
            .collect();
        assert_eq!(
            columns,
            [
                "2p/0K", "2p/16K", "2p/64K", "8p/16K", "8p/64K", "16p/16K", "16p/64K"
            ]
        );
        assert_eq!(plan.preset, "lmbench");
    }
}

#[test]
fn a_matrix_has_every_cpu_and_every_pair() {
    let plan = planned(|s| s.placement = PlacementChoice::Matrix(vec![CpuId(0), CpuId(1)]));
    let cpus: Vec<usize> = plan.cases.iter().map(|c| c.placement.cpus.len()).collect();
    assert_eq!(cpus, [1, 1, 2]);
    assert!(
        plan.cases[2].switches.is_none(),
        "across CPUs the count is not judged"
    );
}

#[test]
fn cpus_that_are_not_there_are_refused_before_they_are_paired() {
    let all = (0..CpuId::LIMIT).map(CpuId).collect();
    let wanted = with(|s| s.placement = PlacementChoice::Matrix(all));
    let refused = plan(&wanted, &host(), &|a, b| unreachable!("{a} and {b}"));
    assert!(
        matches!(refused, Err(PlanError::Offline { .. })),
        "{refused:?}"
    );
}

#[test]
fn bad_wishes_are_refused_with_advice() {
    let cases: [Refused; 3] = [
        (
            |s| s.tasks = vec![65],
            "65 tasks cannot hand off in a ring; choose 2 to 64 with --tasks",
        ),
        (
            |s| s.tasks = vec![1],
            "1 task cannot hand off in a ring; choose 2 to 64 with --tasks",
        ),
        (
            |s| {
                s.mechanisms = vec![Mechanism::Preempt];
                s.placement = PlacementChoice::Pair(CpuId(0), CpuId(1));
            },
            "preempt cannot be measured across CPUs, because one task preempts the other; give --cpu one number",
        ),
    ];
    for (change, expected) in cases {
        let found = refusal(change);
        assert!(found.starts_with(expected), "{found}");
    }
}

#[test]
fn the_reload_is_planned_for_each_pair_of_footprints() {
    let footprints = |change: fn(&mut Selection)| -> Vec<(Bytes, Option<Bytes>)> {
        let cases = planned(change).cases;
        cases
            .iter()
            .map(|case| (case.working_set.size_bytes, case.away))
            .collect()
    };
    let (small, large) = (Bytes::kib(64), Bytes::mib(1));
    let own = footprints(|s| {
        s.sizes = vec![Bytes::kib(64), Bytes::mib(1)];
        s.reload = true;
    });
    assert_eq!(
        own,
        [(small, Some(small)), (large, Some(large))],
        "as much as one's own"
    );
    let named = footprints(|s| {
        s.sizes = vec![Bytes::kib(64)];
        s.away = vec![Bytes(0), Bytes::mib(1)];
    });
    assert_eq!(named, [(small, Some(Bytes(0))), (small, Some(large))]);
    let usual = footprints(|s| s.reload = true);
    assert_eq!(usual.len(), 5, "sizes of its own");
}

#[test]
fn a_reload_across_cpus_is_refused() {
    let refused = refusal(|s| {
        (s.sizes, s.reload) = (vec![Bytes::kib(64)], true);
        s.placement = PlacementChoice::Pair(CpuId(0), CpuId(1));
    });
    let why = "the reload of a working set cannot be measured with more than one CPU";
    assert!(refused.starts_with(why), "{refused}");
}

/// Returns a selection of 64 tasks with 256 MiB each. These 16 GiB fit into the memory of [`host`],
/// but cannot be prepared in five seconds.
fn large(budget: Nanos) -> Selection {
    Selection {
        tasks: vec![64],
        sizes: vec![Bytes::mib(256)],
        budget: Some(budget),
        ..selection()
    }
}

#[test]
fn a_plan_that_no_machine_can_do_in_time_is_refused() {
    assert_eq!(
        message(&large(Nanos::seconds(5))),
        "--budget 5s is too short: 64 tasks need at least 8.93 s to walk 256 MiB each, 5 times; raise --budget, or lower \
         --tasks or --size until all arrays together are at most 8GiB"
    );
    let mut several = large(Nanos::seconds(5));
    several.mechanisms = vec![Mechanism::Pipe, Mechanism::Futex];
    assert_eq!(
        message(&several),
        "--budget 5s is too short: 64 tasks need at least 20.10 s to walk 256 MiB each, 5 times, and another case as often; \
         raise --budget, or lower --tasks or --size until all arrays together are at most 4075MiB"
    );
    let mut surer = large(Nanos::seconds(9));
    surer.confidence_per_mille = 990;
    let message = message(&surer);
    assert!(message.contains(" each, 8 times"), "{message}");
}

#[test]
fn what_the_refusal_says_would_fit_does() {
    assert!(make(&large(Nanos::seconds(9))).is_ok(), "a longer budget");
    for (tasks, size) in [(32, Bytes::mib(256)), (64, Bytes::mib(128))] {
        let mut smaller = large(Nanos::seconds(5));
        (smaller.tasks, smaller.sizes) = (vec![tasks], vec![size]);
        assert!(make(&smaller).is_ok(), "{tasks} x {size}");
    }
}

/// Shows that untouched memory takes no time: a shared array is prepared once for all tasks, and a
/// chase touches each node once.
#[test]
fn what_is_not_touched_takes_no_time() {
    let mut shared = large(Nanos::seconds(8));
    let mut chased = shared.clone();
    assert!(make(&shared).is_err());
    shared.walk.sharing = Sharing::Shared;
    chased.walk.pattern = Pattern::Chase;
    assert!(make(&shared).is_ok() && make(&chased).is_ok());
}

#[test]
fn pauses_that_fit_into_the_budget_are_taken() {
    planned(|s| {
        s.rounds.pause_ns = Some(Nanos::millis(500));
        (s.sizes, s.budget) = (vec![Bytes(0)], Some(Nanos::seconds(5)));
    });
}

#[test]
fn a_preset_with_its_own_budget_is_never_refused_for_want_of_time() {
    let mut giant = host();
    for cache in &mut giant.caches {
        if cache.level == 3 {
            cache.size_bytes = Bytes(16 << 30);
        }
    }
    giant.memory_available_bytes = Bytes(4 << 40);
    let plan = |selection: &Selection| plan(selection, &giant, &|_, _| Relation::SharedCache);
    let mut quick = with(|s| s.preset = Preset::Quick);
    assert!(plan(&quick).is_ok());
    quick.budget = Some(Nanos::millis(1));
    assert!(matches!(plan(&quick), Err(PlanError::Time { .. })));
}

/// Shows that every preset is accepted even with 1/20 of its default budget.
#[test]
fn no_preset_is_refused_for_want_of_time() {
    for preset in [
        Preset::Default,
        Preset::Quick,
        Preset::Observe,
        Preset::Full,
        Preset::Lmbench,
    ] {
        let mut hurried = with(|s| s.preset = preset);
        let least = Nanos(made(&hurried).budget_ns.0 / 20);
        hurried.budget = Some(least);
        assert!(make(&hurried).is_ok(), "{preset} in {least}");
    }
}

#[test]
fn what_observe_needs_has_every_price_and_little_else() {
    let plan = planned(|s| s.preset = Preset::Observe);
    let direct = plan.cases.iter().filter(|case| case.working_set.is_empty());
    let mechanisms: Vec<Mechanism> = direct.map(|case| case.mechanism).collect();
    assert_eq!(
        mechanisms,
        [
            Mechanism::Pipe,
            Mechanism::Yield,
            Mechanism::Preempt,
            Mechanism::Pipe
        ]
    );
    let mut sizes = sizes(&plan);
    sizes.retain(|size| size.0 > 0);
    assert_eq!(sizes.len(), 4, "{sizes:?}");
    assert!(
        sizes.iter().all(|size| *size <= Bytes::mib(4)),
        "each is set up in less time than it is walked for: {sizes:?}"
    );
}

#[test]
fn caches_are_emptied_by_more_than_they_hold_where_there_is_so_much() {
    let plan = latency_plan(&host());
    assert!(
        plan.flush
            .is_some_and(|size| size.0 >= 2 * plan.last_level.0),
        "{plan:?}"
    );
    let small = HostManifest {
        memory_available_bytes: Bytes(plan.last_level.0),
        ..host()
    };
    assert_eq!(latency_plan(&small).flush, None);
}

#[test]
fn a_selection_under_quick_keeps_its_pace() {
    let plan = planned(|s| (s.preset, s.mechanisms) = (Preset::Quick, vec![Mechanism::Futex]));
    assert_eq!(names(&plan), ["futex 0 B"]);
    assert_eq!(
        (plan.budget_ns, plan.repetition_ns),
        (Nanos::seconds(1), Nanos::millis(10))
    );
}

#[test]
fn the_fewest_repetitions_are_those_of_the_signed_rank_test() {
    // R: 1 - 2 * psignrank(0, n) >= level, for n = 5, 6, 8, 11.
    let fewest = [900, 950, 990, 999].map(check::fewest_repetitions);
    assert_eq!(fewest, [5, 6, 8, 11]);
}

#[test]
fn a_cpu_outside_the_cpuset_is_named_as_such() {
    let mut narrow = host();
    narrow.cpus_allowed = vec![CpuId(0)];
    let error = plan(&selection(), &narrow, &|_, _| Relation::Smt);
    let error = error.expect_err("CPU 1 is not allowed").to_string();
    let expected = "CPU 1 is not allowed for this process (allowed: 0);";
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn sizes_follow_the_caches_of_the_machine() {
    let mut odd = host();
    let cache = |level, kib| Cache {
        level,
        kind: CacheKind::Data,
        size_bytes: Bytes::kib(kib),
        line_bytes: Bytes(64),
        ways: None,
        shared_by: vec![],
    };
    odd.caches = vec![cache(1, 48), cache(2, 1280)];
    odd.tlbs = Fact::unknown("not reported");
    let sizes = sweep_sizes(&odd);
    assert_eq!(sizes.len(), 16);
    for kib in [24, 48, 96, 640, 1280, 2560, 5120] {
        assert!(sizes.contains(&Bytes::kib(kib)), "{kib} KiB in {sizes:?}");
    }
    odd.caches.clear();
    assert_eq!(
        sweep_sizes(&odd).first(),
        Some(&Bytes::kib(1)),
        "a machine that reports nothing is still measured"
    );
    assert!(sizes.windows(2).all(|pair| pair[0] < pair[1]));
}

#[test]
fn only_under_the_default_policy_may_a_hand_off_take_two_switches() {
    let one = Placement::one_cpu(CpuId(0));
    for (mechanism, policy, high) in [
        (Mechanism::MutexCondvar, Policy::Other, 2500),
        (Mechanism::MutexCondvar, Policy::Fifo, 1000),
        (Mechanism::MutexCondvarHeld, Policy::Other, 2500),
        (Mechanism::Futex, Policy::Other, 2500),
        // No task is woken.
        (Mechanism::Yield, Policy::Other, 1000),
    ] {
        let plan = switch_plan(mechanism, Between::Thread, &one, policy);
        assert_eq!(plan.map(|p| p.high_per_mille), Some(high), "{mechanism}");
    }
}

/// Shows the plan for a shared cache: each size with time-sharing on the first CPU and concurrently
/// on both, and a control whose arrays fit any cache.
#[test]
fn a_cache_is_shared_in_turn_on_one_cpu_and_at_once_on_two() {
    let mut wanted = concurrent();
    wanted.sizes = vec![Bytes::mib(1)];
    let plan = made(&wanted);
    let names: Vec<String> = plan
        .cases
        .iter()
        .map(|c| {
            let cpus = switchcost_units::format_cpu_list(&c.placement.cpus);
            format!("{} {} on {cpus}", c.mechanism, c.working_set.size_bytes)
        })
        .collect();
    let expected = [
        "pipe 4 KiB on 1",
        "pipe 1 MiB on 1",
        "concurrent 4 KiB on 1,0",
        "concurrent 1 MiB on 1,0",
    ];
    assert_eq!(names, expected);
    let is_judged = |case: &Case| case.switches.is_some() == case.mechanism.hands_over();
    assert!(plan.cases.iter().all(is_judged));
    let sizes = sizes(&made(&concurrent()));
    assert!(sizes.len() >= 8 && sizes[0] == Bytes::kib(4), "{sizes:?}");
}

fn concurrent() -> Selection {
    with(|s| {
        s.is_concurrent = true;
        s.placement = PlacementChoice::Pair(CpuId(1), CpuId(0));
    })
}

#[test]
fn who_shares_no_cache_has_none_to_compare() {
    let reported = |selection: &Selection, related| {
        let refused = plan(selection, &host(), &|_, _| related);
        refused.expect_err("no such plan").to_string()
    };
    for relation in [Relation::Smt, Relation::SameSocket, Relation::Unknown] {
        assert_eq!(
            reported(&concurrent(), relation),
            format!(
                "concurrent tasks cannot run with CPUs 1 and 0 ({relation}); name two cores that share a cache with --cpu (lscpu -e \
                 shows them)"
            )
        );
    }
    let cases: [Refused; 3] = [
        (|s| s.sizes = vec![Bytes(0)], "no arrays; give some"),
        (|s| s.tasks = vec![4], "4 tasks; use --tasks 2"),
        (|s| s.placement = PlacementChoice::One(CpuId(1)), "1 CPUs"),
    ];
    for (change, why) in cases {
        let mut wanted = concurrent();
        change(&mut wanted);
        let message = reported(&wanted, Relation::SharedCache);
        let expected = format!("concurrent tasks cannot run with {why}");
        assert!(message.starts_with(&expected), "{message}");
    }
}

fn runtime(handoff: &str, is_usual: bool) -> RuntimeSelection {
    let case = RuntimeCase {
        runtime: "go".to_owned(),
        handoff: handoff.to_owned(),
        class: switchcost_record::Class::HandOff,
    };
    RuntimeSelection {
        case,
        between: Between::User,
        across_cpus: is_usual,
        walks_in_ladder: is_usual,
    }
}

#[test]
fn runtimes_stand_beside_the_kernel_and_walk_by_one_hand_off_each() {
    let mut wanted = with(|s| {
        s.runtimes = vec![runtime("channel", true), runtime("cond", false)];
        s.sizes = vec![Bytes(0), Bytes::kib(256)];
        s.is_ladder = true;
    });
    let ladder = [
        "fiber 0 B",
        "futex 0 B",
        "futex 256 KiB",
        "pipe 0 B",
        "go/channel 0 B",
        "go/channel 256 KiB",
        "go/cond 0 B",
    ];
    assert_eq!(names(&made(&wanted)), ladder);
    wanted.is_ladder = false;
    wanted.mechanisms = vec![Mechanism::Yield];
    assert_eq!(made(&wanted).cases.len(), 6);
}

#[test]
fn a_runtime_may_use_both_cpus_and_its_switches_are_not_judged() {
    let plan = planned(|s| {
        s.runtimes = vec![runtime("channel", true)];
        s.placement = PlacementChoice::Pair(CpuId(0), CpuId(1));
    });
    let mut cases = plan.cases.iter();
    let case = cases.find(|case| case.runtime.is_some());
    let case = case.expect("it was selected");
    assert_eq!((case.placement.cpus.len(), case.switches), (2, None));
}

#[test]
fn on_one_cpu_and_on_two_those_that_stay_on_one_are_measured_once() {
    let plan = planned(|s| {
        s.runtimes = vec![runtime("channel", true), runtime("await", false)];
        s.placement = PlacementChoice::OneAndPair(CpuId(0), CpuId(1));
    });
    for (name, cpus) in [
        ("go/channel", &[1, 2][..]),
        ("futex", &[1, 2]),
        ("go/await", &[1]),
        ("fiber", &[1]),
    ] {
        let cases = plan.cases.iter().filter(|case| case.name() == name);
        let found: Vec<usize> = cases.map(|case| case.placement.cpus.len()).collect();
        assert_eq!(found, cpus, "{name}");
    }
}

#[test]
fn each_state_of_the_vector_registers_is_a_case_of_its_own() {
    let case = |state, bytes| VectorCase {
        state,
        xsave_bytes: Bytes(bytes),
    };
    let mut wanted =
        with(|s| s.vectors = vec![case(VectorState::Init, 0), case(VectorState::Avx512, 2368)]);
    assert_eq!(names(&made(&wanted)), ["pipe/init 0 B", "pipe/avx512 0 B"]);
    for mechanism in [Mechanism::Fiber, Mechanism::Preempt] {
        wanted.mechanisms = vec![mechanism];
        assert_eq!(
            message(&wanted),
            format!(
                "--vector-state cannot be measured with {mechanism}, which does not switch in the kernel; use --mechanism \
                 pipe, eventfd, futex and the like"
            )
        );
    }
}
