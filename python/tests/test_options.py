"""Tests of keyword arguments, which are the program's options."""

from __future__ import annotations

import datetime
import importlib.util
import json
import subprocess
from pathlib import Path

import numpy
import pytest

import switchcost
from switchcost import _options, _progress, _verbs
from switchcost.errors import MissingPackageError, OptionError

FOLDER = Path(__file__).parents[1]


def test_the_functions_are_what_the_program_says_of_its_flags() -> None:
    ran = subprocess.run([switchcost.find_program(), "man", "--format", "json"], capture_output=True, check=True)
    spec = importlib.util.spec_from_file_location("make_verbs", FOLDER / "make_verbs.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    assert Path(_verbs.__file__).read_text() == made.module(json.loads(ran.stdout)), (
        "run: switchcost man --format json | python make_verbs.py > src/switchcost/_verbs.py"
    )


@pytest.mark.parametrize(
    ("form", "value", "words"),
    [
        ("flag", True, ["--a-b"]),
        ("flag", False, []),
        ("value", None, []),
        ("value", 0, ["--a-b=0"]),
        ("value", datetime.timedelta(seconds=1.5), ["--a-b=1500000us"]),
        ("value", Path("x"), ["--a-b=x"]),
        ("optional", True, ["--a-b"]),
        ("optional", 5, ["--a-b=5"]),
        ("commas", ["x", "y"], ["--a-b=x,y"]),
        ("commas", "x,y", ["--a-b=x,y"]),
        ("commas", (), []),
        ("repeated", ["-x", "y"], ["--a-b=-x", "--a-b=y"]),
        ("sizes", [0, "64KiB", 4096], ["--a-b=0B,64KiB,4096B"]),
        ("size", 4096, ["--a-b=4096B"]),
        ("value", numpy.int64(5), ["--a-b=5"]),
        ("size", numpy.int64(4096), ["--a-b=4096B"]),
    ],
)
def test_a_value_is_written_as_the_command_line_has_it(form: _options.Form, value: object, words: list[str]) -> None:
    assert _options.words({"a_b": form}, {"a_b": value}) == words


@pytest.mark.parametrize(
    ("form", "value", "sentence"),
    [
        ("value", 1.5, "1.5 is not a text, a whole number, a fraction below 1"),
        ("value", True, "True is not"),
        ("commas", ["a,b", "c"], "has a comma, which parts values"),
    ],
)
def test_a_value_that_could_be_misread_is_refused(form: _options.Form, value: object, sentence: str) -> None:
    with pytest.raises(OptionError, match=sentence):
        _options.words({"a_b": form}, {"a_b": value})


def test_the_programs_refusal_is_the_exception() -> None:
    with pytest.raises(OptionError, match=r"^--budget: '5' is not a time; write it with its unit") as refused:
        switchcost.measure(budget="5")
    assert refused.value.code == 2
    assert "try '--help'" not in str(refused.value)


def test_a_command_is_a_list_of_words() -> None:
    with pytest.raises(OptionError, match=r"^the command 'ls -l' is not a list; write its words as a list"):
        switchcost.observe("ls -l")


def test_a_record_that_is_there_is_not_overwritten(measurement: switchcost.Measurement) -> None:
    with pytest.raises(OptionError, match=r"fiber-\d.jsonl"):
        switchcost.measure(mechanism="fiber", budget="1s", record=measurement.path)


def test_a_package_that_is_not_there_is_named(measurement: switchcost.Measurement, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys  # noqa: PLC0415

    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingPackageError, match=r"needs the package polars: pip install 'switchcost\[polars\]'"):
        measurement.to_polars()


def test_a_bar_is_drawn_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm")
    with _progress.shown("measure", True) as bar:
        assert bar is None
    monkeypatch.setattr(_progress, "_has_reader", lambda: True)
    with _progress.shown("measure", False) as unwanted:
        assert unwanted is None
    with _progress.shown("measure", True) as watch:
        assert watch is not None
        watch(1)
    assert "switchcost measure: 00:00" in capsys.readouterr().err


def test_a_fraction_is_a_percentage() -> None:
    assert _options.words({"confidence": "value", "precision": "value"}, {"confidence": 0.95, "precision": 0.001}) == [
        "--confidence=95%",
        "--precision=0.1%",
    ]
