"""Tests of observing: a block of code is observed, and a mark limits the switches of a test."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

import switchcost
from switchcost._observing import Observing
from switchcost._running import Running
from switchcost.errors import CommandError, SwitchcostError
from switchcost.observation import Observation, Range
from switchcost.pytest_plugin import Count, Switches, _line

PLUGIN = "switchcost.pytest_plugin"


def ping_pong(times: int) -> None:
    """Makes `times` voluntary switches, one for each sleep."""
    for _ in range(times):
        time.sleep(0.0001)


def test_a_block_is_observed_and_not_what_is_before_it() -> None:
    ping_pong(2000)
    with switchcost.observing(calibration=False) as block:
        ping_pong(300)
        with pytest.raises(SwitchcostError, match="after the with block"):
            _ = block.observation
    all_tasks = block.observation.all
    assert 300 <= all_tasks.voluntary < 1500
    assert {one.process for one in block.observation.processes} == {os.getpid()}
    assert block.observation.to_arrow().num_rows == 1


def test_a_process_that_does_not_exist_is_refused_before_the_block() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    with pytest.raises(SwitchcostError, match=str(ended.pid)), switchcost.observing(ended.pid, calibration=False):
        pytest.fail("the block was run")


def test_an_interrupt_before_the_block_ends_the_observation(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = []

    def interrupt(running: Running) -> None:
        begun.append(running)
        raise KeyboardInterrupt

    monkeypatch.setattr(Observing, "_wait_until_begun", staticmethod(interrupt))
    with pytest.raises(KeyboardInterrupt), switchcost.observing(calibration=False):
        pytest.fail("the block was run")
    assert not begun[0].is_running()


def test_a_command_is_observed(capsys: pytest.CaptureFixture[str]) -> None:
    code = "import time; print('hello'); [time.sleep(0.0001) for _ in range(200)]"
    observation = switchcost.observe([sys.executable, "-c", code], no_calibration=True, no_bpf=True)
    assert observation.all.voluntary >= 200
    assert capsys.readouterr().err == "hello\n"


def test_a_command_that_fails_is_observed_all_the_same() -> None:
    observation = switchcost.observe([sys.executable, "-c", "raise SystemExit(7)"], no_calibration=True, no_bpf=True)
    assert observation.exit_code == 7
    with pytest.raises(CommandError, match="no/such/program"):
        switchcost.observe(["/no/such/program"], no_calibration=True, no_bpf=True)


TESTS = """
    import time
    import pytest

    @pytest.mark.switches(max_voluntary=50)
    def test_sleeps_little():
        time.sleep(0.0001)

    @pytest.mark.switches(max_voluntary=50)
    def test_sleeps_much():
        for _ in range(100):
            time.sleep(0.0001)

    @pytest.mark.switches(max_voluntary=50)
    def test_fails_for_another_reason():
        assert 1 == 2

    @pytest.mark.switches(voluntary=50)
    def test_is_marked_wrongly():
        pass

    def test_counts(switches):
        for _ in range(100):
            time.sleep(0.0001)
        assert 100 <= switches.voluntary < 1000
"""


def test_the_plugin_limits_and_reports(pytester: pytest.Pytester, measurement: switchcost.Measurement) -> None:
    pytester.makeconftest(
        """
        from switchcost import _observing
        observing = _observing.Observing
        _observing.Observing = lambda: observing(calibration=False)
        """
    )
    pytester.makepyfile(TESTS)
    # If the package is installed, its entry point loads the plugin.
    is_installed = any(entry.value == PLUGIN for entry in importlib.metadata.entry_points(group="pytest11"))
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", *([] if is_installed else ["-p", PLUGIN]))
    result.stdout.fnmatch_lines(["*1?? voluntary switches, at most 50 are allowed*"])
    result.stdout.fnmatch_lines(["*assert 1 == 2*"])
    result.stdout.fnmatch_lines(["switches(voluntary=50) is not a limit; use max_voluntary or max_involuntary with a whole number"])
    assert "pytest_plugin.py" not in result.stdout.str()
    result.stdout.re_match_lines([r".*test_counts: \d+ voluntary, \d+ involuntary; .*"])
    result.assert_outcomes(passed=2, failed=3)


@pytest.mark.parametrize(
    ("cost", "told"), [(None, "direct cost 2 us, from 1 us to 3 us"), (Range(4e3, None, 5e3), "cost from 4 us to 5 us")]
)
def test_the_line_of_a_test_says_which_cost_is_known(cost: Range | None, told: str) -> None:
    direct = Range(1e3, 2e3, 3e3)
    observation = SimpleNamespace(all=SimpleNamespace(cost_ns=cost, direct_ns=direct))
    counted = Switches("test_a", observation=cast("Observation", observation), _whole=Count(7, 0))
    assert _line(counted) == f"test_a: 7 voluntary, 0 involuntary; {told}"


def test_what_parallel_processes_report_is_gathered(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(switchcost.__file__).parents[1]))
    pytester.makeconftest(
        """
        from switchcost import _observing
        observing = _observing.Observing
        _observing.Observing = lambda: observing(calibration=False)
        """
    )
    pytester.makepyfile(
        "import time, pytest\n@pytest.mark.parametrize('n', range(2))\ndef test_counts(switches, n): time.sleep(0.01)\n"
    )
    is_installed = any(entry.value == PLUGIN for entry in importlib.metadata.entry_points(group="pytest11"))
    plugins = ["-p", "xdist", *([] if is_installed else ["-p", PLUGIN])]
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", *plugins, "-n", "2")
    result.assert_outcomes(passed=2)
    for n in range(2):
        result.stdout.re_match_lines([rf".*test_counts\[{n}\]: \d+ voluntary, \d+ involuntary; .*"])
