"""Puts the files that `make install` has installed into a wheel for one platform.

scripts/packages.sh names folder and platform in the environment. Without the folder, the program is first built with cargo, from
the clone that contains this file, or from the source in an sdist.
"""

import os
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_WHEEL = "take a wheel with 'pip install --only-binary :all: switchcost'"


class InstalledFiles(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        stage = os.environ.get("SWITCHCOST_STAGE") or self._install_from_source()
        platform = os.environ.get("SWITCHCOST_PLATFORM") or sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"
        build_data["pure_python"] = False
        for path in self.config.get("scripts", []):
            build_data["shared_scripts"][str(_require(stage, path))] = Path(path).name
        # Files are named one by one, because the project's own selection changes what hatchling takes from a folder.
        for path in self.config.get("data", []):
            for file in filter(Path.is_file, sorted(_require(stage, path).rglob("*"))):
                build_data["shared_data"][str(file)] = str(file.relative_to(stage))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if folder := getattr(self, "_folder", None):
            folder.cleanup()

    def _install_from_source(self) -> str:
        """Builds and installs the program, and returns the folder of the installation."""
        here = Path(self.root).resolve()
        source = next((folder for folder in (here, here.parent) if (folder / "crates" / "switchcost").is_dir()), None)
        if source is None:
            raise SystemExit(f"there is no source of the program here; {_WHEEL}, or install from a clone")
        for need in ("cargo", "make"):
            if shutil.which(need) is None:
                raise SystemExit(f"{need} is not in PATH, and builds switchcost from source; {_WHEEL}, or install {need}")
        self._folder = tempfile.TemporaryDirectory(prefix="switchcost-build-")
        # A separate target folder: files of an sdist are dated 2020, so cargo would take older builds for up to date.
        target = source / "target"
        _run(source, "cargo", "build", "--profile", "dist", "--locked", "--package", "switchcost", f"--target-dir={target}")
        program = target / "dist" / "switchcost"
        # The programs under the GPL are left out, because they have a separate package.
        _run(source, "make", "--silent", "install", f"DIST={program}", "PREFIX=", f"DESTDIR={self._folder.name}", "TOOL=none", "GUEST=none")
        return self._folder.name


def _run(folder: Path, *command: str) -> None:
    ended = subprocess.run(command, cwd=folder, check=False)
    if ended.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {ended.returncode}; its output is above (pip shows it with --verbose)")


def _require(stage: str, path: str) -> Path:
    found = Path(stage, path)
    if not found.exists():
        raise SystemExit(f"{found} does not exist; make packages with scripts/packages.sh")
    return found
