"""A cluster of Ray as the engine: scheduling, retries after a lost worker or node, and the dashboard are its own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from .._cluster import connected, raised
from .plan import Plan
from .store import Store
from .task import Task
from .work import Outcome, perform

#: A worker or node may be lost so often while it has a task.
_LOSSES = 5
#: So many are handed over at a time at least, and for each slot of the cluster so many: one that runs, and one that waits for it. A
#: scheduler with all of a million in its queue is slow.
_AT_ONCE = 1000
_A_SLOT = 2


def on_ray(tasks: list[Task], store: Store, address: str, plan: Plan) -> Iterator[Outcome]:
    """Hands the tasks to the cluster, and yields each outcome as it comes."""
    with connected(address) as ray:
        remote = ray.remote(num_cpus=plan.threads, memory=plan.memory_bytes, max_retries=_LOSSES)(perform)
        waiting = iter(tasks)
        slots = int(ray.cluster_resources().get("CPU", 0)) // plan.threads
        running = {remote.remote(task, store): task for task in itertools.islice(waiting, max(_AT_ONCE, _A_SLOT * slots))}
        while running:
            for ended in _all_ended(ray, list(running)):
                yield _outcome(ray, ended, running.pop(ended))
                running |= {remote.remote(task, store): task for task in itertools.islice(waiting, 1)}


def _all_ended(ray: Any, running: list[Any]) -> list[Any]:
    """At least one: to look through all that run takes as long for one as for many."""
    ray.wait(running, num_returns=1)
    ended: list[Any]
    ended, _ = ray.wait(running, num_returns=len(running), timeout=0)
    return ended


def _outcome(ray: Any, ended: Any, task: Task) -> Outcome:
    try:
        outcome: Outcome = ray.get(ended)
    except ray.exceptions.RayTaskError as error:
        raise raised(error) from None
    except ray.exceptions.RayError as error:
        return Outcome(task.key, "failed", task.command, message=f"lost {_LOSSES + 1} times by the cluster ({error})")
    return outcome
