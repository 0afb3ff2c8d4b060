"""Measures each node of a cluster of Ray once. A task takes all CPUs of its node, so that no other task disturbs it."""

from __future__ import annotations

import collections
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from .._cluster import connected, raised
from ..errors import SwitchcostError
from .node import Found, look

#: Number of times that a lost measurement is repeated.
_LOSSES = 1


def on_ray(measure: Sequence[str], address: str, done: Collection[str]) -> Iterator[tuple[str, Found | str]]:
    """Yields the name of each host that is not done, with its results, or with the reason why there are none."""
    with connected(address) as ray:
        nodes = {name: node for name, node in named(ray.nodes()).items() if name not in done}
        yield from ((name, "its node is not alive") for name, node in nodes.items() if not node["Alive"])
        running = {_started(ray, node, measure): name for name, node in nodes.items() if node["Alive"]}
        while running:
            (ended, *_), _ = ray.wait(list(running), num_returns=1)
            yield running.pop(ended), _ended(ray, ended)


def named(nodes: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Returns nodes by host name. If several nodes share a name, the address is appended."""
    hosts = collections.Counter(node["NodeManagerHostname"] for node in nodes)
    return {_name(node, hosts[node["NodeManagerHostname"]]): node for node in nodes}


def _name(node: Mapping[str, Any], sharers: int) -> str:
    host, address = str(node["NodeManagerHostname"]), str(node["NodeManagerAddress"])
    name = host if sharers == 1 else f"{host}-{address}"
    return name.replace("/", "_")


def _started(ray: Any, node: Mapping[str, Any], measure: Sequence[str]) -> Any:
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy  # noqa: PLC0415

    alone = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
    remote = ray.remote(num_cpus=node["Resources"].get("CPU", 0), scheduling_strategy=alone, max_retries=_LOSSES)(look)
    return remote.remote(tuple(measure))


def _ended(ray: Any, task: Any) -> Found | str:
    try:
        found: Found = ray.get(task)
    except ray.exceptions.RayTaskError as error:
        return str(raised(error))
    except ray.exceptions.RayError as error:
        return f"its node was lost ({str(error).strip().partition(chr(10))[0]})"
    except SwitchcostError as error:
        return str(error)
    return found
