"""Tests of the switches that a test makes: a mark that limits their number, and a fixture that counts and prices them.

    @pytest.mark.switches(max_voluntary=10)
    def test_a_batch_waits_once(server): ...

The counts are the kernel's, for all threads of the process, and for children that were waited for.
"""

from __future__ import annotations

import resource
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from .errors import SwitchcostError

if TYPE_CHECKING:
    from ._observing import Observing
    from .observation import Observation, Range

_LIMITS = ("max_voluntary", "max_involuntary")
_MARK = "switches(max_voluntary=N, max_involuntary=N): fail the test if its process is switched more often than that"


@dataclass(frozen=True, slots=True)
class Count:
    """Numbers of switches by kind."""

    voluntary: int
    involuntary: int

    @classmethod
    def now(cls) -> Count:
        """Returns the counts since the process began."""
        usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return cls(sum(usage.ru_nvcsw for usage in usages), sum(usage.ru_nivcsw for usage in usages))

    def since(self, start: Count) -> Count:
        """Returns the difference from earlier counts to these."""
        return Count(self.voluntary - start.voluntary, self.involuntary - start.involuntary)


@dataclass
class Switches:
    """The switches of a test: their number so far, and after its end their cost, if that could be observed."""

    test: str
    observation: Observation | None = None
    why_no_cost: str | None = None
    _start: Count = field(default_factory=Count.now)
    _whole: Count | None = None

    @property
    def count(self) -> Count:
        """The counts since the test began; after its end, of the whole test."""
        return self._whole or Count.now().since(self._start)

    @property
    def voluntary(self) -> int:
        """The number of switches in which a thread waited."""
        return self.count.voluntary

    @property
    def involuntary(self) -> int:
        """The number of switches in which the kernel took the CPU away."""
        return self.count.involuntary

    @property
    def direct_ns(self) -> Range | None:
        """The direct cost of all switches, without the effect of cold caches; None before the end of the test, or if not known."""
        return self.observation.all.direct_ns if self.observation else None

    @property
    def cost_ns(self) -> Range | None:
        """The cost of all switches; None before the end of the test, or if not known."""
        return self.observation.all.cost_ns if self.observation else None

    def end(self) -> None:
        """Ends the count."""
        self._whole = self.count


_REPORTED: pytest.StashKey[list[str]] = pytest.StashKey()
_PROPERTY = "switches"


def pytest_configure(config: pytest.Config) -> None:
    """Registers the mark, and a plugin that gathers the reports of tests, also from other processes (pytest-xdist)."""
    config.addinivalue_line("markers", _MARK)
    config.stash[_REPORTED] = []
    config.pluginmanager.register(_Gatherer(config.stash[_REPORTED]))


@dataclass
class _Gatherer:
    lines: list[str]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Gathers the line that the fixture has added to a test's report, whichever process ran the test."""
        if report.when == "teardown":
            self.lines += [str(line) for name, line in report.user_properties if name == _PROPERTY]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Counts the switches of a test without its fixtures, and fails a marked test above its limits."""
    mark = item.get_closest_marker("switches")
    limits = {} if mark is None else _limits(mark)
    start = Count.now()
    yield
    count = Count.now().since(start)
    for name, most in limits.items():
        _judge(name.removeprefix("max_"), most, count)


def _limits(mark: pytest.Mark) -> dict[str, int]:
    known = {name: value for name, value in mark.kwargs.items() if name in _LIMITS and isinstance(value, int) and value >= 0}
    if mark.args or not known or len(known) != len(mark.kwargs):
        words = [*map(repr, mark.args), *(f"{name}={value!r}" for name, value in mark.kwargs.items())]
        pytest.fail(f"switches({', '.join(words)}) is not a limit; use {' or '.join(_LIMITS)} with a whole number", pytrace=False)
    return known


def _judge(kind: str, most: int, count: Count) -> None:
    found: int = getattr(count, kind)
    if found > most:
        pytest.fail(f"{found} {kind} switches, at most {most} are allowed", pytrace=False)


@pytest.fixture
def switches(request: pytest.FixtureRequest) -> Iterator[Switches]:
    """Counts and observes the switches of the test. The session ends with a line for each such test."""
    observing, why = _begun()
    counted = Switches(request.node.nodeid, why_no_cost=why)
    yield counted
    counted.end()
    if observing is not None:
        _end(observing, counted)
    request.node.user_properties.append((_PROPERTY, _line(counted)))


def _begun() -> tuple[Observing | None, str | None]:
    # Every run of pytest loads this module; few tests use the fixture.
    from ._observing import Observing  # noqa: PLC0415

    try:
        return Observing().__enter__(), None
    except SwitchcostError as error:
        return None, str(error)


def _end(observing: Observing, counted: Switches) -> None:
    try:
        observing.__exit__(None, None, None)
        counted.observation = observing.observation
    except SwitchcostError as error:
        counted.why_no_cost = str(error)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Prints a line for each test that used the fixture."""
    reported = config.stash[_REPORTED]
    if reported:
        terminalreporter.section("switches")
    for line in reported:
        terminalreporter.write_line(line)


def _line(counted: Switches) -> str:
    head = f"{counted.test}: {counted.voluntary} voluntary, {counted.involuntary} involuntary"
    # The effect of cold caches is known for some programs only.
    what, cost = ("cost", counted.cost_ns) if counted.cost_ns else ("direct cost", counted.direct_ns)
    if cost is None:
        return f"{head}; what they cost is not known: {counted.why_no_cost or 'this machine was not measured'}"
    likely = "" if cost.likely is None else f"{_time(cost.likely)}, "
    most = "" if cost.high is None else f" to {_time(cost.high)}"
    return f"{head}; {what} {likely}from {_time(cost.low)}{most}"


def _time(ns: float) -> str:
    unit, size = next(((unit, size) for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)) if ns >= size), ("ns", 1.0))
    return f"{ns / size:.3g} {unit}"
