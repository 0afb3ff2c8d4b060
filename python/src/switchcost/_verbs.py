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
        mechanism: Mechanisms of the hand-off [default: the 17 from pipe to preempt]: pipe, eventfd, futex, mutex-condvar,
            mutex-condvar-unlocked, socketpair, tcp, posix-sem, posix-mq, signal, yield, fiber, ucontext, green, green-
            preempt, async, preempt. Others: mutex-condvar-held, concurrent (without hand-off; see --concurrent), runtime
            (of a language; see --runtime), synthetic.
        runtime: Language runtimes to compare with OS threads and processes: go, java, ..., or all.
        runtime_command: Your own program, with its arguments, that implements the runtime protocol.
        between: Hand over between processes, threads, or contexts in one thread (user).
        tasks: Number of tasks in the ring, 2 to 64.
        size: Array sizes per task, such as 0,64KiB,1MiB; 0 measures only the direct cost.
        stride: Strides through the array, such as 8B,128B,4KiB; the walk wraps around, so it touches every element once.
        access: How each element is accessed; rmw reads, modifies and writes it.
        pattern: Access order: strided, or a pointer chase, which defeats the prefetcher [default: strided].
        sharing: A private array for each task, or one array shared by all [default: private].
        pages: Page size of the arrays [default: base].
        reload: Measure how fast a working set is reloaded after a switch.
        away: Working set of the other task, such as 0,64KiB,1MiB; implies --reload [default: as --size].
        vector_state: Vector registers in use at each switch: init (none), sse, avx, avx512, amx, or all.
        concurrent: Compare time-sharing one CPU with running concurrently on two CPUs that share a cache.
        placement: Which CPUs the tasks run on [default: one].
        quick: Take about 8 s on an idle machine: shorter repetitions, less precision and, by default, fewer sizes.
        full: Measure all sizes and strides of Li, Ding and Shen 2007 (3 minutes).
        lmbench: Measure lmbench's configurations: 2p/0K 2p/16K 2p/64K 8p/16K 8p/64K 16p/16K 16p/64K.
        prices: Measure only the cost of a lost cache line, and write it to FILE for simulate --prices.
        cpu: CPUs to run on, such as 1 or 0,1 [default: the quietest, by load and interrupts].
        policy: Scheduling policy of the tasks [default: fifo].
        no_pin: Do not pin the tasks to a CPU.
        no_rt: Do not use real-time priority: the same as --policy other, unless you choose batch.
        no_counters: Skip the extra batches with performance counters.
        counters: Run the batches with counters even if the CPU has none, as in most virtual machines.
        noise: Make network noise on this CPU during the run, as in Li, Ding and Shen 2007, section 3.3.
        precision: Measure each case until its interval is within this share of the cost [default: 1%].
        history: Learn run-to-run variation from earlier records of this machine in DIR.
        round_trips: Round trips per timed batch [default: as many as fit into 20 us].
        flush: Flush the caches before each timed batch by writing this much memory, such as 4MiB.
        pause: Sleep before each timed batch, such as 1s.
        confidence: Confidence level of the intervals, such as 95% [default: 90%].
        budget: Time for the repetitions, such as 30s or 5min; the whole run takes some seconds longer [default: 26s, 6s
            with --quick, 170s with --full; 5s per case if you choose cases].
        max_repetitions: Maximum number of repetitions per case [default: 150].
        seed: Seed of the run order and of random patterns [default: random, and recorded].
        synthetic_switch: Cost of a switch with --mechanism synthetic [default: 2us].
        synthetic_reload: Time that synthetic adds to each walk after a switch [default: 0ns].
        record: Save the record as FILE, which must not exist [default: a new file in ~/.local/state/switchcost/runs].
        redact: Omit command arguments, the host name and the kernel command line from all output.
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
        pid: Observe the processes with these PIDs, and the children they start.
        comm: Observe the processes with this name, and the children they start.
        cgroup: Observe the control group PATH (with or without /sys/fs/cgroup) and the groups below it.
        all: Observe all tasks except the observer's own.
        duration: How long to observe, such as 30s or 5min [default: until the target exits; 10s with --all or --cgroup].
        requests: Number of requests served during the observation, for the cost per request.
        rate_cmd: Shell command that prints the number of requests served so far, for the cost per request.
        wakers: Also count wake-ups by the task that wakes.
        scheduler_time: Measure the time in the kernel's scheduler at each switch.
        events: Write every switch and wake-up to FILE, a trace for ui.perfetto.dev.
        counts_only: Count only switches and causes, at half the overhead.
        no_bpf: Use no BPF programs: needs no root, but reports no causes.
        stacks: Sample user stacks at N switches per second (100 by default), for --folded and --pprof.
        calls: Trace system calls once, for this long, to find the cost of cold caches.
        no_calls: Do not trace system calls.
        no_calibration: Skip the calibration (8 to 15 s) that runs first if no recent measurement fits this machine.
        record: Save the record as FILE, which must not exist [default: a new file in ~/.local/state/switchcost/runs].
        redact: Omit command arguments, the host name and the kernel command line from all output.
        folded: Write folded stacks to FILE, for flame graphs.
        pprof: Write a pprof profile to FILE: switches, off-CPU time, run-queue latency, direct cost.
        by: Group the first table of an observation by program or by control group [default: program].
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
        quantum: Replay a trace with these quanta, in instructions (400000) or time (4ms).
        preempt_every: Also end time slices at random times, on average this many instructions apart.
        page_faults: Replay a trace as if no file were in memory: each first use of a file's page waits this long.
        at_once: Run each process on its own CPU, in steps of this many instructions, with a shared last level.
        range: Simulate only the instructions from FROM up to TO of a trace, such as 0..50000000.
        warm_up: Instructions to simulate, but not count, before the range [default: 1000000].
        design: Cache designs: built-in names (see --design list), TOML files, or host for this machine's caches [default:
            the four of Mogul and Borg 1990].
        vary: Simulate variants of every design, such as L1D.size=8KiB,16KiB or L1I+L1D.ways=1,2,4.
        in_full: Simulate up to this many designs separately [default: 16].
        prices: Also report costs in time, by the miss costs in FILE (from measure --prices).
        interval: Length and number of the intervals recorded after each switch [default: 10000x100; 1000x100 for client-
            server].
        kernel_touches: Also simulate the kernel's accesses to user memory during system calls.
        private_by: Owner of each set of private caches, in the simulation without interference [default: process].
        user_only: Omit the kernel's instructions and references from a trace of a whole system.
        threads: Simulate up to this many designs concurrently [default: the number of CPUs].
        places: Number of code and data locations to list, by excess cycles [default: 20].
        record: Save the record (Parquet) as FILE, which must not exist [default: a new file in
            ~/.local/state/switchcost/runs].
        redact: Omit command arguments, the host name and the kernel command line from all output.
        with_: Another command, whose time slices alternate with those of the first; may be repeated.
        order: Who chooses the order of time slices: scheduled (the tracer, the same in every run) or as-run (the kernel, on
            one CPU) [default: scheduled].
        processes: Processes that the programs can see: their own, numbered from 2, or all [default: own].
        switches: Stop after this many switches.
        cpu: CPU to run on [default: the last one].
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
        fail_above: Exit with code 6 if a cost grew significantly and by more than this.
        confidence: Joint confidence level of all verdicts [default: 90%].
        run_spread: Assume this standard deviation between runs, in addition to their own confidence intervals.
        across: Also compare measured cases that differ only in these conditions.
        junit: Also write the verdicts to FILE as JUnit XML, one test per cost.
        markdown: Also write the verdicts to FILE as Markdown, for a pull-request comment.
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
        redact: Omit command arguments, the host name and the kernel command line from all output.
        quantum: Length of a scheduled time slice in instructions [default: 400000].
        seed: Seed of the lengths of time slices: another seed gives another order [default: 1].
        with_: Another command, whose time slices alternate with those of the first; may be repeated.
        order: Who chooses the order of time slices: scheduled (the tracer, the same in every run) or as-run (the kernel, on
            one CPU) [default: scheduled].
        processes: Processes that the programs can see: their own, numbered from 2, or all [default: own].
        switches: Stop after this many switches.
        cpu: CPU to run on [default: the last one].
        system: Run the programs in a guest under QEMU, and trace its kernel, too.
        kernel: Kernel of the guest: an image, or a Debian package [default: the one from make setup].
        append: Additional kernel parameters, such as 'mitigations=auto'.
        memory: Memory of the guest [default: 384MiB plus three times the size of its files].
        mips: Millions of instructions per second of guest time [default: 1000].
        physical: Also record physical addresses, for physically indexed levels.
        slice: Time slice of the guest's scheduler [default: its own].
        seconds: End the programs after this many seconds of guest time [default: 600].
        between_stops: Trace each program only between its own SIGSTOPs, to omit its start-up.
        file: Another file, folder or program needed in the guest; may be repeated.
        progress: Show how far it is, where tqdm is installed.
    """
    return _runs.trace(command, output, words(_TRACE, locals()), progress)
