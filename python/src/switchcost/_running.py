"""Runs the program, returns its output, and raises its errors as exceptions."""

from __future__ import annotations

import collections
import json
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import IO, Any

from ._program import cannot_start, checked, find_program
from .errors import CommandError, FormatError, OptionError, RecordError

#: Exit codes of a finished run: done, done with reservations (see the report), and a cost that grew (compare).
DONE = (0, 3, 6)
STOPPED = {129: "SIGHUP", 130: "Ctrl-C", 131: "SIGQUIT", 143: "SIGTERM"}
_ERRORS: dict[int, type[CommandError]] = {2: OptionError, 5: RecordError}
_SAYS = re.compile(r"^(switchcost|error|hint): ")
_RECORD = re.compile(r"^switchcost: record:? (.+)$")
_LINES_KEPT = 1000
#: Command that lets the kernel kill the program when its parent thread ends (util-linux). Without it, the program runs to its end.
_DIES = ("setpriv", "--pdeathsig", "KILL", "--") if shutil.which("setpriv") else ()


@dataclass(frozen=True)
class Finished:
    """The output of an ended run of the program."""

    command: tuple[str, ...]
    code: int
    output: bytes
    said: tuple[str, ...]

    @property
    def records(self) -> tuple[str, ...]:
        """Paths of the records that the program reports."""
        return tuple(found[1] for line in self.said if (found := _RECORD.match(line)))

    def json(self, *schemas: str) -> dict[str, Any]:
        """Returns the printed JSON object, which must have one of these schemas."""
        return read_json(self.output, self.command, schemas)


def run(
    words: Sequence[str], *, passes_on: bool = False, dies_with_us: bool = False, watch: Callable[[int], None] | None = None
) -> Finished:
    """Runs the program with these arguments until it ends, and raises its error, if there is one.

    Lines on its standard error are kept. With `passes_on`, lines of a command that the program runs are also written to our
    standard error. `watch` is called with the process ID a few times per second; if it raises, the program is ended as by
    Ctrl-C. With `dies_with_us`, the program is killed when the calling thread ends for any reason.
    """
    return finished(ended(words, passes_on=passes_on, dies_with_us=dies_with_us, watch=watch))


def ended(
    words: Sequence[str], *, passes_on: bool = False, dies_with_us: bool = False, watch: Callable[[int], None] | None = None
) -> Finished:
    """Runs the program like `run`, but raises nothing for its exit code."""
    running = Running(words, passes_on=passes_on, dies_with_us=dies_with_us)
    try:
        return running.wait(watch)
    except BaseException:
        running.stop()
        raise


def finished(ran: Finished) -> Finished:
    """Returns the run if its exit code is in DONE; otherwise raises its error."""
    if ran.code in DONE:
        return ran
    raise _ERRORS.get(ran.code, CommandError)(_refusal(ran), ran.code, ran.command)


def read_json(output: bytes, command: Sequence[str], schemas: Sequence[str]) -> dict[str, Any]:
    """Reads the program's JSON. Raises FormatError for a schema that is not in `schemas`."""
    try:
        value = json.loads(output)
    except ValueError as error:
        raise FormatError(f"{' '.join(command)} printed no JSON ({error})") from None
    found = value.get("schema") if isinstance(value, dict) else None
    if found not in schemas:
        raise FormatError(f"{' '.join(command)} printed {found}, this package reads {', '.join(schemas)}; upgrade it")
    return dict(value)


class Running:
    """A running program."""

    def __init__(self, words: Sequence[str], *, passes_on: bool = False, dies_with_us: bool = False) -> None:
        self._command = (checked(find_program()), *words)
        self._said: collections.deque[str] = collections.deque(maxlen=_LINES_KEPT)
        self._output: list[bytes] = []
        self._passes_on = passes_on
        # In a new session the program gets no Ctrl-C from the terminal, only the one that `stop` sends.
        try:
            self._process = subprocess.Popen(
                (*(_DIES if dies_with_us else ()), *self._command),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise cannot_start(self._command[0], error) from None
        self._readers = (self._start(self._read_output), self._start(self._read_said))

    @property
    def pid(self) -> int:
        """The ID of the program's process."""
        return self._process.pid

    @property
    def said(self) -> tuple[str, ...]:
        """The last lines that the program has written to standard error."""
        return tuple(self._said)

    def is_running(self) -> bool:
        """Whether the program has not ended yet."""
        return self._process.poll() is None

    def wait(self, watch: Callable[[int], None] | None = None) -> Finished:
        """Waits until the program has ended, and calls `watch` meanwhile."""
        while watch is not None and self._readers[0].is_alive() and self.is_running():
            watch(self.pid)
            # Joining the reader returns as soon as the program ends; Popen.wait with a timeout checks only every 50 ms.
            self._readers[0].join(0.2)
        code = self._process.wait()
        for reader in self._readers:
            # Children of the program may outlive it, and keep the pipes open.
            reader.join(timeout=5)
        return Finished(self._command, code, b"".join(self._output), self.said)

    def stop(self, seconds: float = 60) -> Finished:
        """Ends the program as Ctrl-C does, and waits. Kills it after `seconds`."""
        if self.is_running():
            self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
        return self.wait()

    @staticmethod
    def _start(read: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=read, daemon=True)
        thread.start()
        return thread

    def _read_output(self) -> None:
        stream = _stream(self._process.stdout)
        while chunk := stream.read(1 << 20):
            self._output.append(chunk)

    def _read_said(self) -> None:
        for raw in _stream(self._process.stderr):
            line = raw.decode(errors="replace")
            self._said.append(line.rstrip("\n"))
            if self._passes_on and not _SAYS.match(line):
                sys.stderr.write(line)


def _stream(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise RuntimeError("it was started with pipes")
    return stream


def _refusal(ran: Finished) -> str:
    """The program's own sentence."""
    if ran.code in STOPPED:
        return f"the program was stopped by {STOPPED[ran.code]}; what was measured is in the record"
    if ran.code < 0:
        return f"the program was killed by {signal.Signals(-ran.code).name}: {' '.join(ran.command)}"
    lines = [line for line in ran.said if line]
    start = max((at for at, line in enumerate(lines) if line.startswith("error: ")), default=len(lines) - 1)
    text = "; ".join(re.sub(r"^(switchcost|error|hint): ", "", line) for line in lines[max(start, 0) :])
    return text or f"the program ended with exit code {ran.code}, and said nothing"
