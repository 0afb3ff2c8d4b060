"""Tests that the examples of the page and of the notebooks print what is shown there."""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

import switchcost

PAGE = Path(__file__).parents[2] / "docs" / "python.md"


def test_the_example_prints_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = doctest.testfile(str(PAGE), module_relative=False)
    assert found.attempted > 4
    assert found.failed == 0


# This notebook's sweep takes about ten seconds. Tests of sweeps show the same with shorter ones.
LONG = "design-sweep"
NOTEBOOKS = [
    pytest.param(path, id=path.stem, marks=[pytest.mark.ray] if path.stem == LONG else [])
    for path in sorted((PAGE.parent / "notebooks").glob("*.ipynb"))
]


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_a_notebook_shows_what_it_gives_when_it_is_run(notebook: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(switchcost.__file__).parents[1]))
    saved = nbformat.read(notebook, as_version=4)
    run = nbformat.read(notebook, as_version=4)
    place = {"metadata": {"path": str(notebook.parent)}}
    nbclient.NotebookClient(run, timeout=120, kernel_name="python3", resources=place).execute()
    assert [shown(cell) for cell in run.cells] == [shown(cell) for cell in saved.cells]
    assert any(shown(cell) for cell in saved.cells)


def shown(cell: Any) -> list[str]:
    return [output["data"]["text/plain"] for output in cell.get("outputs", []) if "data" in output]
