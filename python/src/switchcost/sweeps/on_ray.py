"""A cluster of Ray as the engine: scheduling, retries after a lost worker or node, and the dashboard are its own."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from typing import Any

from .. import _tables
from ..errors import ClusterError, MissingPackageError
from .plan import Plan
from .store import Store
from .task import Task
from .work import Outcome, perform

#: A worker or node may be lost so often while it has a task.
_LOSSES = 5
#: So many are handed over at a time: a scheduler with all of a million in its queue is slow.
_AT_ONCE = 1000
_SECONDS_TO_REACH = 5


def on_ray(tasks: list[Task], store: Store, address: str, plan: Plan) -> Iterator[Outcome]:
    """Hands the tasks to the cluster, and yields each outcome as it comes."""
    ray = _ray()
    with _connected(ray, address):
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
        raise error.cause from None
    except ray.exceptions.RayError as error:
        return Outcome(task.key, "failed", task.command, message=f"lost {_LOSSES + 1} times by the cluster ({error})")
    return outcome


def _ray() -> Any:
    try:
        return _tables.package("ray")
    except MissingPackageError:
        raise
    except ImportError as error:
        raise ClusterError(f"the package ray cannot be loaded ({error}); install it again: pip install 'switchcost[ray]'") from None


@contextlib.contextmanager
def _connected(ray: Any, address: str) -> Iterator[None]:
    if ray.is_initialized():
        yield
        return
    _reach(address)
    try:
        ray.init(address=address, logging_level="warning", log_to_driver=False)
    except (ConnectionError, OSError, RuntimeError, ValueError) as error:
        raise ClusterError(f"no cluster of Ray at {address} ({_first_line(error)}); start one with 'ray start --head'") from None
    try:
        yield
    finally:
        ray.shutdown()


def _reach(address: str) -> None:
    """Ray itself tries for half a minute, and says much."""
    host, colon, port = address.rpartition("://")[2].partition("/")[0].rpartition(":")
    if not colon or not port.isdigit():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), _SECONDS_TO_REACH).close()
    except OSError as error:
        why = error.strerror or error
        raise ClusterError(f"the cluster at {address} cannot be reached ({why}); start one with 'ray start --head'") from None


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]
