"""An observation of running programs: the costs and causes of their switches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ._figure import Bar, svg
from ._report import Report, number
from ._shape import several, shaped


@dataclass(frozen=True, slots=True)
class Range:
    """A range of a cost, from `low` to `high`. `likely` and `high` are None if they are not known."""

    low: float
    likely: float | None
    high: float | None

    def __str__(self) -> str:
        return f"{number(self.likely)} [{number(self.low)}, {number(self.high)}]"


@dataclass(frozen=True, slots=True)
class Observed:
    """The switches, with costs, of the tasks of one name, process or control group, or of all tasks."""

    name: str
    process: int | None
    control_group: str | None
    is_kernel: bool
    tasks: int
    switches: int
    involuntary: int
    involuntary_share: float
    per_second: float
    cpu_ns: float | None
    direct_ns: Range | None
    indirect_ns: Range | None
    likely_by: str | None
    indirect_unknown_because: str | None
    cost_ns: Range | None
    direct_share: Range | None
    indirect_share: Range | None
    share: Range | None

    @property
    def voluntary(self) -> int:
        """The number of switches in which a task waited."""
        return self.switches - self.involuntary


class Observation(Report):
    """A record of `observe`. `json` has all data, also those without an attribute."""

    schemas: ClassVar = ("switchcost.observe/1",)

    @property
    def seconds(self) -> float:
        """The length of the observation in seconds."""
        return float(self.json["seconds"])

    @property
    def source(self) -> str:
        """The source of the counts: `bpf`, `bpf-counts`, `perf` or `proc`."""
        return str(self.json["source"])

    @property
    def all(self) -> Observed:
        """All observed tasks together."""
        return shaped(Observed, self.json["all"])

    @property
    def names(self) -> tuple[Observed, ...]:
        """The observed tasks, grouped by name."""
        return several(Observed, self.json["names"])

    @property
    def processes(self) -> tuple[Observed, ...]:
        """The observed tasks, grouped by process."""
        return several(Observed, self.json["processes"])

    @property
    def causes(self) -> tuple[Mapping[str, Any], ...]:
        """Causes of switches, each with `why`, `entry`, `switches`, `share`; empty if the source does not show causes."""
        return tuple(self.json["causes"])

    def _summary(self) -> tuple[str, Sequence[str], Sequence[Sequence[str]]]:
        names = ("name", "switches", "involuntary", "per_second", "direct_ns", "indirect_ns", "cost_ns")
        title = f"Observed for {self.seconds:.1f} s ({self.source}), by {self.path.name}"
        return title, names, [_row(one) for one in self.names]

    def _figure(self) -> str:
        is_whole = self.all.cost_ns is not None
        costs = [(one.name, one.cost_ns if is_whole else one.direct_ns) for one in self.names]
        bars = [Bar(name, cost.low, cost.high, cost.likely) for name, cost in costs if cost and cost.high is not None]
        return svg("ns" if is_whole else "ns direct", bars)


def _row(one: Observed) -> list[str]:
    costs = [str(cost or "") for cost in (one.direct_ns, one.indirect_ns, one.cost_ns)]
    return [one.name, str(one.switches), str(one.involuntary), number(one.per_second), *costs]
