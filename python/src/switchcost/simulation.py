"""A simulation: what each switch costs on memory systems that need not exist."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from . import _running, _tables
from ._figure import Bar, svg
from ._report import Report, number
from ._shape import several
from .errors import FormatError, SwitchcostError

if TYPE_CHECKING:
    import pyarrow as pa

_ONE = "switchcost.simulate/1"


@dataclass(frozen=True, slots=True)
class Cost:
    """A cost with its interval; where `estimate` or the interval is None, `why` says why."""

    estimate: float | None
    low: float | None
    high: float | None
    confidence: float | None
    n: int | None
    method: str | None
    why: str | None

    def __str__(self) -> str:
        return f"{number(self.estimate)} [{number(self.low)}, {number(self.high)}]"


@dataclass(frozen=True, slots=True)
class Switches:
    """How many switches, by kind."""

    voluntary: int
    involuntary: int


@dataclass(frozen=True, slots=True)
class Group:
    """The segments of a kind: `all`, of a `class` of switches, or of a `cause`."""

    kind: str
    name: str
    segments: int
    cost_cycles: Cost
    lost_cycles: Cost
    gained_cycles: Cost
    state_cycles: Cost
    excess_cycles: float | None


@dataclass(frozen=True, slots=True)
class Design:
    """What a switch costs on one memory system."""

    name: str
    depth: str
    cycle_ns: tuple[float, float] | None
    instructions: int
    data_refs: int
    switches: Switches
    average_cost_cycles: Cost
    lost_cycles: Cost
    gained_cycles: Cost
    state_cycles: Cost
    first_touch_cycles: float | None
    lost_percent: float | None
    overhead_percent: float | None
    excess_cycles: float | None
    excess_cycles_per_switch: float | None
    excess_percent: float | None
    flushed_cycles_per_switch: float | None
    reload_bound_cycles: int
    groups: tuple[Group, ...]


class Simulation(Report):
    """A record of `simulate`, or several: `records` has their paths, none with at_once. `json` has the rest."""

    #: Reports that are all there is.
    without_record: ClassVar = ("switchcost.simulate-at-once/1",)
    schemas: ClassVar = (_ONE, "switchcost.simulate-trials/1", "switchcost.simulate-orders/1", *without_record)

    def __init__(
        self,
        path: str | os.PathLike[str],
        report: dict[str, Any] | None = None,
        records: Sequence[str | os.PathLike[str]] = (),
        *,
        words: Sequence[str] = (),
        exit_code: int = 0,
    ) -> None:
        super().__init__(path, report, exit_code=exit_code)
        #: The program's words that make the report again, where there is no record (at_once).
        self._words = list(words)
        self.records = () if words else tuple(os.fspath(record) for record in records) or (os.fspath(path),)

    @property
    def designs(self) -> tuple[Design, ...]:
        """One for each memory system, where one trace was simulated in one order."""
        if self.schema != _ONE:
            raise SwitchcostError(f"this is a report of several records ({self.schema}): see json, or read each of records")
        return several(Design, self.json["designs"])

    def to_arrow(self, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows of the records: for each interval of each segment under each design the cycles of each hierarchy.

        Files are read as Parquet, and not checked as `json` and the program check them. All columns of ten million rows are over a
        gigabyte: `columns` names those that are needed.
        """
        if not self.records:
            return super().to_arrow()
        tables = [_mapped(path, columns) for path in self.records]
        arrow = _tables.package("pyarrow")
        together: pa.Table = arrow.concat_tables(tables)
        return together.unify_dictionaries(memory_pool=_small_pages(arrow))

    def costs_to_arrow(self) -> pa.Table:
        """The rows of the program's CSV instead: for each design and group of switches the costs, and the curves."""
        if len(self.records) > 1:
            raise SwitchcostError("this is a report of several records: read each of records")
        return super().to_arrow()

    def _again(self) -> list[str]:
        return self._words or ["report", *self.records]

    def _summary(self) -> tuple[str, Sequence[str], Sequence[Sequence[str]]]:
        if self.schema != _ONE:
            return f"{self.schema}: {len(self.records)} records", (), ()
        names = ("design", "switches", "average_cost_cycles", "lost_cycles", "overhead_percent")
        return f"Simulated switches, by {self.path.name}", names, [_row(design) for design in self.designs]

    def _figure(self) -> str:
        costs = [(design.name, design.average_cost_cycles) for design in self.designs] if self.schema == _ONE else []
        bars = [
            Bar(name, cost.low, cost.high, cost.estimate) for name, cost in costs if cost.low is not None and cost.high is not None
        ]
        return svg("cycles a switch", bars)


def _row(design: Design) -> list[str]:
    switches = design.switches.voluntary + design.switches.involuntary
    costs = [str(design.average_cost_cycles), str(design.lost_cycles), number(design.overhead_percent)]
    return [design.name, str(switches), *costs]


def _mapped(path: str, columns: Sequence[str] | None) -> pa.Table:
    arrow, dataset, files = (_tables.package(f"pyarrow{name}") for name in ("", ".dataset", ".fs"))
    place, system = str(Path(path).absolute()), files.LocalFileSystem(use_mmap=True)
    try:
        schema = dataset.ParquetFileFormat().inspect(place, system)
        _tables.assert_known(columns or (), schema.names)
        # Texts repeat: as dictionaries they take a twentieth of the time.
        texts = [column.name for column in schema if arrow.types.is_string(column.type)]
        file = dataset.dataset(place, format=dataset.ParquetFileFormat(dictionary_columns=texts), filesystem=system)
        table: pa.Table = file.to_table(columns=None if columns is None else list(columns), memory_pool=_small_pages(arrow))
    except (arrow.ArrowInvalid, OSError) as error:
        # The program says what is wrong with it, and what helps.
        _running.run(["report", path, "--format=json"])
        raise FormatError(f"pyarrow cannot read {path} ({error}); upgrade pyarrow") from None
    return table


def _small_pages(arrow: Any) -> pa.MemoryPool:
    """Arrow's default pool asks for huge pages, which take a virtual machine several milliseconds each when they are first touched.

    jemalloc, if Arrow was built with it, uses the memory of decoding again: a tenth less page faults than the C library's pool.
    """
    pool: pa.MemoryPool = (
        arrow.jemalloc_memory_pool() if "jemalloc" in arrow.supported_memory_backends() else arrow.system_memory_pool()
    )
    return pool
