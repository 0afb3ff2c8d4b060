"""A plan cut into tasks: each one run of the program, named by what is in it, wherever and how often it is run."""

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
#: The program takes so many designs in one run.
_CHECKED_AT_ONCE = 4096
#: Name of a field, and its values.
Axis = tuple[str, tuple[str, ...]]


@dataclass(frozen=True)
class Task:
    """One trace, and the designs that go through in one run."""

    key: str
    trace: str
    part: str
    words: tuple[str, ...]
    designs: int

    @property
    def command(self) -> str:
        """What it runs, for people."""
        return shlex.join(["switchcost", "simulate", self.trace, *self.words])


def cut(plan: Plan, store: Store, traces: Sequence[str] | None = None) -> list[Task]:
    """Returns all tasks of a plan, always the same, or those of some of its traces. Who runs them makes no difference."""
    axes = [_axis(one) for one in plan.vary]
    options = words(SIMULATED, plan.options)
    groups = [(design, block) for design in plan.design for block in blocks(axes, plan.designs_a_task)]
    return [
        _task(trace, store, design, block, options)
        for trace in (plan.traces if traces is None else traces)
        for design, block in groups
    ]


def check_designs(plan: Plan) -> None:
    """Refuses a design or a variant that the program does not take, before any task runs."""
    axes = [_axis(one) for one in plan.vary]
    for design, block in itertools.product(plan.design, blocks(axes, _CHECKED_AT_ONCE)):
        try:
            _running.run(["simulate", "--explain", f"--design={design}", *_varied(block)])
        except CommandError as error:
            if error.code == _WRONG_USAGE:
                raise PlanError(str(error)) from None
            raise


def blocks(axes: list[Axis], most: int) -> Iterator[list[Axis]]:
    """The product of the axes in parts of at most so many designs: the first axes are cut, the last stay whole."""
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
    """A file's content, not its name; a shipped name stands for itself, with the version."""
    if not design.endswith(".toml"):
        return design
    try:
        return hashlib.sha256(Path(design).read_bytes()).hexdigest()
    except OSError as error:
        raise PlanError(f"the design {design} cannot be read ({error.strerror})") from None
