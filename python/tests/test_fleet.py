"""Tests of fleets: alike hosts do not differ, and differences are found with their facts. The hosts are invented."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hosts import Host, alike
from namespaces import in_a_namespace

from switchcost._verbs import _MEASURE
from switchcost.errors import PlanError, StoreError
from switchcost.fleets import Fleet, Plan, gather
from switchcost.fleets.command import main
from switchcost.fleets.on_ray import named

DOCS = Path(__file__).parents[2] / "docs" / "fleet"


def gathered(folder: Path, hosts: list[Host]) -> Fleet:
    for host in hosts:
        host.write(folder)
    return gather(folder)


def test_none_of_twenty_alike_hosts_differs(tmp_path: Path) -> None:
    fleet = gathered(tmp_path, alike(20))
    assert fleet.different == ()
    assert str(fleet).startswith("No difference is shown between 20 hosts.\n")
    assert len(fleet.findings) == 20


def test_without_a_verdict_no_difference_is_denied(tmp_path: Path) -> None:
    fleet = gathered(tmp_path, alike(2))
    fleet.findings = tuple(
        replace(finding, pairs=[replace(pair, verdict=None) for pair in finding.pairs]) for finding in fleet.findings
    )
    assert str(fleet).startswith("No cost of the 2 hosts could be compared.\n")


def test_a_host_with_another_kernel_is_found_beside_one_that_is_slower_for_no_known_reason(tmp_path: Path) -> None:
    hosts = alike(12)
    hosts[3] = hosts[3].but(kernel="6.13.0", switch_cycles=5850.0)
    hosts[5] = hosts[5].but(switch_cycles=5850.0)
    hosts[7] = hosts[7].but(microcode="0xa0011d5")
    hosts[8] = hosts[8].but(governor="powersave", core_ghz=1.2)
    hosts[9] = hosts[9].but(switch_cycles=9000.0, disturbed=0.5)
    hosts[10] = hosts[10].but(spectre_v2="Vulnerable")
    fleet = gathered(tmp_path, hosts)
    assert fleet.different == ("node-03", "node-05")
    facts = {finding.question.hosts[0].name: finding.facts for finding in fleet.findings if finding.different}
    assert [fact.what for fact in facts["node-03"]] == ["kernel"]
    assert facts["node-05"] == ()
    ratios = [pair.ratio for finding in fleet.findings for pair in finding.different]
    assert ratios == [pytest.approx(1.3, rel=0.04)] * 4
    assert [host.name for host in fleet.disturbed] == ["node-09"]
    said = str(fleet)
    assert "\nnode-03 against 6 hosts with other facts:\n  pipe process   1.3" in said
    assert "kernel         6.13.0; theirs 6.12.1" in said
    # At 1.2 GHz a switch takes as many cycles: the clock is a fact, and no cost differs.
    assert "node-08: core clock: 1.20 GHz; theirs 3.00 GHz" in said
    by_clock = re.search(r"node-08: pipe process by the clock: ([0-9.]+) us; theirs ([0-9.]+) to ([0-9.]+) us", said)
    assert by_clock is not None
    assert float(by_clock[1]) / float(by_clock[2]) == pytest.approx(3.0 / 1.2, rel=0.1)
    assert "node-07: microcode: 0xa0011d5; theirs 0xa0011d1" in said
    assert "node-10: mitigation of spectre_v2: Vulnerable; theirs Mitigation: Retpolines" in said
    assert re.search(r"Disturbed, and in no comparison:\n  node-09: pipe process: 25 % of the time went to other tasks", said)


def test_hosts_that_differ_alike_do_not_hide_each_other(tmp_path: Path) -> None:
    hosts = alike(8)
    slow = ("node-01", "node-04", "node-06")
    hosts = [host.but(switch_cycles=6300.0) if host.name in slow else host for host in hosts]
    assert gathered(tmp_path, hosts).different == slow


def test_of_two_hosts_nothing_says_which_is_unusual(tmp_path: Path) -> None:
    first, second = alike(2)
    fleet = gathered(tmp_path, [first, second.but(switch_cycles=6300.0)])
    assert fleet.different == ("node-00", "node-01")
    page = fleet.save_page(tmp_path / "fleet.html").read_text()
    assert '<a href="fleet.files/1.html">' in page
    assert "one of the two is unusual" in page
    assert "<svg" in (tmp_path / "fleet.files" / "1.html").read_text()
    with pytest.raises(StoreError, match=r"none/fleet.html cannot be written .No such file or directory.; name another file"):
        fleet.save_page(tmp_path / "none" / "fleet.html")
    assert fleet.to_arrow().column("verdict").to_pylist() == ["faster", "faster"]


def test_what_cannot_be_read_is_named_and_names_are_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "half.jsonl").write_text("{")
    hostile = Host("<b>\x1b[2J").write(tmp_path)
    (tmp_path / f"{hostile.stem}.doctor.json").write_text(
        json.dumps({"checks": [{"name": "load", "found": "50 tasks", "severity": "unfit"}]})
    )
    page = tmp_path / "page.html"
    with pytest.raises(SystemExit, match="3"):
        main(["gather", str(tmp_path), "-o", str(page)])
    said = capsys.readouterr().out
    assert "  <b>\\x1b[2J: unfit by its check-up: load: 50 tasks" in said
    assert "  half: " in said
    assert "&lt;b&gt;\\x1b[2J" in page.read_text()
    assert "\x1b" not in said + page.read_text()


FULL = "switchcost-fleet: cannot print the result: No space left on device; free some space, or choose another place for it\n"


@pytest.mark.parametrize(("output", "code", "said"), [("| true", 0, ""), (">&-", 0, ""), ("> /dev/full", 1, FULL)])
def test_an_output_that_takes_no_more_is_told_once(output: str, code: int, said: str, tmp_path: Path) -> None:
    for host in alike(2):
        host.write(tmp_path)
    script = "import sys; from switchcost.fleets.command import main; main(sys.argv[1:])"
    shell = f'set -o pipefail; "$0" -c "$1" gather "$2" {output}'
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    words = ["bash", "-c", shell, sys.executable, script, str(tmp_path)]
    ran = subprocess.run(words, stderr=subprocess.PIPE, text=True, env=environment, check=False)
    assert (ran.returncode, ran.stderr) == (code, said)


def test_a_copy_of_a_record_is_no_second_host(tmp_path: Path) -> None:
    record = Host("one").write(tmp_path)
    (tmp_path / "two.jsonl").write_bytes(record.read_bytes())
    with pytest.raises(PlanError, match="the records of one and two are of one run; remove one of them"):
        gather(tmp_path)


def test_several_records_of_a_host_are_one_host(tmp_path: Path) -> None:
    (tmp_path / "twice").mkdir()
    for name in ("a", "b"):
        Host(name).write(tmp_path / "twice")
    assert [(host.name, len(host.records)) for host in gathered(tmp_path, alike(2)).hosts] == [
        ("node-00", 1),
        ("node-01", 1),
        ("twice", 2),
    ]


PLAN = 'records = "records"\nmechanism = ["pipe", "futex"]\nbetween = "process"\nsize = [0, 65536]\nno-counters = true\n'


def test_a_plan_has_the_words_of_measure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    with pytest.raises(SystemExit, match="0"):
        main([str(plan), "--list"])
    check_up, measure = capsys.readouterr().out.splitlines()
    assert check_up == f'switchcost doctor --format=json --output={tmp_path}/records/"$(uname -n)".doctor.json'
    words = "--mechanism=pipe,futex --between=process --size=0B,65536B --no-counters"
    assert measure == f'switchcost measure {words} --record={tmp_path}/records/"$(uname -n)".jsonl --output=/dev/null'


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("mechanim = 'pipe'", "unknown 'mechanim' in .*plan.toml; use one of records, .*; did you mean mechanism"),
        ("noise = 1", "unknown 'noise'"),
        ("quick = 'yes'", "'yes' for quick in .* is not true or false"),
        ("budget = 1.5", "1.5 is not a text"),
        ("confidence = 0.9", "0.9 for confidence is not a number from 50 to 99.9 with a % sign"),
    ],
)
def test_a_plan_with_a_mistake_is_refused(tmp_path: Path, line: str, sentence: str) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(f"{PLAN}{line}\n")
    with pytest.raises(PlanError, match=sentence):
        Plan.read(plan)


def test_a_fleet_on_ray_needs_ray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    (tmp_path / "plan.toml").write_text(PLAN)
    with pytest.raises(SystemExit, match="1"):
        main([str(tmp_path / "plan.toml"), "--ray", "auto"])
    assert capsys.readouterr().err == "switchcost-fleet: this needs the package ray: pip install 'switchcost[ray]'\n"


@pytest.mark.parametrize("words", [["plan.toml"], ["gather"], ["plan.toml", "folder", "--local"], ["gather", "none"]])
def test_a_command_that_says_too_little_is_refused(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(words)
    assert "; " in capsys.readouterr().err


def option_names(words: list[str]) -> set[str]:
    return {word.partition("=")[0].removeprefix("--").replace("-", "_") for word in words if word.startswith("--")}


def test_the_manifest_and_the_role_measure_with_options_that_there_are() -> None:
    yaml = pytest.importorskip("yaml")
    (container,) = yaml.safe_load((DOCS / "daemonset.yml").read_text())["spec"]["template"]["spec"]["containers"]
    (script,) = container["args"]
    found = script.partition("switchcost measure ")[2].partition("touch")[0].split()
    role = {part: yaml.safe_load((DOCS / "role" / part / "main.yml").read_text()) for part in ("tasks", "defaults", "meta")}
    assert option_names(found) - {"record", "output"} == option_names(role["defaults"]["switchcost_measure"]) != set()
    assert option_names(found) <= {*_MEASURE, "output"}
    assert [task["name"] for task in role["tasks"] if "argv" in task.get("ansible.builtin.command", {})] == [
        "Check the host",
        "Measure",
    ]


@pytest.mark.ray
def test_each_node_of_a_cluster_is_measured_once(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    plan = tmp_path / "plan.toml"
    measured = 'mechanism = "fiber"\nquick = true\nmax-repetitions = 5\nbudget = "1s"\nno-counters = true\n'
    plan.write_text(f'records = "records"\n{measured}')
    ran = in_a_namespace("fleet_cluster.py", plan)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    records = sorted(tmp_path.glob("records/*.jsonl"))
    assert [path.stem.rpartition("-")[2] for path in records] == ["127.0.0.2", "127.0.0.3"], ran.stderr
    assert len(list(tmp_path.glob("records/*.doctor.json"))) == 2
    assert ran.stderr.count(" is measured\n") == 2, "the second run finds both done"
    # Other load may disturb a host; then the exit code is 3.
    assert len(re.findall(r"exit code [03]\n", ran.stdout)) == 2
    assert "Not measured" not in ran.stdout


def test_nodes_of_one_host_are_told_apart() -> None:
    nodes = [{"NodeManagerHostname": host, "NodeManagerAddress": f"10.0.0.{n}"} for n, host in enumerate(("a", "b", "b"))]
    assert list(named(nodes)) == ["a", "b-10.0.0.1", "b-10.0.0.2"]
