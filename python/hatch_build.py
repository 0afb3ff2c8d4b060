"""Takes what `make install` has left in a folder into a wheel of one platform; scripts/packages.sh names both in the environment."""

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class InstalledFiles(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        stage, platform = (self._named(name) for name in ("SWITCHCOST_STAGE", "SWITCHCOST_PLATFORM"))
        build_data["tag"] = f"py3-none-{platform}"
        build_data["pure_python"] = False
        for path in self.config.get("scripts", []):
            build_data["shared_scripts"][str(self._found(stage, path))] = Path(path).name
        # One by one: what hatchling finds in a folder by itself depends on what the project has selected of its own.
        for path in self.config.get("data", []):
            for file in filter(Path.is_file, sorted(self._found(stage, path).rglob("*"))):
                build_data["shared_data"][str(file)] = str(file.relative_to(stage))

    def _named(self, name: str) -> str:
        value = os.environ.get(name)
        if not value:
            raise SystemExit(f"found no {name} in the environment, need it to know what goes into the wheel; use make packages")
        return value

    def _found(self, stage: str, path: str) -> Path:
        found = Path(stage, path)
        if not found.exists():
            raise SystemExit(f"found no {found}, need what make install leaves there; use make packages")
        return found
