"""Stores results in a folder, or in an object store by fsspec. A file with its final name is always complete."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .. import _tables
from ..errors import MissingPackageError, PlanError, StoreError, SwitchcostError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
#: Texts in errors of full object stores.
_FULL_SIGNS = ("QuotaExceeded", "InsufficientStorage", "InsufficientCapacity", "StorageFull")
_STALE_SECONDS = 86_400


class Store:
    """A folder, which is made if necessary, or an address with a scheme."""

    def __init__(self, address: str) -> None:
        self.address = address.rstrip("/")
        self.is_folder = "://" not in address
        self._digests: dict[str, str] = {}
        # Libraries of object stores raise their own exceptions.
        self._refusals: type[Exception] = OSError if self.is_folder else Exception

    def has(self, name: str) -> bool:
        """Whether something was published under this name."""
        with self.errors("read"):
            return (Path(self.address) / name).exists() if self.is_folder else bool(self._remote.exists(self._path(name)))

    def names(self, folder: str) -> set[str]:
        """Returns the names of all published files below a folder, by a single listing."""
        if self.is_folder:
            root = Path(self.address)
            return {str(path.relative_to(root)) for path in (root / folder).rglob("*.parquet")}
        with self.errors("read"):
            # The cache would miss files that others have published meanwhile.
            self._remote.invalidate_cache()
            return {str(path).removeprefix(self._path("")) for path in self._remote.find(self._path(folder))}

    def publish(self, file: Path, name: str) -> None:
        """Publishes a finished file in one step, so that two copies of a task may do so at the same time."""
        with self.errors():
            if self.is_folder:
                target = Path(self.address) / name
                target.parent.mkdir(parents=True, exist_ok=True)
                _synced(file)
                file.replace(target)
            else:
                self._remote.put_file(str(file), self._path(name))

    @contextlib.contextmanager
    def workplace(self) -> Iterator[Path]:
        """Yields a temporary folder from which a file can be published in one step."""
        base = Path(self.address) / ".work" if self.is_folder else None
        with self.errors():
            if base is not None:
                base.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="task-", dir=base) as folder:
            yield Path(folder)

    def sweep_out(self) -> None:
        """Removes the temporary folders of killed tasks that are older than a day."""
        if self.is_folder:
            for left in (Path(self.address) / ".work").glob("task-*"):
                if left.stat().st_mtime < time.time() - _STALE_SECONDS:
                    shutil.rmtree(left, ignore_errors=True)

    def local(self, path: str, folder: Path) -> str:
        """Returns a path that the program can open. A file at an address is copied into `folder`."""
        if "://" not in path:
            return path
        copy = folder / Path(path).name
        try:
            open_file_system(path).get_file(path, str(copy))
        except Exception as error:  # noqa: BLE001
            raise _refused(path, error, "read") from None
        return str(copy)

    def digest(self, path: str) -> str:
        """Returns the SHA-256 of a trace. Digests are kept by path, size and time, so that a trace is read only once."""
        if path not in self._digests:
            self._digests[path] = self._kept(path)
        return self._digests[path]

    def opened(self, name: str) -> tuple[str, Any]:
        """Returns path and file system of a file, as pyarrow takes them."""
        return (str(Path(self.address) / name), None) if self.is_folder else (self._path(name), self._remote)

    def _kept(self, path: str) -> str:
        if "://" in path or not self.is_folder:
            return _digest(path)
        facts = Path(path).stat()
        about = hashlib.sha256(f"{path}\0{facts.st_size}\0{facts.st_mtime_ns}".encode()).hexdigest()[:32]
        kept = Path(self.address) / "digests" / about
        if kept.exists():
            return kept.read_text(encoding="ascii")
        found = _digest(path)
        with self.workplace() as folder:
            (folder / about).write_text(found, encoding="ascii")
            self.publish(folder / about, f"digests/{about}")
        return found

    @property
    def _remote(self) -> Any:
        return open_file_system(self.address)

    def _path(self, name: str) -> str:
        return f"{self.address.partition('://')[2]}/{name}"

    @contextlib.contextmanager
    def errors(self, what: str = "written to") -> Iterator[None]:
        """Raises errors of the store as StoreError."""
        try:
            yield
        except SwitchcostError:
            raise
        except self._refusals as error:
            raise _refused(self.address, error, what) from None


def _refused(address: str, error: Exception, what: str) -> StoreError:
    is_full = (isinstance(error, OSError) and error.errno in _FULL) or any(sign in str(error) for sign in _FULL_SIGNS)
    found = "takes no more" if is_full else f"cannot be {what}"
    help_ = "free some space, or name another store" if is_full else "name another store"
    return StoreError(f"{address} {found} ({_why(error)}); {help_}: what is done is kept")


def _why(error: Exception) -> str:
    said = error.strerror if isinstance(error, OSError) else None
    return said or str(error).strip().partition("\n")[0] or type(error).__name__


def open_file_system(address: str) -> Any:
    """Returns the file system of an address, by fsspec."""
    fsspec = _tables.package("fsspec")
    try:
        return fsspec.filesystem(address.partition("://")[0])
    except ImportError:
        known = _tables.package("fsspec.registry").known_implementations[address.partition("://")[0]]
        raise MissingPackageError(known["class"].partition(".")[0]) from None
    except ValueError as error:
        raise PlanError(f"{address} is at no place that fsspec knows: {error}") from None


def _digest(path: str) -> str:
    is_remote = "://" in path
    refusals: type[Exception] = Exception if is_remote else OSError
    try:
        with open_file_system(path).open(path) if is_remote else open(path, "rb") as file:  # noqa: PTH123
            return hashlib.file_digest(file, "sha256").hexdigest()
    except SwitchcostError:
        raise
    except refusals as error:
        raise PlanError(f"the trace {path} cannot be read ({_why(error)})") from None


def _synced(file: Path) -> None:
    with file.open("rb") as opened:
        os.fsync(opened.fileno())
