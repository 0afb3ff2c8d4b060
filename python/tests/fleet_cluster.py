"""Measures a fleet of two nodes of Ray twice. Runs in a separate network namespace.

Prints the output of `switchcost-fleet` and its exit code for both runs.
"""

from __future__ import annotations

import os
import subprocess
import sys

from ray.cluster_utils import Cluster

NODE = {"num_cpus": 1, "object_store_memory": 80 << 20, "memory": 1 << 30}


def main(plan: str) -> None:
    cluster = Cluster(initialize_head=True, head_node_args={**NODE, "node_ip_address": "127.0.0.2", "include_dashboard": False})
    cluster.add_node(**NODE, node_ip_address="127.0.0.3")
    words = [sys.executable, "-m", "switchcost.fleets.command", plan, "--ray", cluster.address]
    for _ in range(2):
        ran = subprocess.run(words, stdout=subprocess.PIPE, text=True, timeout=120, check=False)
        print(ran.stdout, end="")
        print(f"exit code {ran.returncode}", flush=True)
    cluster.shutdown()


if __name__ == "__main__":
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    main(sys.argv[1])
