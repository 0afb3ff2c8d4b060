"""Divides a plan into tasks. A task is one run of the program; its key depends only on what is simulated."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from .. import _running
from .._options import words
from .._version import VERSION
from ..errors import CommandError, PlanError
from .plan import SIMULATED, Plan
from .store import Store

_WRONG_USAGE = 2
#: Number of designs that the program accepts in one run.
_CHECKED_AT_ONCE = 4096
#: Name of a varied field, and its values.
Axis = tuple[str, tuple[str, ...]]


@dataclass(frozen=True)
class Task:
    """One trace, and the designs that are simulated on it in one run."""

    key: str
    trace: str
    part: str
    words: tuple[str, ...]
    designs: int

    @property
    def command(self) -> str:
        """The command of the task, for messages."""
        return shlex.join(["switchcost", "simulate", self.trace, *self.words])


def cut(plan: Plan, store: Store, traces: Sequence[str] | None = None) -> list[Task]:
    """Returns the tasks of a plan, or those of some of its traces. The tasks are the same wherever this runs."""
    axes = [_axis(one) for one in plan.vary]
    options = words(SIMULATED, plan.options)
    groups = [(design, block) for design in plan.design for block in blocks(axes, plan.designs_a_task)]
    return [
        _task(trace, store, design, block, options)
        for trace in (plan.traces if traces is None else traces)
        for design, block in groups
    ]


def check_designs(plan: Plan) -> None:
    """Raises PlanError for a design or variant that the program refuses, before any task runs."""
    axes = [_axis(one) for one in plan.vary]
    for design, block in itertools.product(plan.design, blocks(axes, _CHECKED_AT_ONCE)):
        try:
            _running.run(["simulate", "--explain", f"--design={design}", *_varied(block)])
        except CommandError as error:
            if error.code == _WRONG_USAGE:
                raise PlanError(str(error)) from None
            raise


def blocks(axes: list[Axis], most: int) -> Iterator[list[Axis]]:
    """Yields parts of the product of the axes, each of at most `most` designs. First axes are divided first."""
    if not axes:
        yield []
        return
    (name, values), rest = axes[0], axes[1:]
    together = math.prod(len(others) for _, others in rest)
    length = max(1, most // together)
    for part, block in itertools.product(_batched(values, length), blocks(rest, most)):
        yield [(name, tuple(part)), *block]


def _batched(values: tuple[str, ...], length: int) -> Iterator[tuple[str, ...]]:
    return (values[at : at + length] for at in range(0, len(values), length))


def _axis(text: str) -> Axis:
    name, _, values = text.partition("=")
    if not name or not values:
        raise PlanError(f"{text!r} for vary is not LEVEL.FIELD=LIST; write L1D.size=8KiB,16KiB")
    return name, tuple(value.strip() for value in values.split(","))


def _task(trace: str, store: Store, design: str, block: list[Axis], options: list[str]) -> Task:
    varied = _varied(block)
    digest = store.digest(trace)
    content = [VERSION, digest, _content(design), *varied, *(option for option in options if not option.startswith("--threads"))]
    key = hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]
    part = f"version={VERSION}/trace={Path(trace).stem}-{digest[:8]}"
    return Task(key, trace, part, (f"--design={design}", *varied, *options), math.prod(len(values) for _, values in block))


def _varied(block: list[Axis]) -> list[str]:
    return [f"--vary={name}={','.join(values)}" for name, values in block]


def _content(design: str) -> str:
    """Returns the digest of a design file's content, or the name of a shipped design."""
    if not design.endswith(".toml"):
        return design
    try:
        return hashlib.sha256(Path(design).read_bytes()).hexdigest()
    except OSError as error:
        raise PlanError(f"the design {design} cannot be read ({error.strerror})") from None
