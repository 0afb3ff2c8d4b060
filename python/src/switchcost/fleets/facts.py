"""Finds facts that differ between hosts: those in the program's comparison, and the core's clock."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from ..comparison import Comparison
from .hosts import Host
from .sides import compared

#: Facts that differ on nearly every host. They form no kinds, and are only reported with a difference.
_OF_EACH = ("machine", "memory", "kernel command line", "CPUs allowed", "checksums in the record")
#: Names in a report of facts that differ on nearly every host.
_OF_EACH_REPORT = (
    "hostname",
    "memory_bytes",
    "memory_available_bytes",
    "kernel_command_line",
    "cpus_allowed",
    "interrupts",
    "core_khz",
)
#: Least number of other hosts whose agreement on a fact is no coincidence.
_AGREE = 3
#: Relative difference of core clocks below which they count as equal.
_CLOCK_STEP = 0.03


@dataclass(frozen=True)
class Fact:
    """A fact that differs: its name, the values of the hosts, and those of the others."""

    what: str
    theirs: tuple[str, ...]
    others: tuple[str, ...]


def kinds(hosts: Sequence[Host], pool: ThreadPoolExecutor) -> list[list[Host]]:
    """Returns groups of hosts with the same facts, the largest group first."""
    alike: dict[str, list[Host]] = {}
    for host in hosts:
        alike.setdefault(_report_of(host), []).append(host)
    groups = list(alike.values())
    found: dict[tuple[Fact, ...], list[Host]] = {}
    for facts, group in zip(pool.map(lambda group: _beside(groups[0][0], group[0]), groups), groups, strict=True):
        found.setdefault(facts, []).extend(group)
    return sorted(found.values(), key=len, reverse=True)


def _report_of(host: Host) -> str:
    """Returns the facts in a host's report as text. Hosts with equal texts are of a kind without a comparison."""
    return repr([{k: v for k, v in record.json["host"].items() if k not in _OF_EACH_REPORT} for record in host.records[:1]])


def _beside(first: Host, host: Host) -> tuple[Fact, ...]:
    if host is first:
        return ()
    return tuple(fact for fact in _different(compared((first,), (host,), 0.9)) if fact.what not in _OF_EACH)


def _different(comparison: Comparison) -> list[Fact]:
    found = comparison.json["environment"]
    return [Fact(one["what"], tuple(one["new"]), tuple(one["base"])) for one in found]


def facts_between(comparison: Comparison, hosts: Sequence[Host], others: Sequence[Host]) -> tuple[Fact, ...]:
    """Returns the facts that set the hosts apart from the others."""
    reported = [fact for fact in _different(comparison) if _is_distinctive(fact, len(others))]
    return (*reported, *_clock(hosts, others))


def _is_distinctive(fact: Fact, others: int) -> bool:
    """Whether the hosts share no value with the others. For facts that differ on nearly every host, the others must agree."""
    is_of_each = fact.what in _OF_EACH and not (others >= _AGREE and len(fact.others) == 1)
    return not is_of_each and not set(fact.theirs) & set(fact.others)


def _clock(hosts: Sequence[Host], others: Sequence[Host]) -> tuple[Fact, ...]:
    """Returns the core clock, and times by it, if the clocks differ. Costs are compared at one clock, so they do not show this."""
    these, those = ([hertz for host in side if (hertz := host.clock_hertz)] for side in (hosts, others))
    if not these or not those:
        return ()
    is_lower, is_higher = max(these) < min(those) * (1 - _CLOCK_STEP), min(these) > max(those) * (1 + _CLOCK_STEP)
    if not (is_lower or is_higher):
        return ()
    return (Fact("core clock", (_range(these, 1e9, "GHz"),), (_range(those, 1e9, "GHz"),)), *_times(hosts, others))


def _times(hosts: Sequence[Host], others: Sequence[Host]) -> Iterator[Fact]:
    """Yields the cost of each case in wall-clock time, if all hosts have the case."""
    of_each = [[host.times for host in side] for side in (hosts, others)]
    for case, (name, _) in hosts[0].times.items():
        if all(case in times for side in of_each for times in side):
            these, those = (_range([times[case][1] for times in side], 1e3, "us") for side in of_each)
            yield Fact(f"{name} by the clock", (these,), (those,))


def _range(values: Sequence[float], unit: float, name: str) -> str:
    low, high = (f"{one / unit:.2f}" for one in (min(values), max(values)))
    return f"{low} {name}" if low == high else f"{low} to {high} {name}"
