"""A cluster of Ray as the engine: scheduling, retries after a lost worker or node, and the dashboard are its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._cluster import connected, raised
from .plan import Plan
from .store import Store
from .task import Task
from .work import Outcome, perform

#: A worker or node may be lost so often while it has a task.
_LOSSES = 5
#: So many are handed over at a time: a scheduler with all of a million in its queue is slow.
_AT_ONCE = 1000


def on_ray(tasks: list[Task], store: Store, address: str, plan: Plan) -> Iterator[Outcome]:
    """Hands the tasks to the cluster, and yields each outcome as it comes."""
    with connected(address) as ray:
        remote = ray.remote(num_cpus=plan.threads, memory=plan.memory_bytes, max_retries=_LOSSES)(perform)
        waiting = iter(tasks)
        running = {remote.remote(task, store): task for task, _ in zip(waiting, range(_AT_ONCE), strict=False)}
        while running:
            (ended, *_), _ = ray.wait(list(running), num_returns=1)
            yield _outcome(ray, ended, running.pop(ended))
            for task in waiting:
                running[remote.remote(task, store)] = task
                break


def _outcome(ray: Any, ended: Any, task: Task) -> Outcome:
    try:
        outcome: Outcome = ray.get(ended)
    except ray.exceptions.RayTaskError as error:
        raise raised(error) from None
    except ray.exceptions.RayError as error:
        return Outcome(task.key, "failed", task.command, message=f"lost {_LOSSES + 1} times by the cluster ({error})")
    return outcome
