"""Simulates many designs on many traces, in tasks that any engine may run, in any order and repeatedly, with one result."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TypedDict, Unpack

from .._options import Path, listed, text
from .engine import run
from .plan import Plan
from .result import Sweep

__all__ = ["Plan", "Sweep", "sweep"]


class SimulateOptions(TypedDict, total=False):
    """Options of `simulate` that change what is simulated, as `switchcost.simulate` takes them."""

    interval: int | str
    in_full: int
    kernel_touches: bool
    user_only: bool
    threads: int


def sweep(
    traces: Path | Sequence[Path],
    designs: Path | Sequence[Path],
    *,
    vary: str | Sequence[str] = (),
    store: Path,
    on: str | None = None,
    designs_a_task: int = 64,
    memory: str | int = "2GiB",
    **words: Unpack[SimulateOptions],
) -> Sweep:
    """Simulates each design on each trace, and returns the costs when all tasks have ended. Finished tasks are not run again.

    Args:
        traces: Traces: files, patterns such as traces/*.sct, or addresses that fsspec knows.
        designs: Shipped names, or TOML files.
        vary: Variants of every design, as `simulate --vary` takes them.
        store: The folder, or address that fsspec knows, for the results.
        on: None for the CPUs of this machine; auto for the cluster of Ray that this machine belongs to; or the address of one.
        designs_a_task: The maximum number of designs in one run of the program.
        memory: The most memory that a task needs, for engines that allot memory.
        words: Further options of `simulate` that change what is simulated, such as interval.
    """
    table = {
        "traces": [text(trace) for trace in listed(traces)],
        "design": [text(design) for design in listed(designs)],
        "vary": [text(one) for one in listed(vary)],
        "store": os.fspath(store),
        "designs-a-task": designs_a_task,
        "memory": memory,
        **{name.replace("_", "-"): value for name, value in words.items()},
    }
    plan = Plan.of({name: value for name, value in table.items() if value != []}, "the arguments of sweep")
    return run(plan, on, tell=_print_progress)


def _print_progress(line: str) -> None:
    """Writes a line to standard error, as the command does."""
    if sys.stderr is not None:
        sys.stderr.write(f"switchcost.sweep: {line}\n")
