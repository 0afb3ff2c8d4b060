"""Estimates the time of open tasks from the tasks of the plan that are done."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from .. import _running, _tables
from .store import Store
from .task import Task
from .work import METADATA, costs

_LOOKED_AT = 100


@dataclass(frozen=True)
class Estimate:
    """Time and size of all open tasks together; None if no task is done."""

    open_tasks: int
    done_tasks: int
    cpu_seconds: float | None
    size_bytes: int | None

    def __str__(self) -> str:
        head = f"{self.open_tasks} tasks to run, {self.done_tasks} done"
        if self.cpu_seconds is None or self.size_bytes is None:
            return f"{head}; how long they take is known when one is done: run the first line of --list"
        return f"{head}; about {self.cpu_seconds:.0f} s on one CPU, {self.size_bytes / 1e6:.1f} MB"


def estimate(tasks: list[Task], store: Store) -> Estimate:
    """Estimates time and bytes in proportion to instructions times designs, from the done tasks."""
    there = store.names("costs")
    done, still_open = ([task for task in tasks if (costs(task) in there) is is_done] for is_done in (True, False))
    instructions = {task.trace: _instructions(task.trace) for task in tasks} if done else {}
    work = {task.key: instructions.get(task.trace, 0) * task.designs for task in tasks}
    looked_at = done[:_LOOKED_AT]
    known = sum(work[task.key] for task in looked_at)
    if not known:
        return Estimate(len(still_open), len(done), None, None)
    share = sum(work[task.key] for task in still_open) / known
    seconds, size = (sum(values) for values in zip(*(_took(task, store) for task in looked_at), strict=True))
    return Estimate(len(still_open), len(done), seconds * share, round(size * share))


def _instructions(trace: str) -> int:
    return (
        1
        if "://" in trace
        else int(_running.run(["trace", "info", trace, "--format=json"]).json("switchcost.trace-info/1")["instructions"])
    )


def _took(task: Task, store: Store) -> tuple[float, int]:
    path, file_system = store.opened(costs(task))
    about = json.loads(_tables.package("pyarrow.parquet").ParquetFile(path, filesystem=file_system).schema_arrow.metadata[METADATA])
    kept = Path(path.replace("costs/version=", "records/version="))
    return float(about["seconds"]), kept.stat().st_size if store.is_folder else 0
