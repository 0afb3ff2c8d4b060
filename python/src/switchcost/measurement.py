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
    """An estimate with its interval, in the unit that the name of the field ends with."""

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
    """Extra time of the first, second, ... walk after a switch over a settled walk, and the time of a settled walk."""

    walks_ns: tuple[Estimate, ...]
    settled_ns: Estimate | None


@dataclass(frozen=True, slots=True)
class Tail:
    """Quantiles of the time of single hand-offs, including system calls and the reading of the clock, in ns."""

    p50: float
    p99: float
    max: float
    n: int


@dataclass(frozen=True, slots=True)
class Counter:
    """A counter: its events per hand-off, in the baseline and in the switching arm."""

    name: str
    baseline: float
    switching: float
    n: int


@dataclass(frozen=True, slots=True)
class Result:
    """One case: its conditions and costs. A number that could not be measured is None; `why` has the reason."""

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
    """Load latency for a working set of a size."""

    size_bytes: int
    load_ns: float


class Measurement(Report):
    """A record of `measure`. `json` has all data, also those without an attribute."""

    schemas: ClassVar = ("switchcost.measure/1",)

    @property
    def results(self) -> tuple[Result, ...]:
        """The results of all cases, in the order of the plan."""
        return several(Result, self.json["results"])

    @property
    def latencies(self) -> tuple[Latency, ...]:
        """The load latencies by size, measured in the same run."""
        return several(Latency, self.json["latencies_ns"])

    @property
    def host(self) -> Mapping[str, Any]:
        """Facts about the machine."""
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
