"""The result of a sweep: one dataset, wherever the tasks ran."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _tables
from .store import Store
from .task import Task
from .work import Outcome, costs, record

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa


class Sweep:
    """The costs of each design on each trace, and how each task ended."""

    def __init__(self, store: Store, tasks: list[Task], outcomes: list[Outcome]) -> None:
        self.store = store.address
        self.outcomes = tuple(outcomes)
        self._store = store
        self._tasks = tasks

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """The tasks that failed in every attempt, with their commands."""
        return tuple(outcome for outcome in self.outcomes if outcome.state == "failed")

    def to_arrow(self) -> pa.Table:
        """Returns a row for each design, trace and group of switches, in the order of the plan. Failed tasks have no rows."""
        failed = {outcome.key for outcome in self.failed}
        arrow = _tables.package("pyarrow")
        tables = [self._costs(task) for task in self._tasks if task.key not in failed]
        table: pa.Table = arrow.concat_tables(tables) if tables else arrow.table({})
        return table

    def to_pandas(self) -> pd.DataFrame:
        """Returns the table of `to_arrow` as a frame of pandas, with types of Arrow."""
        frame: pd.DataFrame = self.to_arrow().to_pandas(types_mapper=_tables.package("pandas").ArrowDtype)
        return frame

    def to_polars(self) -> pl.DataFrame:
        """Returns the table of `to_arrow` as a frame of Polars."""
        frame: pl.DataFrame = _tables.package("polars").from_arrow(self.to_arrow())
        return frame

    def records(self) -> list[str]:
        """Returns the names of the records in the store, one for each task."""
        return [record(task) for task in self._tasks]

    def _costs(self, task: Task) -> pa.Table:
        arrow, parquet = _tables.package("pyarrow"), _tables.package("pyarrow.parquet")
        path, file_system = self._store.opened(costs(task))
        rows = parquet.ParquetFile(path, filesystem=file_system).read().replace_schema_metadata()
        trace = arrow.array([task.part.rpartition("trace=")[2]] * rows.num_rows, arrow.string())
        table: pa.Table = rows.add_column(0, "trace", trace)
        return table

    def __repr__(self) -> str:
        return f"Sweep({self.store!r}: {len(self.outcomes)} tasks, {len(self.failed)} failed)"
