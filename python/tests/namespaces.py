"""Ray takes 127.0.0.1 for the host's own address and listens on all others: its clusters are in namespaces of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import switchcost


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(switchcost.__file__).parents[1])}


def in_a_namespace(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs a script of this folder where the loopback device is all there is of a network."""
    namespace = ["unshare", "--net", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    words = [sys.executable, str(Path(__file__).with_name(script)), *map(str, arguments)]
    inside = ["sh", "-c", 'ip link set lo up && exec "$@"', "sh", *words]
    return subprocess.run([*namespace, *inside], env=environment(), capture_output=True, text=True, timeout=300, check=False)
