"""The verbs of the program as functions. Made by make_verbs.py from what the program says of its flags: do not edit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from . import _runs
from ._options import Form, Path, Percentage, Size, Time, words
from .comparison import Comparison
from .measurement import Measurement
from .observation import Observation
from .simulation import Simulation
from .traces import Trace

MeasureMechanism: TypeAlias = Literal[
    "pipe", "eventfd", "futex", "mutex-condvar", "mutex-condvar-unlocked", "mutex-condvar-held", "socketpair", "tcp",
    "posix-sem", "posix-mq", "signal", "yield", "fiber", "ucontext", "green", "green-preempt", "async", "preempt",
    "concurrent", "runtime", "synthetic",
]
MeasureBetween: TypeAlias = Literal[
    "process", "thread", "user",
]
MeasureAccess: TypeAlias = Literal[
    "read", "write", "rmw",
]
MeasurePattern: TypeAlias = Literal[
    "strided", "chase",
]
MeasureSharing: TypeAlias = Literal[
    "private", "shared",
]
MeasurePages: TypeAlias = Literal[
    "base", "huge",
]
MeasurePlacement: TypeAlias = Literal[
    "one", "pair", "both", "matrix",
]
MeasurePolicy: TypeAlias = Literal[
    "fifo", "rr", "other", "batch",
]

_MEASURE: dict[str, Form] = {
    "mechanism": "commas",
    "runtime": "commas",
    "runtime_command": "value",
    "between": "commas",
    "tasks": "commas",
    "size": "sizes",
    "stride": "sizes",
    "access": "commas",
    "pattern": "value",
    "sharing": "value",
    "pages": "value",
    "reload": "flag",
    "away": "sizes",
    "vector_state": "commas",
    "concurrent": "flag",
    "placement": "value",
    "quick": "flag",
    "full": "flag",
    "lmbench": "flag",
    "prices": "value",
    "cpu": "value",
    "policy": "value",
    "no_pin": "flag",
    "no_rt": "flag",
    "no_counters": "flag",
    "counters": "flag",
    "noise": "value",
    "precision": "value",
    "history": "value",
    "round_trips": "value",
    "flush": "size",
    "pause": "value",
    "confidence": "value",
    "budget": "value",
    "max_repetitions": "value",
    "seed": "value",
    "synthetic_switch": "value",
    "synthetic_reload": "value",
    "record": "value",
    "redact": "flag",
}


def measure(
    *,
    mechanism: MeasureMechanism | Sequence[MeasureMechanism] = (),
    runtime: str | Sequence[str] = (),
    runtime_command: str | None = None,
    between: MeasureBetween | Sequence[MeasureBetween] = (),
    tasks: int | Sequence[int] = (),
    size: Size | Sequence[Size] = (),
    stride: Size | Sequence[Size] = (),
    access: MeasureAccess | Sequence[MeasureAccess] = (),
    pattern: MeasurePattern | None = None,
    sharing: MeasureSharing | None = None,
    pages: MeasurePages | None = None,
    reload: bool = False,
    away: Size | Sequence[Size] = (),
    vector_state: str | Sequence[str] = (),
    concurrent: bool = False,
    placement: MeasurePlacement | None = None,
    quick: bool = False,
    full: bool = False,
    lmbench: bool = False,
    prices: Path | None = None,
    cpu: str | None = None,
    policy: MeasurePolicy | None = None,
    no_pin: bool = False,
    no_rt: bool = False,
    no_counters: bool = False,
    counters: bool = False,
    noise: int | None = None,
    precision: Percentage | None = None,
    history: Path | None = None,
    round_trips: int | None = None,
    flush: Size | None = None,
    pause: Time | None = None,
    confidence: Percentage | None = None,
    budget: Time | None = None,
    max_repetitions: int | None = None,
    seed: int | None = None,
    synthetic_switch: Time | None = None,
    synthetic_reload: Time | None = None,
    record: Path | None = None,
    redact: bool = False,
    progress: bool = True,
) -> Measurement:
    """Measure what a context switch costs on this machine.

    Args:
        mechanism: Mechanisms: pipe, eventfd, futex, mutex-condvar, mutex-condvar-unlocked, mutex-condvar-held, socketpair,
            tcp, posix-sem, posix-mq, signal, yield, fiber, ucontext, green, green-preempt, async, preempt, concurrent (no
            hand-off: --concurrent), runtime (tasks of a language: --runtime), synthetic.
        runtime: Runtimes of languages, beside the kernel's threads and processes: go, java, ..., or all; go/channel for one
            hand-off, go=/opt/go/bin/go for another program, or a file runtime.toml of your own.
        runtime_command: A program of your own that speaks the protocol of runtimes, with its arguments.
        between: Between processes, threads, or both: process,thread.
        tasks: Tasks in the ring, 2 to 64.
        size: Size of each task's array, such as 0,64KiB,1MiB; 0 is the direct cost alone.
        stride: Stride of the walk, such as 8B,128B,4KiB; every element is touched once at any stride.
        access: What the walk does with each element: read, write, rmw.
        pattern: Order of the walk: strided, or a pointer chase that defeats the prefetcher [default: strided].
        sharing: One array for each task, or one for all: private, shared [default: private].
        pages: Pages under the arrays: base, huge [default: base].
        reload: Measure how a working set is reloaded: the 1st, 2nd, 3rd walk after a switch against settled ones, and their
            sum as the cost of having been away.
        away: What the other task touches meanwhile, such as 0,64KiB,1MiB [default: as much as --size]; implies --reload.
        vector_state: Vector registers that are in use at each hand-off, which the kernel then saves and loads: init (none),
            sse, avx, avx512, amx, or all that this machine has [default: what the program happens to use].
        concurrent: Compare two tasks that take turns on one CPU with the same on two CPUs at once that share a cache: by
            how much a walk is slower than alone, either way; implies --placement pair.
        placement: Where the tasks run [default: one].
        quick: Shorter repetitions and less precision; without a selection also fewer sizes: within 8 s.
        full: The whole grid of Li, Ding and Shen 2007: within 3 minutes.
        lmbench: lmbench's matrix: 2p/0K 2p/16K 2p/64K 8p/16K 8p/64K 16p/16K 16p/64K.
        prices: Measure instead the prices of the model of a switch, and write them to FILE: what a lost line costs, by
            size, footprint and kind of access, and how much longer the kernel's switch path takes with cold caches.
        cpu: CPUs to run on, such as 1 or 0,1 [default: the quietest, by load and interrupts].
        policy: Scheduling policy of the tasks: fifo, rr, other, batch [default: fifo].
        no_pin: Let the scheduler choose the CPU.
        no_rt: Do not use real-time priority: --policy other, unless batch is asked for.
        no_counters: Run no extra batches with performance counters.
        counters: Run them even if the CPU has no counters, as in most virtual machines, so that only the kernel's own (page
            faults, migrations) are counted.
        noise: Make network noise on this CPU while measuring: bursts of messages over the loopback device with random
            pauses, as in Li, Ding and Shen 2007, section 3.3. To see what a disturbance does, not to measure well.
        precision: A case is done when the half-width of its interval is at most this share of the estimate, such as 1%: of
            the interval that is printed, where --history has enough runs and they differ by less; else of that within this
            run, and the one that is printed holds for other runs, too, and is wider [default: 1%].
        history: Learn the run-to-run variation of this machine from its earlier records in FOLDER: at least seven, an hour
            or more apart.
        round_trips: Round trips of a timed batch, such as the 10000 of Li, Ding and Shen 2007 [default: as many as take 20
            us].
        flush: Flush the caches before each timed batch by writing this much, such as 4MiB, as their code does; no warm-up
            follows, so that the first round trips find them cold.
        pause: Sleep before each timed batch, such as 1s, as their code does.
        confidence: Confidence of the intervals: 90%, 95% or 99% [default: 90%].
        budget: Time for the whole run, such as 30s or 5min [default: as the preset says; 5s per case for a selection].
        max_repetitions: Maximum number of repetitions of a case; each has fresh processes and fresh pages [default: 150].
        seed: Seed of the interleaving and of random patterns [default: random; it is recorded].
        synthetic_switch: Length of the switch of the mechanism synthetic [default: 2us].
        synthetic_reload: What synthetic adds to each walk of the switching arm [default: 0ns].
        record: Keep the record in FILE, which must not exist [default: a new file in ~/.local/state/switchcost/runs].
        redact: Leave arguments of commands, the host name and the kernel's command line out of the record and of everything
            made from it.
        progress: Show how far it is, where tqdm is installed.
    """
    return _runs.measure(words(_MEASURE, locals()), progress)

ObserveBy: TypeAlias = Literal[
    "program", "control-group",
]

_OBSERVE: dict[str, Form] = {
    "pid": "repeated",
    "comm": "repeated",
    "cgroup": "value",
    "all": "flag",
    "duration": "value",
    "requests": "value",
    "rate_cmd": "value",
    "wakers": "flag",
    "scheduler_time": "flag",
    "events": "value",
    "counts_only": "flag",
    "no_bpf": "flag",
    "stacks": "optional",
    "profile": "value",
    "no_calibration": "flag",
    "record": "value",
    "redact": "flag",
    "folded": "value",
    "pprof": "value",
    "by": "value",
}


def observe(
    command: Sequence[str] = (),
    *,
    pid: str | Sequence[str] = (),
    comm: str | Sequence[str] = (),
    cgroup: str | None = None,
    all: bool = False,
    duration: Time | None = None,
    requests: int | None = None,
    rate_cmd: str | None = None,
    wakers: bool = False,
    scheduler_time: bool = False,
    events: Path | None = None,
    counts_only: bool = False,
    no_bpf: bool = False,
    stacks: int | bool | None = None,
    profile: Path | None = None,
    no_calibration: bool = False,
    record: Path | None = None,
    redact: bool = False,
    folded: Path | None = None,
    pprof: Path | None = None,
    by: ObserveBy | None = None,
    progress: bool = True,
) -> Observation:
    """Observe live programs: what switching costs them, why they switch, and what takes the CPU from them.

    Args:
        command: The command and its arguments.
        pid: Observe these processes and what they start meanwhile: numbers with commas, blanks or new lines between them,
            as pgrep prints them.
        comm: Observe the processes of this name, those that run now or come meanwhile, and what they start.
        cgroup: Observe the processes of this control group and of those below it: a folder, or its path below
            /sys/fs/cgroup.
        all: Observe every task but those of the observer.
        duration: For how long, such as 30s or 5min [default: until the command or all processes have ended; with --all and
            --cgroup 10s]. A command that still runs then is asked to end (SIGTERM).
        requests: How many requests are served in that time, for the cost of one.
        rate_cmd: Shell command that prints how many requests were served so far; it is run before and after.
        wakers: Count wake-ups by their waker, too; observing a switch then takes a third longer.
        scheduler_time: Measure how long the kernel's scheduler takes at each switch, if it has tracepoints at its entry and
            exit; observing a switch then takes nearly twice as long.
        events: Write each observed switch and wake-up to this file, as a trace for ui.perfetto.dev; observing a switch then
            takes more than twice as long.
        counts_only: Count only switches and causes: observing a switch takes about half as long, without times off the CPU,
            neighbours and the cost of reloading caches.
        no_bpf: Without BPF programs: use the kernel's records of switches (perf), or else its counters in /proc. Needs no
            root, and has no causes or neighbours.
        stacks: Sample the program's stack at N switches a second, 100 if no number is given, by frame pointers, for
            --folded and --pprof.
        profile: Take what lost lines cost from this profile of the program (switchcost trace --profile) and the prices of
            this machine (switchcost measure --prices) [default: the program's last profile on this machine, if any].
        no_calibration: Do not measure first what a switch costs here (8 s) if there is no recent measurement of this
            machine.
        record: Where to keep the record [default: a new file in ~/.local/state/switchcost/runs].
        redact: Leave arguments of commands, the host name and the kernel's command line out of the record and of everything
            made from it.
        folded: Write what was observed to FILE as folded stacks for flame graphs: the task's name, why it left its CPU,
            where, and for how long, in nanoseconds; or with observe --stacks the sampled stacks of the program, and how
            many switches they represent.
        pprof: Write the same to FILE as a profile for pprof: switches, time off the CPU, wait for a CPU, and direct cost.
        by: Rows of the first table of an observation: program, or control-group [default: program].
        progress: Show how far it is, where tqdm is installed.
    """
    return _runs.observe(command, words(_OBSERVE, locals()), progress)

SimulateOrder: TypeAlias = Literal[
    "scheduled", "as-run",
]
SimulateProcesses: TypeAlias = Literal[
    "own", "all",
]

_SIMULATE: dict[str, Form] = {
    "schedule": "commas",
    "quantum": "commas",
    "page_faults": "value",
    "at_once": "value",
    "only_intervals": "value",
    "from_": "value",
    "to": "value",
    "sample": "value",
    "seed": "value",
    "warm_up": "value",
    "design": "commas",
    "vary": "repeated",
    "in_full": "value",
    "prices": "value",
    "interval": "value",
    "intervals": "value",
    "kernel_touches": "flag",
    "private_by": "value",
    "user_only": "flag",
    "threads": "value",
    "places": "value",
    "record": "value",
    "redact": "flag",
    "with_": "repeated",
    "order": "value",
    "processes": "value",
    "switches": "value",
    "cpu": "value",
}


def simulate(
    traces: Path | Sequence[Path],
    command: Sequence[str] = (),
    *,
    schedule: str | Sequence[str] = (),
    quantum: str | Sequence[str] = (),
    page_faults: str | None = None,
    at_once: int | None = None,
    only_intervals: str | None = None,
    from_: int | None = None,
    to: int | None = None,
    sample: str | None = None,
    seed: int | None = None,
    warm_up: int | None = None,
    design: str | Sequence[str] = (),
    vary: str | Sequence[str] = (),
    in_full: int | None = None,
    prices: Path | None = None,
    interval: int | None = None,
    intervals: int | None = None,
    kernel_touches: bool = False,
    private_by: str | None = None,
    user_only: bool = False,
    threads: int | None = None,
    places: int | None = None,
    record: Path | None = None,
    redact: bool = False,
    with_: str | Sequence[str] = (),
    order: SimulateOrder | None = None,
    processes: SimulateProcesses | None = None,
    switches: int | None = None,
    cpu: int | None = None,
    progress: bool = True,
) -> Simulation:
    """Simulate caches on a trace: what each switch costs in cycles, and why.

    Args:
        traces: The trace, or several, which are trials; or live for the command.
        command: The command and its arguments.
        schedule: Of a trace: replay its tasks in these orders, round-robin, affinity:N, longest-quantum or batch:K, one
            after the other [default: the order of the trace; with --quantum, round-robin].
        quantum: Of a trace: replay its tasks with these quanta, one after the other, in instructions (400000) or at one
            instruction a cycle (4ms). Of live programs: the length of a turn in instructions [default: that of the trace,
            or 400000].
        page_faults: Of a trace: replay its tasks so that each waits for a disk at the first use of each page of a file, in
            instructions of others or at one instruction a cycle (20ms): switches by page faults, as when memory held no
            files yet.
        at_once: Of a trace: instead, run each process on a CPU with first levels of its own, this many instructions at a
            time, and report the misses of the last level that they share at once, beside those in turns of --quantum.
        only_intervals: Of a trace: simulate only the instructions from FROM on, counted from 0, and before TO; either may
            be omitted. What comes before is not simulated, except for a warm-up.
        from_: The start of --range, by itself.
        to: The end of --range, by itself.
        sample: Of a trace: simulate this share of it (5%), in parts chosen at random, and estimate the whole from them,
            with intervals.
        seed: With --sample: seed of the choice of parts [default: 0].
        warm_up: Instructions that are simulated before each part, and not counted; of those before them only the last use
            of each line is [default: 1000000; with --sample as many as a part has].
        design: Memory systems: a shipped name (--design list shows them), a TOML file, or host for this machine's own
            caches [default: the four of Mogul and Borg 1990].
        vary: Make variants of every design: L1D.size=8KiB,16KiB or L1I+L1D.ways=1,2,4; several times for all combinations.
        in_full: Simulate up to this many designs separately; of more, those that differ in the size, ways and cycles of
            their last levels are simulated in one pass, and all except the first of them have counters and costs only
            [default: 16].
        prices: Report what lost lines cost in time, too, at the prices in this file of switchcost measure --prices
            [default, for the design host: those of this machine, if they were measured].
        interval: Instructions in an interval after a switch [default: 10000; 1000 for client-server].
        intervals: Intervals recorded after each switch [default: 100].
        kernel_touches: Also simulate the kernel's accesses to user memory during system calls.
        private_by: Who has private caches in the simulation that each switch is compared with: process (its threads
            together) or task (each thread by itself) [default: process].
        user_only: Leave the kernel's own instructions and references out of a trace of a whole system.
        threads: Simulate up to this many designs at the same time [default: as many as there are CPUs].
        places: Number of places in code and data to list, those with the most excess cycles [default: 20].
        record: Keep the record (a Parquet file) in FILE, which must not exist [default: a new file in
            ~/.local/state/switchcost/runs].
        redact: Leave arguments of commands, the host name and the kernel's command line out of the record and of everything
            made from it.
        with_: Another command that runs beside the first; may be given several times.
        order: The order of turns: scheduled (the same each time) or as-run (as the kernel switches on one CPU: another each
            time) [default: scheduled].
        processes: Which processes the programs see: own (numbers from 2 on, the same each time, where the system allows it)
            or all [default: own].
        switches: Stop after this many switches.
        cpu: Run the traced programs on this CPU [default: the last one].
        progress: Show how far it is, where tqdm is installed.
    """
    return _runs.simulate(traces, command, words(_SIMULATE, locals()), progress)


_COMPARE: dict[str, Form] = {
    "fail_above": "value",
    "confidence": "value",
    "run_spread": "value",
    "across": "commas",
    "junit": "value",
    "markdown": "value",
}


def compare(
    base: Path,
    new: Path,
    *,
    fail_above: Percentage | None = None,
    confidence: Percentage | None = None,
    run_spread: Percentage | None = None,
    across: str | Sequence[str] = (),
    junit: Path | None = None,
    markdown: Path | None = None,
    progress: bool = True,
) -> Comparison:
    """Compare records: faster, slower, or no difference shown.

    Args:
        base: A record, or a folder of records of repeated runs.
        new: What to compare with it: a record, or a folder of records.
        fail_above: Exit with code 6 if a cost is shown to be slower and its ratio is above 1 plus this.
        confidence: Confidence of all verdicts together [default: 90%].
        run_spread: How much runs differ beyond their own intervals (standard deviation) [default: from repeated records of
            a side; else from earlier records of this machine; else 2%, or 15% for hand-offs across CPUs].
        across: Compare measured cases, too, that differ in these conditions and in nothing else: mechanism, between, tasks,
            size, stride, access, policy, placement.
        junit: Write the verdicts to FILE as JUnit's XML, too: a test for each cost.
        markdown: Write them to FILE as Markdown, too, for a comment on a pull request.
        progress: Show how far it is, where tqdm is installed.
    """
    return _runs.compare(base, new, words(_COMPARE, locals()), progress)

TraceOrder: TypeAlias = Literal[
    "scheduled", "as-run",
]
TraceProcesses: TypeAlias = Literal[
    "own", "all",
]

_TRACE: dict[str, Form] = {
    "profile": "value",
    "redact": "flag",
    "quantum": "value",
    "seed": "value",
    "with_": "repeated",
    "order": "value",
    "processes": "value",
    "switches": "value",
    "cpu": "value",
    "system": "flag",
    "kernel": "repeated",
    "append": "repeated",
    "memory": "size",
    "mips": "value",
    "physical": "flag",
    "slice": "commas",
    "seconds": "value",
    "between_stops": "flag",
    "file": "repeated",
}


def trace(
    command: Sequence[str],
    output: Path,
    *,
    profile: Path | None = None,
    redact: bool = False,
    quantum: int | None = None,
    seed: int | None = None,
    with_: str | Sequence[str] = (),
    order: TraceOrder | None = None,
    processes: TraceProcesses | None = None,
    switches: int | None = None,
    cpu: int | None = None,
    system: bool = False,
    kernel: str | Sequence[str] = (),
    append: str | Sequence[str] = (),
    memory: Size | None = None,
    mips: str | None = None,
    physical: bool = False,
    slice: Time | Sequence[Time] = (),
    seconds: int | None = None,
    between_stops: bool = False,
    file: Path | Sequence[Path] = (),
    progress: bool = True,
) -> Trace:
    """Trace every address that programs touch, with every switch between them.

    Args:
        command: The command and its arguments.
        output: The file for the trace, which must not exist.
        profile: Write a profile to FILE instead of a trace: what the model of a switch needs to know of the program, lines
            reused after a cut.
        redact: Leave arguments of commands, the host name and the kernel's command line out of the record and of everything
            made from it.
        quantum: Length of a scheduled turn in instructions, which varies by up to a sixteenth; Mogul and Borg 1990 had
            about 400000 [default: 400000].
        seed: Seed of the lengths of scheduled turns: another seed is another order [default: 1].
        with_: Another command that runs beside the first; may be given several times.
        order: The order of turns: scheduled (the same each time) or as-run (as the kernel switches on one CPU: another each
            time) [default: scheduled].
        processes: Which processes the programs see: own (numbers from 2 on, the same each time, where the system allows it)
            or all [default: own].
        switches: Stop after this many switches.
        cpu: Run the traced programs on this CPU [default: the last one].
        system: Run the programs in a guest under QEMU and trace its kernel, too; the same inputs give the same trace. Needs
            QEMU and a kernel image (make setup fetches both).
        kernel: The guest's kernel: an image, or a package of Debian's, which is downloaded and not installed [default: the
            one that make setup has fetched].
        append: Further parameters for the kernel's command line, such as 'mitigations=auto' or 'preempt=full'.
        memory: Memory of the guest [default: what its files take, and 384 MiB].
        mips: Millions of instructions in a second of the guest's time: 1000, or that halved up to ten times [default: 1000;
            for workload 15.6, as processors of 1990].
        physical: Also record where in the guest's physical memory its pages lie: physically indexed and tagged levels of
            simulated designs then have these addresses instead of assigned ones.
        slice: Time slice of the guest's scheduler [default: its own]. Several kernels, appended parameters or slices make a
            trace of each combination.
        seconds: End the programs after this many seconds of the guest's time [default: 600].
        between_stops: Trace each program only from where it stops itself (kill -STOP $$) until it stops again or ends: not
            its start-up.
        file: Another file, folder or program that the programs need in the guest, such as packages of Python; may be given
            several times.
        progress: Show how far it is, where tqdm is installed.
    """
    return _runs.trace(command, output, words(_TRACE, locals()), progress)
