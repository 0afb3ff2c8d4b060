//! The figures of the bench: commands, the measured quantity, the value for comparison, and the
//! bound.

use serde_json::Value;

use crate::figure::{Bound, Figure, Quantity, Table};
use crate::shell::{Run, number};

const DIRECT: &str = "results.0.direct_ns.estimate";

/// Prefix of a command that runs next to another task, which computes in bursts.
pub(crate) const BESIDE_NEIGHBOUR: &str = "switchcost-bench --neighbour any ";

/// Conditions of a measurement: alone, and next to another task. Each has a name and a command
/// prefix.
pub(crate) const PLACES: [(&str, &str); 2] =
    [("quiet", ""), ("beside a neighbour", BESIDE_NEIGHBOUR)];

/// Command prefix that simulates one design with Cachegrind.
macro_rules! cachegrind {
    () => {
        "valgrind -q --tool=cachegrind --cache-sim=yes --cachegrind-out-file=/dev/null"
    };
}

/// Returns figures of switches over a pipe, compared with each other and with `perf bench sched
/// pipe`.
pub(crate) fn pipe() -> Table {
    let pipe = |flags: &str| {
        format!(
            "switchcost measure --mechanism pipe --no-counters --budget 2s {flags} --format json"
        )
    };
    // perf calls a round trip an op, and prints seconds.
    let perf = "taskset -c 0 perf bench -f simple sched pipe -l 50000 | awk '{print $1 * 20000}'";
    Table {
        setup: vec![],
        rounds: 10,
        figures: vec![
            Figure::new(
                "pipe, direct cost: half-width of the 90 % interval after 2 s",
                pipe("--precision 0.1%"),
                Quantity::HalfWidthPercent("results.0.direct_ns"),
                Bound::AtMost(1.0),
            )
            .unit(" %"),
            Figure::new(
                "pipe, direct cost: ten runs, largest deviation from their median",
                pipe("--precision 1%"),
                Quantity::Number(DIRECT),
                Bound::Repeats(3.0),
            )
            .unit(" ns"),
            Figure::new(
                "pipe, round trip on one CPU without real-time priority, over perf bench sched pipe's",
                pipe("--precision 1% --no-rt --cpu 0"),
                Quantity::Number("results.0.round_trip_ns.estimate"),
                Bound::Shown,
            )
            .unit(" ns")
            .over(perf),
        ],
    }
}

/// Returns a table of the precision with which `measure` finds the cost of a fiber switch.
pub(crate) fn fiber() -> Table {
    let command = "switchcost measure --mechanism fiber --no-counters --budget 2s --precision 0.5% --format json";
    Table {
        setup: vec![],
        rounds: 10,
        figures: vec![
            Figure::new(
                "fiber, direct cost: half-width of the 90 % interval",
                command,
                Quantity::HalfWidth("results.0.direct_ns"),
                Bound::AtMost(0.1),
            )
            .unit(" ns"),
        ],
    }
}

/// Returns figures of synthetic switches and reloads with known answers. A traversal after a spin
/// loop takes a little longer than one after another traversal, because prefetchers start again.
/// This is no error, so a reload is the difference from the result for a reload of 0.
pub(crate) fn known_answers() -> Table {
    let synthetic = |flags: &str| {
        format!("switchcost measure --mechanism synthetic --no-counters {flags} --format json")
    };
    let switch = |length: &str, ns: f64| {
        Figure::new(
            format!("made-up switch of {length}: found over made up"),
            synthetic(&format!("--synthetic-switch {length}")),
            Quantity::Number(DIRECT),
            Bound::EachNearOne(2.0),
        )
        .over_truth(ns)
    };
    let reload = |size: &str, length: &str, ns: f64| {
        let command =
            |length: &str| synthetic(&format!("--size {size} --synthetic-reload {length}"));
        Figure::new(
            format!("made-up reload of {length} after a walk of {size}, over the same without: found over made up"),
            command(length),
            Quantity::Number("results.0.indirect_ns.estimate"),
            Bound::EachNearOne(5.0),
        )
        .less(command("0ns"))
        .over_truth(ns)
    };
    Table {
        setup: vec![],
        rounds: 5,
        figures: vec![
            switch("200ns", 200.0),
            switch("2us", 2_000.0),
            switch("20us", 20_000.0),
            reload("64KiB", "20us", 20_000.0),
            reload("1MiB", "100us", 100_000.0),
        ],
    }
}

/// Returns figures of the half-widths of total costs, on a quiet machine and next to another task.
pub(crate) fn half_widths() -> Table {
    let figure = |(place, prefix): (&str, &str), mib: u64, budget: &str, most: f64| {
        Figure::new(
            format!("pipe, total cost of {mib} MiB, {place}: half-width in {budget}"),
            format!(
                "{prefix}switchcost measure --mechanism pipe --size {mib}MiB --no-counters --budget {budget} --precision 0.1% --format json"
            ),
            Quantity::HalfWidthPercent("results.0.total_ns"),
            Bound::AtMost(most),
        )
        .unit(" %")
    };
    Table {
        setup: vec![],
        rounds: 5,
        figures: PLACES
            .into_iter()
            .flat_map(|place| [figure(place, 1, "2s", 5.0), figure(place, 16, "5s", 20.0)])
            .collect(),
    }
}

/// Returns figures of the duration of the presets, from the start of the command to its end.
pub(crate) fn durations() -> Table {
    let preset = |flag: &str, most: f64| {
        let command = format!("switchcost measure{flag}");
        Figure::new(
            format!("duration of {command}"),
            command,
            Quantity::Seconds,
            Bound::AtMost(most),
        )
        .unit(" s")
    };
    Table {
        setup: vec![],
        rounds: 1,
        figures: vec![
            preset(" --quick", 8.0),
            preset("", 30.0),
            preset(" --full", 180.0),
        ],
    }
}

/// Returns figures of `switchcost trace` of gzip, compared with gzip alone and with Valgrind's own
/// tools on the same text.
pub(crate) fn capture() -> Table {
    let native = "gzip -c text > /dev/null";
    let none = "valgrind -q --tool=none gzip -c text > /dev/null";
    let capture = "switchcost trace -o $out/gzip.sct -- gzip -c text > /dev/null";
    let seconds = |what: &str, command: &str, other: &str, bound| {
        Figure::new(what, command, Quantity::Seconds, bound)
            .unit(" s")
            .over(other)
    };
    let short = "gzip -c short > /dev/null";
    let bytes_an_instruction =
        |run: &Run| Some(number(&run.json, "bytes")? / number(&run.json, "instructions")?);
    Table {
        setup: vec![
            "switchcost-bench --text 20000000 > text",
            "switchcost-bench --text 1000000 > short",
            "switchcost trace -o gzip.sct -- gzip -c text > /dev/null",
        ],
        rounds: 5,
        figures: vec![
            seconds(
                "capture of gzip over gzip alone, elapsed time",
                capture,
                native,
                Bound::AtMost(4.0),
            ),
            seconds(
                "capture of gzip over valgrind --tool=none, elapsed time",
                capture,
                none,
                Bound::AtMost(1.4),
            ),
            Figure::new(
                "capture of gzip over gzip alone, CPU time",
                capture,
                Quantity::CpuSeconds,
                Bound::Shown,
            )
            .unit(" s")
            .over(native),
            Figure::new(
                "size of the trace of gzip, bytes an instruction",
                "switchcost trace info gzip.sct --format json",
                Quantity::Computed(Box::new(bytes_an_instruction)),
                Bound::AtMost(0.25),
            )
            .unit(" B"),
            seconds(
                "gzip of 1 MB under cachegrind, which simulates one design, over gzip alone",
                concat!(cachegrind!(), " gzip -c short > /dev/null"),
                short,
                Bound::Shown,
            ),
            seconds(
                "gzip of 1 MB under lackey, which prints every address, into /dev/null, over gzip alone",
                "valgrind -q --tool=lackey --trace-mem=yes --log-file=/dev/null gzip -c short > /dev/null",
                short,
                Bound::Shown,
            ),
        ],
    }
}

/// Returns figures of the program of `make build`, compared with the packaged program.
pub(crate) fn builds() -> Table {
    let capture = "switchcost trace -o $out/gzip.sct -- gzip -c text > /dev/null";
    let simulate = "switchcost simulate --design host gzip.sct";
    let built = |command: &str| format!("$release/{command}");
    let seconds = |what: &str, command: &str, other: &str, most| {
        Figure::new(what, built(command), Quantity::Seconds, Bound::AtMost(most))
            .unit(" s")
            .over(other)
    };
    Table {
        setup: vec![
            "switchcost-bench --text 6000000 > text",
            "switchcost trace -o gzip.sct -- gzip -c text > /dev/null",
        ],
        rounds: 5,
        figures: vec![
            seconds(
                "capture of gzip by the program of make build over gzip alone",
                capture,
                "gzip -c text > /dev/null",
                5.0,
            ),
            seconds(
                "capture by the program of make build over the one that is shipped",
                capture,
                capture,
                1.15,
            ),
            seconds(
                "simulation by the program of make build over the one that is shipped",
                simulate,
                simulate,
                1.15,
            ),
        ],
    }
}

/// Returns figures of simulating four interleaved programs, which pack, sort, hash and search the
/// same text. The long trace has some 1,800 million references, so that start and end of a run do
/// not matter.
pub(crate) fn simulate() -> Table {
    let command = |trace: &str, designs: &str, threads: u8| {
        format!(
            "switchcost simulate {trace} --design {designs} --threads {threads} --record $out/r.parquet --format json"
        )
    };
    let rate = |what: &str, designs: &str, least: f64| {
        let millions_a_second = |run: &Run| {
            let count = |kind: &str| number(&run.json, &format!("trace.{kind}"));
            let references = count("instructions")? + count("loads")? + count("stores")?;
            Some(references / run.seconds / 1e6)
        };
        Figure::new(
            format!("simulation of {what}, references a second"),
            command("long.sct", designs, 2),
            Quantity::Computed(Box::new(millions_a_second)),
            Bound::AtLeast(least),
        )
        .unit(" M/s")
    };
    let seconds = |what: String, [own, other]: [String; 2], bound| {
        Figure::new(what, own, Quantity::Seconds, bound)
            .unit(" s")
            .over(other)
    };
    // One design is the middle one: 1 MiB with 4 ways, or 2 MiB with 8 ways.
    let many = |what: &str, folder: &str, one: &str, most: f64| {
        let all = format!("$(echo {folder}/* | tr ' ' ,)");
        let commands = [all, format!("{folder}/{one}.toml")];
        seconds(
            format!("simulation of {what} over one of them"),
            commands.map(|designs| command("short.sct", &designs, 2)),
            Bound::AtMost(most),
        )
    };
    let two = "zen4-epyc-9004,xeon-sapphire-rapids";
    let on_two_threads = command("short.sct", two, 2);
    let on_one_cpu = format!("taskset -c 0 {}", command("short.sct", two, 1));
    Table {
        setup: vec![
            include_str!("designs.sh"),
            "switchcost-bench --text 6000000 > long.txt",
            "switchcost-bench --text 1500000 > short.txt",
            "for text in long short; do switchcost trace -o $text.sct --with \"sort --parallel=1 $text.txt\" --with \"sha256sum $text.txt\" \
             --with \"grep -c ab.*yz $text.txt\" -- gzip -c $text.txt > /dev/null || exit; done",
        ],
        rounds: 5,
        figures: vec![
            rate("the machine it runs on", "host", 150.0),
            rate("a server of 2022", "zen4-epyc-9004", 150.0),
            rate("a server of 2023", "xeon-sapphire-rapids", 150.0),
            rate("two plain levels", "plain-lru", 250.0),
            rate("a workstation of 1990", "mogul-1a", 350.0),
            rate(
                "the four designs of Mogul and Borg 1990",
                "mogul-1a,mogul-1b,mogul-2a,mogul-2b",
                120.0,
            ),
            seconds(
                "simulation of two designs of today, on one CPU over on two".to_owned(),
                [on_one_cpu, on_two_threads.clone()],
                Bound::AtLeast(1.8),
            ),
            seconds(
                "simulation of two designs of today, one after the other beside the thread that reads the trace over both at a time"
                    .to_owned(),
                [command("short.sct", two, 1), on_two_threads],
                Bound::Shown,
            ),
            many(
                "a hundred sizes of a second-level cache",
                "second",
                "12-4",
                8.0,
            ),
            many(
                "twenty sizes of a second-level cache before a third",
                "between",
                "12-8",
                5.0,
            ),
        ],
    }
}

/// Returns figures of the four programs under Cachegrind, which simulates one design.
pub(crate) fn cachegrind() -> Table {
    Table {
        setup: vec![],
        rounds: 1,
        figures: vec![
            Figure::new(
                "cachegrind, one design, with the running of the same programs one after another, over the simulation of two plain levels",
                concat!(
                    "for program in 'gzip -c' 'sort --parallel=1' sha256sum 'grep -c ab.*yz'; do ",
                    cachegrind!(),
                    " $program long.txt; done > /dev/null"
                ),
                Quantity::Seconds,
                Bound::Shown,
            )
            .unit(" s")
            .over("switchcost simulate long.sct --design plain-lru --threads 2 --record $out/r.parquet"),
        ],
    }
}

/// Returns figures of the whole pipeline and its memory, with programs traced on one core and
/// simulated on another.
pub(crate) fn live() -> Table {
    let timesharing = "switchcost workload timesharing --design mogul-1a,mogul-1b,mogul-2a,mogul-2b --record $out/r.parquet --format json";
    let switches = |run: &Run| {
        let count = |kind: &str| number(&run.json, &format!("designs.0.switches.{kind}"));
        Some(count("voluntary")? + count("involuntary")?)
    };
    let processes = |count: u32| {
        format!(
            "switchcost simulate live --design mogul-1a --record $out/r.parquet -- \
             sh -c 'for i in $(seq {count}); do /bin/true; done'"
        )
    };
    let walks = |name: &str| {
        format!("switchcost simulate --design mogul-1a --record $out/r.parquet {name}.sct")
    };
    let memory = |what: &str, [long, short]: [String; 2]| {
        Figure::new(what, long, Quantity::PeakMib, Bound::AtMost(1.25))
            .unit(" MiB")
            .over(short)
    };
    Table {
        setup: vec![
            "switchcost trace walks --size 64KiB --turns 100 -o once.sct",
            "switchcost trace walks --size 64KiB --turns 1600 -o sixteen.sct",
        ],
        rounds: 1,
        figures: vec![
            Figure::new(
                "trial of timesharing under four designs, as it runs",
                timesharing,
                Quantity::Seconds,
                Bound::AtMost(180.0),
            )
            .unit(" s"),
            Figure::new(
                "switches of it, of 5000",
                timesharing,
                Quantity::Computed(Box::new(switches)),
                Bound::AtLeast(4_990.0),
            ),
            memory(
                "memory of a simulation as programs run, 120 short processes over 30, mogul-1a",
                [120, 30].map(processes),
            ),
            memory(
                "memory of a simulation from a file, sixteen times the trace over one, mogul-1a",
                ["sixteen", "once"].map(walks),
            ),
        ],
    }
}

/// Returns figures of the time of all runtimes, and of the widths of their intervals.
pub(crate) fn ladder() -> Table {
    let command = "switchcost runtimes --format json";
    let narrow_percent = |run: &Run| {
        let half_width = |result: &Value| {
            let end = |name: &str| number(result, &format!("handoff_ns.{name}"));
            Some((end("high")? - end("low")?) / 2.0 / end("estimate")?)
        };
        let widths: Vec<f64> = handoffs(&run.json).filter_map(half_width).collect();
        let narrow = widths.iter().filter(|width| **width <= 0.05).count();
        Some(narrow as f64 / widths.len() as f64 * 100.0)
    };
    Table {
        setup: vec![],
        rounds: 1,
        figures: vec![
            Figure::new(
                "the ladder of all runtimes that are here",
                command,
                Quantity::Seconds,
                Bound::AtMost(90.0),
            )
            .unit(" s"),
            Figure::new(
                "its hand-offs without data whose interval is within 5 %",
                command,
                Quantity::Computed(Box::new(narrow_percent)),
                Bound::Shown,
            )
            .unit(" %"),
        ],
    }
}

/// Returns figures of three kinds of hand-offs: in a compiled runtime, in a runtime with a
/// just-in-time compiler, and between OS threads.
pub(crate) fn runtimes() -> Table {
    const NAMES: [(&str, &str); 4] = [
        ("go", "channel"),
        ("java", "virtual-queue"),
        ("node", "await"),
        ("java", "platform-queue"),
    ];
    let command = format!(
        "switchcost measure --mechanism fiber --runtime {} --no-counters --budget 20s --format json",
        NAMES
            .map(|(name, handoff)| format!("{name}/{handoff}"))
            .join(",")
    );
    let figure = |(name, handoff): (&'static str, &'static str)| {
        let cycles = move |run: &Run| {
            let result = handoffs(&run.json)
                .find(|result| result["runtime"] == name && result["runtime_handoff"] == handoff)?;
            let hertz = number(&run.json, "core.hertz")?;
            Some(number(result, "handoff_ns.estimate")? * hertz / 1e9)
        };
        Figure::new(
            format!("{name}/{handoff}, core cycles: ten runs, largest deviation from their median"),
            &command,
            Quantity::Computed(Box::new(cycles)),
            Bound::Repeats(3.0),
        )
        .unit(" cycles")
    };
    Table {
        setup: vec![],
        rounds: 10,
        figures: NAMES.map(figure).into(),
    }
}

/// Returns the results of hand-offs in runtimes without a working set.
fn handoffs(json: &Value) -> impl Iterator<Item = &Value> {
    let results = json["results"].as_array().into_iter().flatten();
    results.filter(|result| result["size_bytes"] == 0 && result["runtime"].is_string())
}

/// Returns figures of the time that observers add to each switch of a pinned ping-pong over a pipe.
pub(crate) fn watchers() -> Table {
    let command = |watcher: &str| {
        // The command prints half the time of a round trip in ns. perf calls a round trip an op. The
        // observed command prints to stderr.
        format!(
            "{watcher} taskset -c 1 perf bench sched pipe -l 100000 2>&1 | awk '/usecs\\/op/ {{print $1 * 500}}'"
        )
    };
    let observe = |flags: &str| {
        format!("switchcost observe --no-calibration {flags}--record $out/record.json --")
    };
    let added = |name: &str, watcher: &str, bound| {
        Figure::new(
            format!("{name} of a pinned perf bench sched pipe, added to each switch"),
            command(watcher),
            Quantity::Number(""),
            bound,
        )
        .unit(" ns")
        .less(command(""))
    };
    Table {
        setup: vec![],
        rounds: 7,
        figures: vec![
            added("observe", &observe(""), Bound::AtMost(300.0)),
            added(
                "observe --counts-only",
                &observe("--counts-only "),
                Bound::AtMost(150.0),
            ),
            added("observe --wakers", &observe("--wakers "), Bound::Shown),
            added(
                "perf stat -a -e context-switches",
                "perf stat -a -e context-switches -o $out/perf --",
                Bound::Shown,
            ),
            added(
                "perf record -e sched:sched_switch -a",
                "perf record -q -e sched:sched_switch -a -o $out/perf --",
                Bound::Shown,
            ),
            added(
                "perf sched record",
                "perf sched record -q -o $out/perf --",
                Bound::Shown,
            ),
        ],
    }
}

/// Returns figures of pages and comparisons of large records. Two interleaved processes that
/// traverse 64 KiB, simulated in intervals of 100 instructions, have 164 rows per segment.
pub(crate) fn report() -> Table {
    let page = |what: &str, record: &str, seconds: f64, mib: f64| {
        let command = format!("switchcost report {record} -o $out/page.html");
        [
            Figure::new(
                format!("report of {what} as a page"),
                &command,
                Quantity::Seconds,
                Bound::AtMost(seconds),
            )
            .unit(" s"),
            Figure::new(
                format!("report of {what} as a page, memory"),
                command,
                Quantity::PeakMib,
                Bound::AtMost(mib),
            )
            .unit(" MiB"),
        ]
    };
    let mut figures = Vec::new();
    figures.extend(page("a --full record", "full.jsonl", 2.0, 100.0));
    figures.extend(page(
        "a simulated record of 10 million rows",
        "rows.parquet",
        10.0,
        1024.0,
    ));
    figures.push(
        Figure::new(
            "comparison of a --full record with a --quick one",
            "switchcost compare full.jsonl quick.jsonl",
            Quantity::Seconds,
            Bound::AtMost(1.0),
        )
        .unit(" s"),
    );
    Table {
        setup: vec![
            "switchcost measure --record full.jsonl --full",
            "switchcost measure --record quick.jsonl --quick",
            "switchcost trace walks --size 64KiB --access read --turns 31000 -o walks.sct",
            "switchcost simulate walks.sct --design mogul-1a --interval 100x1000 --record rows.parquet",
        ],
        rounds: 5,
        figures,
    }
}

/// Returns figures of hand-offs with ordinary scheduling policies, compared with the CPU time of an
/// independent ping-pong.
pub(crate) fn ordinary() -> Table {
    const POLICIES: [(&str, &str, u8); 2] =
        [("SCHED_OTHER", "other", 0), ("SCHED_BATCH", "batch", 3)];
    let ours = |policy: &str| {
        format!(
            "switchcost measure --mechanism pipe --between process --no-counters --budget 2s --precision 0.1% \
             --policy {policy} --cpu 1 --format json"
        )
    };
    let theirs = |number: u8| format!("./ping_pong 1 {number} 150000");
    let quantity = |name: &'static str, path: &'static str, divisor: f64| {
        let either = move |run: &Run| {
            let own = number(&run.json, path).map(|ns| ns / divisor);
            own.or_else(|| number(&run.json, name))
        };
        Quantity::Computed(Box::new(either))
    };
    let handoff = || quantity("handoff_ns", "results.0.round_trip_ns.estimate", 2.0);
    let direct = || quantity("direct_ns", DIRECT, 1.0);
    let mut figures = Vec::new();
    let places = [
        ("", "", 3.0),
        (
            ", another task in bursts on the same CPU",
            "switchcost-bench --neighbour 1 ",
            5.0,
        ),
    ];
    for (place, prefix, percent) in places {
        for (name, policy, number) in POLICIES {
            for (what, quantity) in [("hand-off", handoff()), ("direct cost", direct())] {
                figures.push(
                    Figure::new(
                        format!("pipe under {name}{place}: {what} over that of an independent ping-pong by its CPU time"),
                        format!("{prefix}{}", ours(policy)),
                        quantity,
                        Bound::NearOne(percent),
                    )
                    .unit(" ns")
                    .over(format!("{prefix}{}", theirs(number))),
                );
            }
        }
    }
    // For known effects, the ping-pong's own ratio is the true one.
    let [other, own_other] = [ours("other"), theirs(0)];
    let mut effect = |name: &str, commands: [String; 2]| {
        let [with, own_with] = &commands;
        figures.push(
            Figure::new(
                format!("direct cost, {name}: the ratio over the ping-pong's"),
                with,
                direct(),
                Bound::NearOne(3.0),
            )
            .over_as_well(&other, [own_with, &own_other]),
        );
    };
    effect("SCHED_BATCH over SCHED_OTHER", [ours("batch"), theirs(3)]);
    let commands = [&other, &own_other];
    effect(
        "control groups of 8 levels over none",
        commands.map(|command| format!("./in-groups {command}")),
    );
    effect(
        "with autogroup the other way over as it is",
        commands.map(|command| format!("./autogroup-changed {command}")),
    );
    Table {
        setup: vec![PING_PONG, include_str!("in-groups.sh")],
        rounds: 5,
        figures,
    }
}

/// Command that compiles the independent ping-pong.
pub(crate) const PING_PONG: &str = concat!(
    "cat > ping_pong.c << 'END'\n",
    include_str!("../ping_pong.c"),
    "\nEND\ncc -O2 -o ping_pong ping_pong.c"
);
