"""Runs tasks on the CPUs of this machine, or on a cluster of Ray. Results do not depend on the choice."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator

from ..errors import SwitchcostError
from .plan import Plan
from .result import Sweep
from .store import Store
from .task import Task, check_designs, cut
from .work import Outcome, costs, perform

_PROGRESS_SECONDS = 10
_MINUTE = 60


def run(plan: Plan, on: str | None, outcomes: list[Outcome] | None = None, tell: Callable[[str], None] | None = None) -> Sweep:
    """Runs the tasks that are not done yet, and returns when all have ended.

    Each outcome is added to `outcomes` as it comes. `tell` gets a line of progress every ten seconds.
    """
    store = Store(plan.store)
    tasks = cut(plan, store)
    check_designs(plan)
    store.sweep_out()
    there = store.names("costs")
    open_tasks = [task for task in tasks if costs(task) not in there]
    outcomes = [] if outcomes is None else outcomes
    outcomes += [Outcome(task.key, "was-done", task.command) for task in tasks if costs(task) in there]
    progress = Progress(len(open_tasks), tell)
    for outcome in _engine(plan, store, open_tasks, on):
        outcomes.append(outcome)
        progress.count()
    return Sweep(store, tasks, outcomes)


def _engine(plan: Plan, store: Store, tasks: list[Task], on: str | None) -> Iterator[Outcome]:
    if not tasks:
        return iter(())
    if on is None:
        return here(tasks, store, max(1, len(os.sched_getaffinity(0)) // plan.threads))
    from .on_ray import on_ray  # noqa: PLC0415

    return on_ray(tasks, store, on, plan)


class Progress:
    """Reports the number of ended tasks, and the remaining time."""

    def __init__(self, tasks: int, tell: Callable[[str], None] | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._tasks, self._tell, self._clock = tasks, tell, clock
        self._done = 0
        self._start = self._told = clock()

    def count(self) -> None:
        """Counts a task that has ended."""
        self._done += 1
        now = self._clock()
        if self._tell is None or now - self._told < _PROGRESS_SECONDS or self._done == self._tasks:
            return
        self._told = now
        left = (now - self._start) / self._done * (self._tasks - self._done)
        duration = f"{left:.0f} s" if left < _MINUTE else f"{left / _MINUTE:.0f} min"
        self._tell(f"{self._done} of {self._tasks} tasks ended, about {duration} left")


class _StoppedError(SwitchcostError):
    pass


def here(tasks: Iterable[Task], store: Store, at_once: int) -> Iterator[Outcome]:
    """Runs at most `at_once` programs at a time on this machine. The programs end with this process."""
    import concurrent.futures  # noqa: PLC0415

    stop = threading.Event()

    def watch(_pid: int) -> None:
        if stop.is_set():
            raise _StoppedError

    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        running = [pool.submit(perform, task, store, watch) for task in tasks]
        try:
            for ended in concurrent.futures.as_completed(running):
                yield ended.result()
        finally:
            # After an error or Ctrl-C, no further task begins, and running tasks are ended.
            stop.set()
            pool.shutdown(cancel_futures=True)
