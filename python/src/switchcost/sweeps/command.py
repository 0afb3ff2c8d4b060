"""`switchcost-sweep`: runs the tasks of a plan."""

from __future__ import annotations

import argparse
import contextlib
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from .._command import end, say
from .._version import VERSION
from .engine import run
from .estimate import estimate
from .plan import Plan
from .result import Sweep
from .store import Store
from .task import Task, check_designs, cut
from .work import Outcome, costs, perform

_NAME = "switchcost-sweep"
_EXAMPLES = """\
examples:
  switchcost-sweep plan.toml                         on the CPUs of this machine
  switchcost-sweep plan.toml --ray auto              on the cluster of Ray that this machine belongs to
  switchcost-sweep plan.toml --list > tasks          each line is one task, for any engine: parallel < tasks
  switchcost-sweep plan.toml --dry-run               how long, and how many bytes

exit codes: 0 done, 1 an error, 2 wrong usage or plan, 3 some tasks failed
"""


def main(arguments: list[str] | None = None) -> None:
    """Runs the command, and exits with its exit code."""
    given = _parser().parse_args(arguments)
    end(_NAME, lambda: _do(given), "what is done is kept")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=_NAME,
        description="Simulate many designs on many traces; finished tasks are not run again",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"{_NAME} {VERSION}")
    parser.add_argument("plan", type=Path, help="the plan, a TOML file")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--ray", metavar="ADDRESS", help="run on this cluster of Ray: auto, HOST:PORT or ray://HOST:PORT")
    how.add_argument("--list", action="store_true", help="print a command for each open task; run none")
    how.add_argument("--dry-run", action="store_true", help="say how long it takes, and how many bytes; run none")
    how.add_argument("--only", metavar="KEY", help="run this task alone")
    return parser


def _do(given: argparse.Namespace) -> int:
    plan = Plan.read(given.plan)
    if given.list or given.dry_run or given.only:
        store = Store(plan.store)
        if given.only:
            return _run_task(given.only, plan, store)
        check_designs(plan)
        return _list_tasks(given, cut(plan, store), store, plan)
    # Messages of Ray go to standard error, so that standard output has the result alone.
    with contextlib.redirect_stdout(sys.stderr):
        result = run(plan, given.ray, tell=lambda line: say(_NAME, line))
    return _told(result)


def _list_tasks(given: argparse.Namespace, tasks: list[Task], store: Store, plan: Plan) -> int:
    if given.dry_run:
        print(estimate(tasks, store))
        return 0
    there = store.names("costs")
    for task in tasks:
        if costs(task) not in there:
            print(_line(given.plan, task, plan.traces.index(task.trace)))
    return 0


def _line(plan: Path, task: Task, number: int) -> str:
    """Returns the command of a task. The trace's number is before the key, so that the command reads only this trace."""
    return shlex.join(["switchcost-sweep", str(plan.resolve()), "--only", f"{number}-{task.key}"])


def _run_task(name: str, plan: Plan, store: Store) -> int:
    number, _, key = name.rpartition("-")
    traces = plan.traces[int(number) :][:1] if number.isdecimal() else plan.traces
    found = next((task for task in cut(plan, store, traces) if task.key == key), None)
    if found is None:
        say(_NAME, f"the plan has no task {name}: the plan, a trace or the version has changed; list the tasks again")
        return 2
    return _failures([perform(found, store)])


def _told(result: Sweep) -> int:
    states = [outcome.state for outcome in result.outcomes]
    counts = f"{states.count('done')} tasks done, {states.count('was-done')} were done before, {states.count('failed')} failed"
    print(f"{counts}: {result.store}/costs")
    return _failures(result.outcomes)


def _failures(outcomes: Sequence[Outcome]) -> int:
    failed = [outcome for outcome in outcomes if outcome.state == "failed"]
    for outcome in failed:
        say(_NAME, f"failed: {outcome.command}\n    {outcome.message}")
    return 3 if failed else 0


if __name__ == "__main__":
    main()
