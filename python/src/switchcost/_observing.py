"""Observes a process while a block of the caller's code runs."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from types import TracebackType

from . import _running
from ._runs import _JSON, _record
from .errors import CommandError, SwitchcostError
from .observation import Observation

_BEGUN = "switchcost: observing "
#: Time limit for the start. A calibration, if one is needed, takes 8 s, and twice that on a busy machine.
_SECONDS_TO_BEGIN = 120
_CTRL_C = 130


class Observing:
    """Observes a process during a `with` block. After the block, `observation` has the result."""

    def __init__(self, pid: int | Sequence[int] | None = None, *, calibration: bool = True) -> None:
        pids = [os.getpid()] if pid is None else [pid] if isinstance(pid, int) else list(pid)
        self._words = ["observe", f"--pid={','.join(map(str, pids))}", _JSON, *([] if calibration else ["--no-calibration"])]
        self._running: _running.Running | None = None
        self._observation: Observation | None = None

    @property
    def observation(self) -> Observation:
        """The observation. Raises SwitchcostError before the block has ended."""
        if self._observation is None:
            raise SwitchcostError("the observation has not ended: ask for it after the with block")
        return self._observation

    def __enter__(self) -> Observing:
        self._running = _running.Running(self._words)
        try:
            self._wait_until_begun(self._running)
        except BaseException:
            self._running.stop()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._running is None:
            return
        ran = self._running.stop()
        if ran.code != _CTRL_C:
            _running.finished(ran)
        self._observation = Observation(_record(ran), ran.json(*Observation.schemas))

    @staticmethod
    def _wait_until_begun(running: _running.Running) -> None:
        end = time.monotonic() + _SECONDS_TO_BEGIN
        while not any(line.startswith(_BEGUN) for line in running.said):
            if not running.is_running():
                raise _not_begun(running.wait())
            if time.monotonic() > end:
                raise _not_begun(running.stop())
            time.sleep(0.01)


def _not_begun(ran: _running.Finished) -> SwitchcostError:
    try:
        _running.finished(ran)
    except CommandError as error:
        return error
    return SwitchcostError(f"the observation ended before it began: {' '.join(ran.said)}")


def observing(pid: int | Sequence[int] | None = None, *, calibration: bool = True) -> Observing:
    """Observes a process (by default this one) and the processes that it starts, while a `with` block runs.

    Args:
        pid: ID of the process, or IDs of several.
        calibration: Measure first what a switch costs here (8 s), unless there is a measurement of this machine.
    """
    return Observing(pid, calibration=calibration)
