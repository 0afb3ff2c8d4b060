"""Takes what `make install` leaves in a folder into a wheel of one platform.

scripts/packages.sh names folder and platform in the environment. Without them, in a clone, the program is built with cargo first.
"""

import os
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class InstalledFiles(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        stage = os.environ.get("SWITCHCOST_STAGE") or self._install_from_source()
        platform = os.environ.get("SWITCHCOST_PLATFORM") or sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"
        build_data["pure_python"] = False
        for path in self.config.get("scripts", []):
            build_data["shared_scripts"][str(_require(stage, path))] = Path(path).name
        # One by one: what hatchling finds in a folder by itself depends on what the project has selected of its own.
        for path in self.config.get("data", []):
            for file in filter(Path.is_file, sorted(_require(stage, path).rglob("*"))):
                build_data["shared_data"][str(file)] = str(file.relative_to(stage))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if folder := getattr(self, "_folder", None):
            folder.cleanup()

    def _install_from_source(self) -> str:
        """Builds the program of the clone that holds this folder, and returns the folder that it is installed in."""
        clone = Path(self.root).resolve().parent
        if not (clone / "crates" / "switchcost" / "Cargo.toml").exists():
            raise SystemExit(
                "switchcost has no program for this platform here, and no source to build it from; "
                "take a wheel with 'pip install --only-binary :all: switchcost', or install from a clone"
            )
        for need in ("cargo", "make"):
            if shutil.which(need) is None:
                raise SystemExit(f"{need} is not in PATH; install it to build switchcost from source (https://rustup.rs for cargo)")
        self._folder = tempfile.TemporaryDirectory(prefix="switchcost-build-")
        target = os.environ.get("CARGO_TARGET_DIR", str(clone / "target"))
        program = Path(target, "dist", "switchcost")
        _run(clone, "cargo", "build", "--profile", "dist", "--locked", "--package", "switchcost")
        # Without the programs under the GPL, which are a package of their own.
        _run(clone, "make", "--silent", "install", f"DIST={program}", "PREFIX=", f"DESTDIR={self._folder.name}", "TOOL=none", "GUEST=none")
        return self._folder.name


def _run(folder: Path, *command: str) -> None:
    ended = subprocess.run(command, cwd=folder, check=False)
    if ended.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {ended.returncode}; its output is above (pip shows it with --verbose)")


def _require(stage: str, path: str) -> Path:
    found = Path(stage, path)
    if not found.exists():
        raise SystemExit(f"{found} does not exist; make packages, or unset SWITCHCOST_STAGE")
    return found
