"""Runs a sweep on a cluster of Ray, and kills the driver, then a node. Runs in a separate network namespace.

    unshare --net sh -c 'ip link set lo up && python cluster.py PLAN'

Prints the number of done tasks at each kill.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from ray.cluster_utils import Cluster

from switchcost.sweeps import Plan

NODE = {"num_cpus": 1, "object_store_memory": 80 << 20, "memory": 4 << 30}
SECONDS = 120


def main(plan: str) -> None:
    cluster = Cluster(initialize_head=True, head_node_args={**NODE, "node_ip_address": "127.0.0.2", "include_dashboard": False})
    second = cluster.add_node(**NODE, node_ip_address="127.0.0.3")
    store = Path(Plan.read(plan).store)
    first = driver(plan, cluster.address)
    until(store, 2, first)
    first.kill()
    first.wait()
    time.sleep(0.5)
    print("after the driver was killed:", done(store))
    next_driver = driver(plan, cluster.address)
    until(store, done(store) + 2, next_driver)
    cluster.remove_node(second, allow_graceful=False)
    print("when the node was killed:", done(store))
    said, _ = next_driver.communicate(timeout=SECONDS)
    print(said.decode(), end="")
    sys.stdout.flush()
    cluster.shutdown()
    sys.exit(next_driver.returncode)


def driver(plan: str, address: str) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-m", "switchcost.sweeps.command", plan, "--ray", address]
    return subprocess.Popen(words, stdout=subprocess.PIPE)


def done(store: Path) -> int:
    return len(list(store.glob("costs/**/*.parquet")))


def until(store: Path, count: int, running: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + SECONDS
    while done(store) < count:
        assert running.poll() is None, "the driver ended early"
        assert time.monotonic() < end, "no task was done"
        time.sleep(0.02)


if __name__ == "__main__":
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    main(sys.argv[1])
