"""Tests that a sweep gives the numbers of a single run, wherever its tasks run, and whatever is killed meanwhile."""

from __future__ import annotations

import csv
import http.server
import io
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from namespaces import environment, in_a_namespace

import switchcost
from switchcost import _running
from switchcost._verbs import _SIMULATE
from switchcost.errors import (
    ClusterError,
    CommandError,
    MissingPackageError,
    PlanError,
    ProgramError,
    StoreError,
    SwitchcostError,
)
from switchcost.sweeps import Plan, SimulateOptions, sweep, work
from switchcost.sweeps.command import main
from switchcost.sweeps.engine import Progress, run
from switchcost.sweeps.plan import SIMULATED
from switchcost.sweeps.store import Store
from switchcost.sweeps.task import blocks, cut

VARY = ["L1D.size=8KiB,16KiB,32KiB", "L1D.ways=1,2"]
COMMAND = [sys.executable, "-m", "switchcost.sweeps.command"]


@pytest.fixture(scope="session")
def traces(place: Path) -> list[Path]:
    paths = [place / f"walks-{kib}.sct" for kib in (2, 4)]
    for kib, path in zip((2, 4), paths, strict=True):
        _running.run(["trace", "walks", "--size", f"{kib}KiB", "--turns", "20", "-o", str(path)])
    return paths


def write_plan(folder: Path, traces: list[Path], more: str = "", designs_a_task: int = 2) -> Path:
    plan = folder / "plan.toml"
    plan.write_text(
        f'traces = {[str(trace) for trace in traces]}\ndesign = ["mogul-1a"]\nvary = {VARY}\n'
        f'store = "store"\ndesigns-a-task = {designs_a_task}\n{more}\n'
    )
    return plan


def alone(traces: list[Path], folder: Path) -> dict[tuple[str, str], list[str]]:
    """Runs the program once for each trace. Returns the printed cost, cycles and overhead by trace and design."""
    found = {}
    for trace in traces:
        varied = [f"--vary={one}" for one in VARY]
        record = folder / f"{trace.stem}.parquet"
        ran = _running.run(["simulate", str(trace), "--design=mogul-1a", *varied, f"--record={record}", "--format=csv"])
        for row in csv.DictReader(io.StringIO(ran.output.decode())):
            if row["row"] == "total" and row["kind"] == "all":
                found[trace.stem, row["design"]] = [row["cost_cycles"], row["shared_cycles"], row["overhead_percent"]]
    return found


def together(result: switchcost.Sweep) -> dict[tuple[str, str], list[str]]:
    rows = [row for row in result.to_arrow().to_pylist() if row["kind"] == "all"]
    costs = {
        (row["trace"].rpartition("-")[0], row["design"]): [row["cost_cycles"], row["shared_cycles"], row["overhead_percent"]]
        for row in rows
    }
    assert len(costs) == len(rows), "none twice"
    return costs


def assert_same(found: dict[tuple[str, str], list[str]], expected: dict[tuple[str, str], list[str]]) -> None:
    assert found.keys() == expected.keys()
    for key, texts in expected.items():
        assert found[key] == [float(text) for text in texts], key


def test_a_sweep_has_the_numbers_of_one_run_alone(traces: list[Path], tmp_path: Path) -> None:
    result = sweep(traces, "mogul-1a", vary=VARY, store=tmp_path / "store", designs_a_task=4)
    assert [outcome.state for outcome in result.outcomes] == ["done"] * 4
    assert_same(together(result), alone(traces, tmp_path))
    assert all((tmp_path / "store" / record).exists() for record in result.records())


def test_what_is_done_is_not_run_again(traces: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = sweep(traces[0], "mogul-1a", store=tmp_path)
    monkeypatch.setattr(work, "_simulate", lambda *_: pytest.fail("run again"))
    again = sweep(traces[0], "mogul-1a", store=tmp_path)
    assert [outcome.state for outcome in again.outcomes] == ["was-done"]
    assert again.to_arrow().equals(first.to_arrow())


def test_another_trace_of_the_same_name_is_another_task(traces: list[Path], tmp_path: Path) -> None:
    here = tmp_path / "a.sct"
    keys = set()
    for trace in traces:
        shutil.copy(trace, here)
        os.utime(here, ns=(0, trace.stat().st_mtime_ns))
        keys |= {task.key for task in cut(Plan(traces=(str(here),), design=("mogul-1a",), store=""), Store(str(tmp_path)))}
    assert len(keys) == 2


def test_a_plan_is_cut_into_every_combination_once() -> None:
    axes = [("a", ("1", "2", "3", "4", "5")), ("b", ("x", "y", "z")), ("c", ("u", "v"))]
    for most in (1, 2, 5, 6, 12, 29, 30, 100):
        parts = list(blocks(axes, most))
        combined = [(a, b, c) for (_, first), (_, second), (_, third) in parts for a in first for b in second for c in third]
        assert len(combined) == len(set(combined)) == 30
        assert all(len(first) * len(second) * len(third) <= most for (_, first), (_, second), (_, third) in parts)


def test_a_task_that_fails_is_reported_with_its_command_and_the_rest_goes_on(traces: list[Path], tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.sct"
    damaged.write_bytes(traces[0].read_bytes()[:-50])
    result = sweep([traces[0], damaged], "mogul-1a", store=tmp_path)
    (failed,) = result.failed
    assert failed.command == f"switchcost simulate {damaged} --design=mogul-1a --threads=1"
    assert str(damaged) in failed.message
    assert result.to_arrow().num_rows > 0


@pytest.mark.parametrize(
    "words", [{"vary": "L1D.way=1"}, {"vary": "L1D.ways=1,3"}, {"vary": "L9.ways=1"}, {"design": "no-such-design"}]
)
def test_a_mistake_in_a_design_is_said_once_before_any_task(traces: list[Path], tmp_path: Path, words: dict[str, str]) -> None:
    outcomes: list[work.Outcome] = []
    table = {"traces": str(traces[0]), "design": "mogul-1a", "store": str(tmp_path), **words}
    with pytest.raises(PlanError, match="|".join(re.escape(word.partition(".")[0]) for word in words.values())):
        run(Plan.of(table, "here"), None, outcomes)
    assert outcomes == []


def test_progress_says_how_long_the_rest_takes() -> None:
    lines: list[str] = []
    times = iter([0.0, 4.0, 12.0, 15.0, 400.0, 500.0])
    progress = Progress(5, lines.append, lambda: next(times))
    for _ in range(5):
        progress.count()
    assert lines == ["2 of 5 tasks ended, about 18 s left", "4 of 5 tasks ended, about 2 min left"]


def test_a_task_of_the_list_reads_its_own_trace_alone(
    traces: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = write_plan(tmp_path, traces)
    with pytest.raises(SystemExit, match="0"):
        main([str(plan), "--list"])
    last = capsys.readouterr().out.splitlines()[-1].split()
    asked: list[str] = []
    digest = Store.digest
    monkeypatch.setattr(Store, "digest", lambda store, path: asked.append(path) or digest(store, path))
    with pytest.raises(SystemExit, match="0"):
        main(last[1:])
    assert set(asked) == {str(traces[-1])}


def test_a_pattern_in_an_address_names_its_files(traces: list[Path], tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    table = {"traces": f"file://{traces[0].parent}/walks-*.sct", "design": "mogul-1a", "store": str(tmp_path)}
    assert [Path(path).name for path in Plan.of(table, "here").traces] == [path.name for path in traces]
    with pytest.raises(PlanError, match="no file for the trace file:"):
        Plan.of({**table, "traces": f"file://{tmp_path}/*.sct"}, "here")


@pytest.fixture
def gnu_parallel() -> None:
    """Skips the test if there is no GNU parallel. Another program of this name has other arguments."""
    found = shutil.which("parallel")
    if not found or "GNU parallel" not in subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout:
        pytest.skip("found no GNU parallel; apt-get install parallel")


@pytest.mark.usefixtures("gnu_parallel")
def test_the_list_is_run_by_gnu_parallel(traces: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = write_plan(tmp_path, traces[:1])
    with pytest.raises(SystemExit, match="0"):
        main([str(plan), "--list"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    jobs = "".join(line.replace("switchcost-sweep", " ".join(COMMAND), 1) + "\n" for line in lines * 2)
    # Runs each line twice, and four at a time.
    subprocess.run(["parallel", "--jobs=4"], input=jobs, text=True, env=environment(), check=True)
    with pytest.raises(SystemExit, match="0"):
        main([str(plan), "--list"])
    assert capsys.readouterr().out == ""
    assert len(list(tmp_path.glob("store/costs/**/*.parquet"))) == 3
    assert list(tmp_path.glob("store/.work/*")) == []


def test_an_array_of_jobs_takes_its_lines_from_a_saved_list(
    traces: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = write_plan(tmp_path, traces[:1])
    with pytest.raises(SystemExit, match="0"):
        main([str(plan), "--list"])
    lines = capsys.readouterr().out.splitlines()
    saved = tmp_path / "tasks"
    saved.write_text("".join(line.replace("switchcost-sweep", " ".join(COMMAND), 1) + "\n" for line in lines))
    page = Path(__file__).parents[2] / "docs/python.md"
    job = re.search(r"--wrap '(.*)'`", page.read_text())
    assert job is not None
    for number in range(1, len(lines) + 1):
        variables = environment() | {"SLURM_ARRAY_TASK_ID": str(number)}
        subprocess.run(["sh", "-c", job[1]], cwd=tmp_path, env=variables, check=True)
    assert len(list(tmp_path.glob("store/costs/**/*.parquet"))) == len(lines)


def test_words_of_a_plan_are_options_of_the_program(traces: list[Path], tmp_path: Path) -> None:
    assert SIMULATED.items() <= _SIMULATE.items()
    assert SimulateOptions.__annotations__.keys() == SIMULATED.keys()
    result = sweep(traces[0], "mogul-1a", store=tmp_path, interval="100x20", in_full=2)
    assert not result.failed


def test_a_killed_sweep_goes_on_where_it_was(traces: list[Path], tmp_path: Path) -> None:
    plan = write_plan(tmp_path, traces, designs_a_task=1)
    first = subprocess.Popen([*COMMAND, str(plan)], env=environment())
    wait_for(lambda: bool(list(tmp_path.glob("store/costs/**/*.parquet"))))
    first.send_signal(signal.SIGKILL)
    first.wait()
    left = len(list(tmp_path.glob("store/costs/**/*.parquet")))
    again = sweep(traces, "mogul-1a", vary=VARY, store=tmp_path / "store", designs_a_task=1)
    assert [outcome.state for outcome in again.outcomes].count("was-done") >= left >= 1
    assert_same(together(again), alone(traces, tmp_path))


def test_how_long_it_takes_is_known_when_a_task_is_done(
    traces: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = write_plan(tmp_path, traces)
    tasks = cut(Plan.read(plan), Store(str(tmp_path / "store")))
    for begin, words in (("6 tasks to run, 0 done; how long", []), ("5 tasks to run, 1 done; about", ["--only", tasks[0].key])):
        with pytest.raises(SystemExit, match="0"):
            main([str(plan), *words] if words else [str(plan), "--dry-run"])
        with pytest.raises(SystemExit, match="0"):
            main([str(plan), "--dry-run"])
        assert capsys.readouterr().out.splitlines()[-1].startswith(begin)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("desing = 1", "unknown 'desing' in .*plan.toml; use one of traces, design, .*; did you mean design"),
        ("interval = '10 x 5'", "'10 x 5' for interval in .* is not instructions, or instructions by intervals such as 10000x100"),
        ("in-full = '10'", "'10' for in-full in .* is not a whole number from 1 on"),
        ("user-only = 1", "1 for user-only in .* is not true or false"),
        ("memory = '2 GB'", "'2 GB' for memory"),
        ("interval = ", "plan.toml is no TOML"),
    ],
)
def test_a_plan_with_a_mistake_is_refused(traces: list[Path], tmp_path: Path, line: str, sentence: str) -> None:
    with pytest.raises(PlanError, match=sentence):
        Plan.read(write_plan(tmp_path, traces, line))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"traces": "none.sct"}, "no file for the trace none.sct"),
        ({"traces": "none*.sct"}, "no file for the trace"),
        ({"design": "host"}, "found the design host in .*, which is another on each machine"),
        ({"design": "none.toml"}, "the design .*none.toml cannot be read"),
        ({"vary": "L1D.size"}, "'L1D.size' for vary is not LEVEL.FIELD=LIST"),
        ({"design": []}, "there is no design in here"),
        ({"store": None}, "None for store"),
    ],
)
def test_what_a_plan_cannot_do_is_said(traces: list[Path], tmp_path: Path, words: dict[str, object], sentence: str) -> None:
    table = {"traces": str(traces[0]), "design": "mogul-1a", "store": str(tmp_path), **words}
    with pytest.raises(PlanError, match=sentence):
        cut(Plan.of(table, "here"), Store(str(tmp_path)))


def test_a_full_store_ends_the_sweep_with_what_is_done(traces: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(StoreError, match="takes no more .No space left on device.; free some space, or name another store"):
        sweep(traces, "mogul-1a", store=tmp_path)


def test_a_disk_that_is_full_for_the_program_ends_the_sweep(
    traces: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(CommandError, match="No space left on device") as refused:
        _running.run(["simulate", str(traces[0]), "--design=mogul-1a", "--output=/dev/full"])

    def full(*_: object) -> None:
        raise refused.value

    monkeypatch.setattr(work, "_simulate", full)
    with pytest.raises(StoreError, match="takes no more"):
        sweep(traces[0], "mogul-1a", store=tmp_path)


def test_a_full_object_store_is_reported_as_one(traces: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    memory = pytest.importorskip("fsspec").filesystem("memory")

    def full(*_: object) -> None:
        raise RuntimeError("QuotaExceeded: the bucket is full\nand more")

    monkeypatch.setattr(type(memory), "put_file", full)
    with pytest.raises(StoreError, match=r"^memory://full takes no more .QuotaExceeded: the bucket is full.; free some space"):
        sweep(traces[0], "mogul-1a", store="memory://full")


def test_a_disk_that_is_full_for_the_costs_alone_ends_the_sweep(
    traces: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(StoreError, match="takes no more .No space left on device."):
        sweep(traces[0], "mogul-1a", store=tmp_path)


def test_an_object_store_names_the_package_that_it_needs(traces: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fsspec")
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    with pytest.raises(MissingPackageError, match="this needs the package gcsfs: pip install gcsfs$"):
        sweep(traces[0], "mogul-1a", store="gs://bucket/sweep")


def test_an_address_needs_fsspec(traces: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'switchcost\[fsspec\]'"):
        sweep(traces, "mogul-1a", store="s3://bucket/sweep")


def test_an_object_store_holds_the_same(traces: list[Path], tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    memory.put_file(str(traces[0]), "/traces/walks-2.sct")
    result = sweep("memory://traces/walks-2.sct", "mogul-1a", vary=VARY, store="memory://sweep", designs_a_task=4)
    assert [outcome.state for outcome in result.outcomes] == ["done", "done"]
    assert_same(together(result), alone(traces[:1], tmp_path))
    again = sweep("memory://traces/walks-2.sct", "mogul-1a", vary=VARY, store="memory://sweep", designs_a_task=4)
    assert [outcome.state for outcome in again.outcomes] == ["was-done", "was-done"]


def test_duckdb_and_polars_read_the_dataset_as_it_is(traces: list[Path], tmp_path: Path) -> None:
    duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    result = sweep(traces, "mogul-1a", vary=VARY, store=tmp_path, designs_a_task=3)
    files = f"{tmp_path}/costs/**/*.parquet"
    rows = duckdb.sql(f"SELECT trace, design, cost_cycles FROM '{files}' WHERE kind = 'all' ORDER BY ALL").fetchall()
    frame = polars.scan_parquet(files, hive_partitioning=True).filter(polars.col("kind") == "all")
    assert rows == frame.select("trace", "design", "cost_cycles").sort(polars.all()).collect().rows()
    assert len(rows) == 12
    assert {row[:2]: row[2] for row in rows} == {
        (row["trace"], row["design"]): row["cost_cycles"] for row in result.to_arrow().to_pylist() if row["kind"] == "all"
    }


@pytest.mark.ray
def test_an_s3_store_holds_the_same(traces: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("s3fs")
    server = pytest.importorskip("moto.server").ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        address = f"http://{host}:{port}"
        for name, value in {"ACCESS_KEY_ID": "x", "SECRET_ACCESS_KEY": "x", "ENDPOINT_URL_S3": address}.items():
            monkeypatch.setenv(f"AWS_{name}", value)
        monkeypatch.setenv("FSSPEC_S3_ENDPOINT_URL", address)
        import fsspec  # noqa: PLC0415

        s3 = fsspec.filesystem("s3", endpoint_url=address)
        s3.mkdir("bucket")
        s3.put_file(str(traces[0]), "bucket/walks-2.sct")
        for state in ("done", "was-done"):
            result = sweep("s3://bucket/walks-2.sct", "mogul-1a", vary=VARY, store="s3://bucket/sweep", designs_a_task=4)
            assert {outcome.state for outcome in result.outcomes} == {state}
        assert_same(together(result), alone(traces[:1], tmp_path))
        with pytest.raises(StoreError, match="s3://none/sweep cannot be read"):
            sweep("s3://bucket/walks-2.sct", "mogul-1a", store="s3://none/sweep")
    finally:
        server.stop()


@pytest.mark.ray
def test_a_cluster_that_is_not_there_is_refused_at_once(traces: list[Path], tmp_path: Path) -> None:
    pytest.importorskip("ray")
    start = time.monotonic()
    for address in ("127.0.0.1:9", "ray://127.0.0.1:9"):
        with pytest.raises(ClusterError, match=f"the cluster at {address} cannot be reached .Connection refused."):
            sweep(traces, "mogul-1a", store=tmp_path, on=address)
    assert time.monotonic() - start < 20


@pytest.mark.ray
def test_what_is_no_cluster_is_refused_at_once(traces: list[Path], tmp_path: Path) -> None:
    pytest.importorskip("ray")
    with http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"127.0.0.1:{server.server_address[1]}"
        with pytest.raises(ClusterError, match=f"what answers at {address} is no cluster of Ray"):
            sweep(traces, "mogul-1a", store=tmp_path, on=address)
        server.shutdown()


@pytest.mark.ray
def test_a_cluster_that_loses_a_node_and_its_driver_has_all_results(traces: list[Path], tmp_path: Path) -> None:
    pytest.importorskip("ray")
    plan = write_plan(tmp_path, traces, "memory = '64MiB'", designs_a_task=1)
    ran = in_a_namespace("cluster.py", plan)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert " 0 failed" in ran.stdout
    assert len(ran.stdout.splitlines()) == 3, "what Ray says goes to standard error"
    left, at_kill = (int(count) for count in re.findall(r"killed: (\d+)", ran.stdout))
    assert 2 <= left < at_kill < 12, "both were killed in the middle"
    again = sweep(traces, "mogul-1a", vary=VARY, store=tmp_path / "store", designs_a_task=1)
    assert {outcome.state for outcome in again.outcomes} == {"was-done"}
    assert_same(together(again), alone(traces, tmp_path))


def test_exceptions_come_back_from_another_process_as_they_were() -> None:
    raised = [MissingPackageError("polars"), CommandError("a", 3, ("b",)), StoreError("c"), ProgramError("d")]
    assert [(type(one), str(one)) for one in pickle.loads(pickle.dumps(raised))] == [(type(one), str(one)) for one in raised]


def test_exceptions_of_the_sweep_are_the_packages_own() -> None:
    assert issubclass(StoreError, SwitchcostError)
    assert issubclass(ClusterError, SwitchcostError)


def wait_for(happened: object, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not happened():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.01)
