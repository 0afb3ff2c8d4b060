"""Tests that records are read as objects and tables, with the program's numbers."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
from pathlib import Path

import pytest

import switchcost
from switchcost._figure import Bar, svg
from switchcost.errors import OptionError, RecordError, SwitchcostError


def printed(*words: str) -> str:
    return subprocess.run([switchcost.find_program(), *words], capture_output=True, text=True, check=False).stdout


def test_a_measurement_has_the_numbers_of_its_report(measurement: switchcost.Measurement) -> None:
    report = json.loads(printed("report", str(measurement.path), "--format", "json"))
    again = switchcost.read(measurement.path)
    assert isinstance(again, switchcost.Measurement)
    assert [result.tasks for result in again.results] == [2, 3]
    for found, expected in zip(again.results, report["results"], strict=True):
        assert found.direct_ns is not None
        assert (found.direct_ns.estimate, found.direct_ns.low) == (expected["direct_ns"]["estimate"], expected["direct_ns"]["low"])
        assert found.cpus == tuple(expected["cpus"])
    assert again.results[0].total_ns is None
    assert again.json == report


def test_a_measurement_is_a_table_with_one_type_a_column(measurement: switchcost.Measurement) -> None:
    table = measurement.to_arrow()
    rows = list(csv.DictReader(printed("report", str(measurement.path), "--format", "csv").splitlines()))
    assert table.column_names == list(rows[0])
    assert table.column("direct_ns").to_pylist() == [float(row["direct_ns"]) for row in rows]
    assert table.column("total_ns").to_pylist() == [None, None]
    expected = {
        **dict.fromkeys(["cpus", "runtime", "vector_state", "why"], "string"),
        **dict.fromkeys(["size_bytes", "total_samples"], "int64"),
        "tail_p99_ns": "double",
    }
    assert {name: str(table.schema.field(name).type) for name in expected} == expected


def test_a_measurement_prints_its_numbers(measurement: switchcost.Measurement) -> None:
    title, head, *rows = str(measurement).splitlines()
    assert title.startswith("Switches on ")
    assert head.split()[:2] == ["mechanism", "between"]
    assert len(rows) == len(measurement.results)
    direct = next(result.direct_ns for result in measurement.results if result.direct_ns)
    assert any(str(direct) in row for row in rows)
    assert measurement.to_arrow(columns=["direct_ns", "mechanism"]).column_names == ["direct_ns", "mechanism"]
    with pytest.raises(OptionError, match="there is no column 'cost'; use one of mechanism, between"):
        measurement.to_arrow(columns=["cost"])


def test_frames_keep_what_is_not_known(measurement: switchcost.Measurement) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    frame = measurement.to_pandas()
    assert frame["total_ns"][0] is pandas.NA
    assert frame["direct_ns"].to_list() == measurement.to_arrow().column("direct_ns").to_pylist()
    assert measurement.to_polars().filter(polars.col("total_ns").is_null()).height == 2


def test_a_simulation_without_a_record_is_a_report(simulation: switchcost.Simulation) -> None:
    trace = simulation.json["trace"]["source"]
    at_once = switchcost.simulate(trace, design="mogul-2a", at_once=1000)
    assert (at_once.schema, at_once.records) == ("switchcost.simulate-at-once/1", ())
    assert at_once.to_arrow().column("misses_at_once").to_pylist() == [at_once.json["designs"][0]["at_once"]["shared"]]
    assert at_once.to_arrow(["misses_at_once"]).column_names == ["misses_at_once"]


def test_a_simulation_has_its_designs_and_its_rows(simulation: switchcost.Simulation) -> None:
    again = switchcost.read(simulation.path)
    assert isinstance(again, switchcost.Simulation)
    assert [design.name for design in again.designs] == ["mogul-1a", "mogul-2a"]
    cost = again.designs[0].average_cost_cycles
    assert cost.estimate == simulation.json["designs"][0]["average_cost_cycles"]["estimate"]
    table = again.to_arrow()
    cycles = sum(table.filter(table["design_index"].to_numpy() == 0).column("shared_cycles").to_pylist())
    assert cycles == again.json["designs"][0]["shared"]["cycles"]
    assert again.to_arrow(["interval", "shared_cycles"]).equals(table.select(["interval", "shared_cycles"]))
    with pytest.raises(OptionError, match="there is no column 'cycles'; use one of design, segment"):
        again.to_arrow(["cycles"])
    total = again.costs_to_arrow().to_pylist()[0]
    assert (total["row"], total["design"], total["cost_cycles"]) == ("total", "mogul-1a", cost.estimate)


def test_several_traces_are_trials_with_a_record_each(trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    other = tmp_path / "other.sct"
    printed("trace", "walks", "--size", "4KiB", "--turns", "22", "-o", str(other))
    trials = switchcost.simulate([trace, other], design="mogul-1a")
    assert trials.schema == "switchcost.simulate-trials/1"
    assert len(trials.records) == 2
    rows = [switchcost.Simulation(record).to_arrow().num_rows for record in trials.records]
    assert trials.to_arrow().num_rows == sum(rows)
    with pytest.raises(SwitchcostError, match="several records"):
        _ = trials.designs


def test_a_trace_is_summarized(trace: Path) -> None:
    summary = switchcost.read(trace)
    assert isinstance(summary, switchcost.Trace)
    assert summary.instructions == sum(summary.to_arrow().column("instructions").to_pylist())
    assert summary.size_bytes == trace.stat().st_size
    with pytest.raises(SwitchcostError, match="which has no page"):
        summary.save_page("page.html")


def test_a_name_may_begin_with_a_dash(trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(trace, "-t.sct")
    assert switchcost.read("-t.sct").json["instructions"] == switchcost.read(trace).json["instructions"]
    for ways in (1, 2):
        switchcost.simulate("-t.sct", design="mogul-1a", vary=f"L1D.ways={ways}", record=f"-{ways}.parquet")
    read = switchcost.read("-1.parquet")
    assert isinstance(read, switchcost.Simulation)
    assert read.designs
    assert switchcost.compare("-1.parquet", "-2.parquet").pairs


def test_a_comparison_has_the_programs_verdicts(trace: Path, tmp_path: Path) -> None:
    sides = [tmp_path / f"{ways}.parquet" for ways in (1, 2)]
    for ways, side in enumerate(sides, 1):
        switchcost.simulate(trace, design="mogul-1a", vary=f"L1D.ways={ways}", record=side)
    comparison = switchcost.compare(*sides, confidence="95%")
    expected = json.loads(printed("compare", *map(str, sides), "--confidence", "95%", "--format", "json"))
    assert [pair.ratio for pair in comparison.pairs] == [pair.get("ratio") for pair in expected["pairs"]]
    assert comparison.json["confidence"] == 0.95
    assert comparison.pairs[0].about["kind"] == "all"
    assert comparison.slower_than_allowed is None
    assert comparison.to_arrow().num_rows == len(comparison.pairs)


def test_a_copy_of_a_record_is_not_compared(measurement: switchcost.Measurement, tmp_path: Path) -> None:
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(measurement.path.read_bytes())
    with pytest.raises(OptionError, match="the same run is given on both sides"):
        switchcost.compare(measurement.path, copy)


def test_a_notebook_shows_the_numbers_and_their_intervals(
    measurement: switchcost.Measurement, simulation: switchcost.Simulation
) -> None:
    shown = measurement._repr_html_()
    assert "<td>fiber</td><td>user</td><td>3</td><td>0</td>" in shown
    assert shown.count('stroke-width="3"') == sum(result.direct_ns is not None for result in measurement.results) > 0
    assert "mogul-2a</text>" in simulation._repr_html_()
    assert max(len(shown), len(simulation._repr_html_())) < 10_000


def test_intervals_are_drawn_on_one_scale_that_has_its_origin() -> None:
    drawn = svg("ns", [Bar("a", -10.0, 30.0, 10.0), Bar("<b>", 50.0, 90.0, None)])
    # 100 ns are 400 wide; left of that are 3 characters of 7, and a gap of 10.
    assert '<line x1="31.0" x2="191.0" y1="10.0" y2="10.0" stroke-width="3"/>' in drawn
    assert '<line x1="71.0" x2="71.0" y1="0" y2="40"' in drawn
    assert drawn.count("<circle") == 1
    assert '<circle cx="111.0" cy="10.0"' in drawn
    assert "&lt;b&gt;" in drawn
    assert svg("ns", []) == ""


@pytest.mark.parametrize("length", [0, 1, 4, 100, -1])
@pytest.mark.parametrize("kind", ["measurement", "simulation", "trace"])
def test_a_truncated_record_is_refused_or_told(kind: str, length: int, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    whole = request.getfixturevalue(kind)
    path = whole if isinstance(whole, Path) else whole.path
    cut = tmp_path / path.name
    cut.write_bytes(path.read_bytes()[:length])
    if kind == "measurement" and length == -1:
        assert "cut-line" in {flag["name"] for flag in switchcost.read(cut).json["flags"]}
        return
    with pytest.raises(RecordError, match="need|is no|not a trace|damaged|ends") as refused:
        switchcost.read(cut)
    assert "subprocess" not in str(refused.value)


def test_what_is_not_there_says_what_is_needed(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"No such file or directory\); name a record of"):
        switchcost.read(tmp_path / "none")
    with pytest.raises(RecordError, match=r"Is a directory\); name a record of"):
        switchcost.read(tmp_path)
