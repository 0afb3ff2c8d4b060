"""Writes records of invented hosts, whose switch costs and facts are known."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import xxhash

TICKS_PER_SECOND = 2_300_000_000
CHAIN, CYCLES_EACH, READING = 600, 3, 50
BASELINE_CYCLES = 2000.0
CYCLES, REPETITIONS = 20, 8


@dataclass(frozen=True)
class Host:
    """An invented host, with its true cost and facts."""

    name: str
    switch_cycles: float = 4500.0
    kernel: str = "6.12.1"
    microcode: str = "0xa0011d1"
    governor: str = "performance"
    spectre_v2: str = "Mitigation: Retpolines"
    core_ghz: float = 3.0
    #: Relative deviation of the host's run from the true cost.
    run: float = 0.0
    #: Share of the windows during which another task ran.
    disturbed: float = 0.0
    memory_bytes: int = 16 << 30

    def but(self, **changed: Any) -> Host:
        """Returns the host with these changes."""
        return replace(self, **changed)

    def write(self, folder: Path) -> Path:
        """Writes the host's record as `measure` would, and returns the path."""
        chance = random.Random(self.name)
        path = folder / f"{self.name}.jsonl"
        path.write_text(chained([self._header(chance), *self._windows(chance), END]))
        return path

    def _header(self, chance: random.Random) -> dict[str, Any]:
        return {
            "line": "header",
            "schema": "switchcost.record.measure/2",
            "program_version": "0.1.0",
            "started_at": f"2026-11-23T08:36:25.{chance.randrange(10**9):09}Z",
            "command": ["switchcost", "measure"],
            "seed": chance.randrange(2**63),
            "host": self._facts(),
            "clock": {"source": "tsc", "reason": "", "ticks_per_second": TICKS_PER_SECOND, "read_cost": READING},
            "core_clock": {
                "chain_length": CHAIN,
                "multiplication_cycles": CYCLES_EACH,
                "additions": 1800,
                "overhead_ticks": READING,
                "unshared_per_mille": 250,
            },
            "controls": [],
            "plan": {
                "preset": "selected",
                "cases": [case(mechanism) for mechanism in ("pipe", "futex")],
                "precision_per_mille": 50,
                "confidence_per_mille": 900,
                "budget_ns": 3_000_000_000,
                "max_repetitions": REPETITIONS,
                "batch_ns": 20_000,
                "repetition_ns": 10_000_000,
                "synthetic_switch_ns": 2000,
                "synthetic_reload_ns": 0,
                "wants_counters": False,
            },
        }

    def _facts(self) -> dict[str, Any]:
        return {
            "hostname": self.name,
            "kernel": self.kernel,
            "distribution": "a distribution",
            "architecture": "x86_64",
            "cpu_model": "a processor",
            "microcode": self.microcode,
            "cpus_online": [0, 1],
            "cpus_allowed": [0, 1],
            "cpus_isolated": [],
            "caches": [],
            "tlbs": [],
            "page_bytes": 4096,
            "huge_pages": "2 MiB (madvise)",
            "memory_bytes": self.memory_bytes,
            "memory_available_bytes": self.memory_bytes // 2,
            "clock_source": "tsc",
            "is_tsc_invariant": True,
            "hypervisor": "none",
            "governor": self.governor,
            "is_smt_active": False,
            "mitigations": {"spectre_v2": self.spectre_v2},
            "is_kpti_active": False,
            "has_pcid": True,
            "timer_hz": 250,
            "preemption": "none",
            "kernel_command_line": f"root={self.name}",
            "interrupts": [],
        }

    def _windows(self, chance: random.Random) -> list[dict[str, Any]]:
        """Returns a window for each repetition of each case. A futex costs 0.8 of a pipe."""
        factor = 1 + self.run
        cost_ns = self.switch_cycles / self.core_ghz * factor
        return [
            self._window(chance, case, repetition, cost)
            for repetition in range(REPETITIONS)
            for case, cost in enumerate((cost_ns, 0.8 * cost_ns))
        ]

    def _window(self, chance: random.Random, case: int, repetition: int, cost_ns: float) -> dict[str, Any]:
        arms = [arm for cycle in range(CYCLES) for arm in ((1, 0, 1), (0, 1, 0))[cycle % 2]]
        handoffs = [(10, 20, 10)[number % 3] for number in range(len(arms))]
        noise = chance.gauss(1, 0.005)
        times = [(BASELINE_CYCLES / self.core_ghz + arm * cost_ns * noise) * chance.gauss(1, 0.01) for arm in arms]
        chain = round(CHAIN * CYCLES_EACH / (self.core_ghz * 1e9) * TICKS_PER_SECOND) + READING
        additions = round(1800 / 4 / (self.core_ghz * 1e9) * TICKS_PER_SECOND) + READING
        switching = sum(count for count, arm in zip(handoffs, arms, strict=True) if arm)
        wall = 10_000_000
        return {
            "line": "cycles",
            "case": case,
            "repetition": repetition,
            "at_ns": 100_000_000 * (2 * repetition + case),
            "batches_per_cycle": 3,
            "switching_handoffs": switching,
            "control_switches": 0,
            "kernel_switches": {"voluntary": switching, "involuntary": 0},
            "user_switches": 0,
            "evidence": {
                "wall_ns": wall,
                "task_cpu_ns": wall // 2 if repetition < self.disturbed * REPETITIONS else wall,
                "run_delay_ns": 0,
                "steal_ns": 0,
                "interrupts": 2,
                "softirqs": 2,
                "minor_faults": 0,
                "major_faults": 0,
                "cpu_before": 0,
                "cpu_after": 0,
                "probe_before": 9290,
                "probe_after": 9290,
                "is_clock_backwards": False,
            },
            "arm": arms,
            "handoffs": handoffs,
            "handoff_ticks": [round(count * time * TICKS_PER_SECOND / 1e9) for count, time in zip(handoffs, times, strict=True)],
            "walk_ticks": [500] * len(arms),
            "chain_ticks": [chain] * (len(arms) + 1),
            "addition_ticks": [additions] * (len(arms) + 1),
        }


END = {"line": "end", "reason": "complete", "elapsed_ns": 2_000_000_000, "ticks_per_second": TICKS_PER_SECOND}


def case(mechanism: str) -> dict[str, Any]:
    return {
        "mechanism": mechanism,
        "between": "process",
        "tasks": 2,
        "working_set": {
            "size_bytes": 0,
            "stride_bytes": 8,
            "access": "rmw",
            "pattern": "strided",
            "sharing": "private",
            "pages": "base",
        },
        "placement": {"cpus": [0], "relation": "same-cpu"},
        "policy": "fifo",
        "switches": {"low_per_mille": 1000, "high_per_mille": 1000},
    }


def chained(lines: list[dict[str, Any]]) -> str:
    """Returns the lines as text, each with a checksum that also covers all lines before."""
    check, texts = 0, []
    for line in lines:
        body = json.dumps(line, separators=(",", ":"))[:-1]
        check = xxhash.xxh3_64_intdigest(body.encode(), check)
        texts.append(f'{body},"check":"{check:016x}"}}\n')
    return "".join(texts)


def alike(count: int, run: float = 0.01) -> list[Host]:
    """Returns hosts that differ only by the spread of runs, and by the size of their memory."""
    chance = random.Random(1990)
    return [Host(f"node-{number:02}", run=chance.gauss(0, run), memory_bytes=(16 << 30) + 4096 * number) for number in range(count)]
