"""A measurement: what a context switch costs on a machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ._figure import Bar, svg
from ._report import Report, number
from ._shape import several


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate with its interval; the unit is in the name of the field that holds it."""

    estimate: float
    low: float
    high: float
    n: int
    confidence: float
    method: str

    def __str__(self) -> str:
        return f"{number(self.estimate)} [{number(self.low)}, {number(self.high)}]"


@dataclass(frozen=True, slots=True)
class Reload:
    """By how much the walks after a switch are slower than a settled one, and that one."""

    walks_ns: tuple[Estimate, ...]
    settled_ns: Estimate | None


@dataclass(frozen=True, slots=True)
class Tail:
    """Single hand-offs, system calls and clock reading included."""

    p50: float
    p99: float
    max: float
    n: int


@dataclass(frozen=True, slots=True)
class Counter:
    """Events of a hand-off, in either arm."""

    name: str
    baseline: float
    switching: float
    n: int


@dataclass(frozen=True, slots=True)
class Result:
    """One case: its conditions, and what it costs. A number that could not be measured is None, and `why` says why."""

    mechanism: str
    between: str
    tasks: int
    size_bytes: int
    stride_bytes: int
    access: str
    pattern: str
    sharing: str
    pages: str
    policy: str
    away_bytes: int | None
    cpus: tuple[int, ...]
    relation: str
    status: str
    why: str | None
    direct_ns: Estimate | None
    total_ns: Estimate | None
    indirect_ns: Estimate | None
    indirect_kernel_ns: Estimate | None
    indirect_reload_ns: Estimate | None
    reload: Reload | None
    direct_cycles: Estimate | None
    handoff_ns: Estimate | None
    round_trip_ns: Estimate | None
    baseline_ns: Estimate | None
    walk_ns: Estimate | None
    switches_per_handoff: float | None
    involuntary_share: float | None
    repetitions_ns: tuple[float, ...]
    tail_ns: Tail | None
    counters: tuple[Counter, ...]
    reload_bound_ns: float | None
    excluded_samples: int
    total_samples: int
    flags: tuple[str, ...]
    flag_details: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Latency:
    """Load latency of a size."""

    size_bytes: int
    load_ns: float


class Measurement(Report):
    """A record of `measure`. `json` has what is not an attribute."""

    schemas: ClassVar = ("switchcost.measure/1",)

    @property
    def results(self) -> tuple[Result, ...]:
        """One for each case, in the order of the plan."""
        return several(Result, self.json["results"])

    @property
    def latencies(self) -> tuple[Latency, ...]:
        """Load latency by size, measured in the same run."""
        return several(Latency, self.json["latencies_ns"])

    @property
    def host(self) -> Mapping[str, Any]:
        """The machine."""
        host: Mapping[str, Any] = self.json["host"]
        return host

    def _summary(self) -> tuple[str, Sequence[str], Sequence[Sequence[str]]]:
        names = ("mechanism", "between", "tasks", "size_bytes", "direct_ns", "total_ns", "status")
        return f"Switches on {self.host['hostname']}, by {self.path.name}", names, [_row(result) for result in self.results]

    def _figure(self) -> str:
        costs = [(" ".join(_row(result)[:4]), result.total_ns or result.direct_ns) for result in self.results]
        bars = [Bar(f"{conditions} B", cost.low, cost.high, cost.estimate) for conditions, cost in costs if cost]
        return svg("ns a switch", bars)


def _row(result: Result) -> list[str]:
    conditions = [result.mechanism, result.between, str(result.tasks), str(result.size_bytes)]
    return [*conditions, str(result.direct_ns or ""), str(result.total_ns or ""), result.status]
