"""Connects to a cluster of Ray, or reports in a sentence why that failed. Ray schedules, retries and transfers."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from typing import Any

from . import _tables
from ._version import VERSION
from .errors import ClusterError, MissingPackageError, SwitchcostError

_SECONDS_TO_REACH = 5
_SETTINGS = 4


@contextlib.contextmanager
def connected(address: str) -> Iterator[Any]:
    """Yields the package ray, connected to the cluster at this address."""
    ray = _ray()
    if ray.is_initialized():
        yield ray
        return
    _reach(address)
    try:
        ray.init(address=address, logging_level="warning", log_to_driver=False)
    except (ConnectionError, OSError, RuntimeError, ValueError) as error:
        raise ClusterError(f"no cluster of Ray at {address} ({_first_line(error)}); start one with 'ray start --head'") from None
    try:
        yield ray
    finally:
        ray.shutdown()


def raised(error: Any) -> SwitchcostError:
    """Returns an exception of this package for what a task has raised."""
    cause = getattr(error, "cause", None) or error
    if isinstance(cause, SwitchcostError):
        return cause
    needed = f"need the package on each node: pip install switchcost=={VERSION}"
    return ClusterError(f"a task failed on its node ({type(cause).__name__}: {_first_line(cause)}); {needed}")


def _ray() -> Any:
    try:
        return _tables.package("ray")
    except MissingPackageError:
        raise
    except ImportError as error:
        raise ClusterError(f"the package ray cannot be loaded ({error}); install it again: pip install 'switchcost[ray]'") from None


def _reach(address: str) -> None:
    """Checks first that the cluster answers, because Ray itself would try for minutes, and print a lot."""
    host, colon, port = address.rpartition("://")[2].partition("/")[0].rpartition(":")
    if not colon or not port.isdigit():
        return
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _SECONDS_TO_REACH) as connection:
            speaks = "RAY_USE_TLS" in os.environ or _speaks_http2(connection)
    except OSError as error:
        why = error.strerror or error
        raise ClusterError(f"the cluster at {address} cannot be reached ({why}); start one with 'ray start --head'") from None
    if not speaks:
        raise ClusterError(f"what answers at {address} is no cluster of Ray; name the address that 'ray start --head' printed")


def _speaks_http2(connection: socket.socket) -> bool:
    """Whether the other side speaks HTTP/2, as gRPC and so Ray does: it begins with a SETTINGS frame (RFC 9113, 3.4)."""
    connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, _SETTINGS, 0, 0, 0, 0, 0)))
    try:
        return connection.recv(9)[3:4] == bytes((_SETTINGS,))
    except TimeoutError:
        return False


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]
