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
        runtime: Language runtimes to measure, with OS threads and processes beside them: go, java, ..., or all.
        runtime_command: A program of your own that speaks the protocol of runtimes, with its arguments.
        between: Between processes, threads, or both.
        tasks: Tasks in the ring, 2 to 64.
        size: Sizes of each task's array, such as 0,64KiB,1MiB; 0 measures the direct cost alone.
        stride: Strides of the walk, such as 8B,128B,4KiB; every element is touched once at any stride.
        access: What the walk does with each element.
        pattern: Order of the walk: strided, or a pointer chase, which defeats the prefetcher [default: strided].
        sharing: One array for each task, or one for all [default: private].
        pages: Page size of the arrays [default: base].
        reload: Measure how fast a working set is reloaded after a switch.
        away: What the other task touches meanwhile, such as 0,64KiB,1MiB [default: as much as --size]; implies --reload.
        vector_state: Vector registers in use at each switch: init (none), sse, avx, avx512, amx, or all.
        concurrent: Compare time-sharing one CPU with running at once on two CPUs that share a cache.
        placement: Where the tasks run [default: one].
        quick: Finish within 8 s: shorter repetitions, less precision and, without a selection, fewer sizes.
        full: Measure the whole grid of Li, Ding and Shen 2007 (3 minutes).
        lmbench: Measure lmbench's matrix: 2p/0K 2p/16K 2p/64K 8p/16K 8p/64K 16p/16K 16p/64K.
        prices: Measure what a lost cache line costs instead, and write it to FILE, for the model of a switch.
        cpu: CPUs to run on, such as 1 or 0,1 [default: the quietest, by load and interrupts].
        policy: Scheduling policy of the tasks [default: fifo].
        no_pin: Let the scheduler choose the CPU.
        no_rt: Do not use real-time priority (--policy other, unless batch is given).
        no_counters: Run no extra batches with performance counters.
        counters: Run them even if the CPU has no counters, as in most virtual machines.
        noise: Make network noise on this CPU while measuring, as in Li, Ding and Shen 2007, section 3.3.
        precision: Measure each case until its interval is within this share of the estimate, such as 1% [default: 1%].
        history: Learn run-to-run variation from earlier records of this machine in FOLDER.
        round_trips: Round trips in a timed batch [default: as many as take 20 us].
        flush: Flush the caches before each timed batch by writing this much, such as 4MiB.
        pause: Sleep before each timed batch, such as 1s.
        confidence: Confidence of the intervals, such as 95% [default: 90%].
        budget: Time for the whole run, such as 30s or 5min [default: as the preset says; 5s per case for a selection].
        max_repetitions: Maximum number of repetitions of a case [default: 150].
        seed: Seed of the interleaving and of random patterns [default: random; it is recorded].
        synthetic_switch: Cost of a switch of the mechanism synthetic [default: 2us].
        synthetic_reload: What synthetic adds to each walk after a switch [default: 0ns].
        record: Keep the record in FILE, which must not exist [default: a new file in ~/.local/state/switchcost/runs].
        redact: Leave arguments of commands, the host name and the kernel's command line out of all output.
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
    "calls": "value",
    "no_calls": "flag",
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
    calls: Time | None = None,
    no_calls: bool = False,
    no_calibration: bool = False,
    record: Path | None = None,
    redact: bool = False,
    folded: Path | None = None,
    pprof: Path | None = None,
    by: ObserveBy | None = None,
    progress: bool = True,
) -> Observation:
    """Observe running programs: what switches cost them, why they switch, and who preempts them.

    Args:
        command: The command and its arguments.
        pid: Observe these processes and what they start meanwhile.
        comm: Observe the processes of this name, running now or later, and what they start.
        cgroup: Observe a control group and those below it: a folder, or its path below /sys/fs/cgroup.
        all: Observe every task except the observer's own.
        duration: How long to observe, such as 30s or 5min [default: until the target ends; with --all and --cgroup 10s].
        requests: Number of requests served in that time, for the cost of one.
        rate_cmd: Shell command that prints how many requests were served so far.
        wakers: Count wake-ups by their waker, too.
        scheduler_time: Measure how long the kernel's scheduler takes at each switch.
        events: Write each switch and wake-up to FILE, a trace for ui.perfetto.dev.
        counts_only: Count only switches and causes, at half the overhead.
        no_bpf: Use no BPF programs: needs no root, and reports no causes.
        stacks: Sample the program's stack at N switches a second, 100 by default, for --folded and --pprof.
        calls: Trace system calls once, for this time, to find what cold caches cost [default: 1 s of each 10, of at most 8
            processes, for at most 2 % of their CPU time].
        no_calls: Trace no system calls.
        no_calibration: Do not measure switch cost first (8 s) if no recent measurement fits.
        record: Keep the record in FILE, which must not exist [default: a new file in ~/.local/state/switchcost/runs].
        redact: Leave arguments of commands, the host name and the kernel's command line out of all output.
        folded: Write folded stacks to FILE, for flame graphs.
        pprof: Write a profile for pprof to FILE: switches, time off the CPU, wait for a CPU, direct cost.
        by: What the rows of the first table of an observation are [default: program].
        progress: Show how far it is, where tqdm is installed.
    """
    return _runs.observe(command, words(_OBSERVE, locals()), progress)

SimulatePrivateBy: TypeAlias = Literal[
    "process", "task",
]
SimulateOrder: TypeAlias = Literal[
    "scheduled", "as-run",
]
SimulateProcesses: TypeAlias = Literal[
    "own", "all",
]

_SIMULATE: dict[str, Form] = {
    "schedule": "commas",
    "quantum": "commas",
    "preempt_every": "value",
    "page_faults": "value",
    "at_once": "value",
    "range": "value",
    "sample": "value",
    "seed": "value",
    "warm_up": "value",
    "design": "commas",
    "vary": "repeated",
    "in_full": "value",
    "prices": "value",
    "interval": "value",
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
    preempt_every: int | None = None,
    page_faults: str | None = None,
    at_once: int | None = None,
    range: str | None = None,
    sample: str | None = None,
    seed: int | None = None,
    warm_up: int | None = None,
    design: str | Sequence[str] = (),
    vary: str | Sequence[str] = (),
    in_full: int | None = None,
    prices: Path | None = None,
    interval: str | None = None,
    kernel_touches: bool = False,
    private_by: SimulatePrivateBy | None = None,
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
        schedule: Replay a trace in these orders: round-robin, affinity:N, longest-quantum or batch:K.
        quantum: Replay a trace with these time slices, in instructions (400000) or time (4ms).
        preempt_every: Also end turns at random, this many instructions apart on average, as wake-ups of other tasks do.
        page_faults: Replay a trace with page faults: each task waits this long at its first use of each page of a file.
        at_once: Run each process on a CPU of its own, this many instructions at a time, with a shared last level.
        range: Simulate only the instructions FROM up to TO of a trace, such as 0..50000000.
        sample: Simulate this share of a trace, such as 5%, and estimate the whole from it.
        seed: With --sample: seed of the choice of parts [default: 0].
        warm_up: Instructions to simulate before each part without counting them [default: 1000000; with --sample as many as
            a part has].
        design: Memory systems: a built-in name (--design list shows them), a TOML file, or host [default: the four of Mogul
            and Borg 1990].
        vary: Simulate variants of every design: L1D.size=8KiB,16KiB or L1I+L1D.ways=1,2,4.
        in_full: Simulate up to this many designs separately [default: 16].
        prices: Report costs in time, too, at the prices in FILE, from measure --prices.
        interval: Intervals after a switch: their instructions, and how many are recorded [default: 10000x100; 1000x100 for
            client-server].
        kernel_touches: Also simulate the kernel's accesses to user memory during system calls.
        private_by: Who has private caches in the simulation without interference: each process, or each task [default:
            process].
        user_only: Leave the kernel's instructions and references out of a trace of a whole system.
        threads: Simulate up to this many designs at the same time [default: the number of CPUs].
        places: Number of places in code and data to list, by excess cycles [default: 20].
        record: Keep the record (Parquet) in FILE, which must not exist [default: a new file in
            ~/.local/state/switchcost/runs].
        redact: Leave arguments of commands, the host name and the kernel's command line out of all output.
        with_: Another command to run beside the first; may be given several times.
        order: Order of turns: scheduled (repeatable) or as-run (as the kernel switches on one CPU) [default: scheduled].
        processes: Which processes the programs see: their own, numbered from 2 on, or all [default: own].
        switches: Stop after this many switches.
        cpu: Run the traced programs on this CPU [default: the last one].
        progress: Show how far it is, where tqdm is installed.
    """
    return _runs.simulate(traces, command, words(_SIMULATE, locals()), progress)

CompareAcross: TypeAlias = Literal[
    "mechanism", "between", "tasks", "size", "stride", "access", "policy", "placement",
]

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
    across: CompareAcross | Sequence[CompareAcross] = (),
    junit: Path | None = None,
    markdown: Path | None = None,
    progress: bool = True,
) -> Comparison:
    """Compare records: faster, slower, or no difference shown.

    Args:
        base: A record, or a folder of records of repeated runs.
        new: What to compare with it: a record, or a folder of records.
        fail_above: Exit with code 6 if a cost is slower, and its ratio is more than this above 1.
        confidence: Confidence of all verdicts together [default: 90%].
        run_spread: Standard deviation between runs, beyond their own intervals.
        across: Also compare measured cases that differ only in these conditions.
        junit: Also write the verdicts to FILE as JUnit XML: a test for each cost.
        markdown: Also write the verdicts to FILE as Markdown, for a comment on a pull request.
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
        profile: Write a reuse profile to FILE instead of a trace.
        redact: Leave arguments of commands, the host name and the kernel's command line out of all output.
        quantum: Length of a scheduled turn in instructions [default: 400000].
        seed: Seed of the lengths of scheduled turns: another seed is another order [default: 1].
        with_: Another command to run beside the first; may be given several times.
        order: Order of turns: scheduled (repeatable) or as-run (as the kernel switches on one CPU) [default: scheduled].
        processes: Which processes the programs see: their own, numbered from 2 on, or all [default: own].
        switches: Stop after this many switches.
        cpu: Run the traced programs on this CPU [default: the last one].
        system: Run the programs in a guest under QEMU, and trace its kernel, too.
        kernel: The guest's kernel: an image, or a Debian package [default: the one that make setup has fetched].
        append: Further words for the kernel's command line, such as 'mitigations=auto'.
        memory: Memory of the guest [default: what its files take, and 384 MiB].
        mips: Millions of instructions in a second of the guest's time [default: 1000; for workload 15.6].
        physical: Also record the guest's physical addresses, for physically indexed levels.
        slice: Time slice of the guest's scheduler [default: its own].
        seconds: End the programs after this many seconds of the guest's time [default: 600].
        between_stops: Trace each program only between its own SIGSTOPs: not its start-up.
        file: Another file, folder or program that the programs need in the guest; may be given several times.
        progress: Show how far it is, where tqdm is installed.
    """
    return _runs.trace(command, output, words(_TRACE, locals()), progress)
