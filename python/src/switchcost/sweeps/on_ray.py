"""Runs tasks on a cluster of Ray, which schedules them, and repeats them after the loss of a worker or node."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from .._cluster import connected, raised
from .plan import Plan
from .store import Store
from .task import Task
from .work import Outcome, perform

#: Number of times that a task is repeated after its worker or node was lost.
_LOSSES = 5
#: Least number of tasks that are submitted at a time, and the number per slot of the cluster: one runs, and one waits. Ray's
#: scheduler would be slow with a million tasks in its queue.
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
    """Waits for an ended task, and returns all that have ended: checking all costs as much as checking one."""
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
