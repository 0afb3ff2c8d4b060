"""Runs scripts in network namespaces, because Ray would listen on all addresses of the host."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import switchcost


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(switchcost.__file__).parents[1])}


def in_a_namespace(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs a script of this folder in a network namespace that has only a loopback device."""
    namespace = ["unshare", "--net", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    words = [sys.executable, str(Path(__file__).with_name(script)), *map(str, arguments)]
    inside = ["sh", "-c", 'ip link set lo up && exec "$@"', "sh", *words]
    return subprocess.run([*namespace, *inside], env=environment(), capture_output=True, text=True, timeout=300, check=False)
