"""`switchcost-fleet`: makes one measurement on many hosts, and finds those that differ."""

from __future__ import annotations

import argparse
import contextlib
import platform
import sys
from collections.abc import Iterator
from pathlib import Path

from .._command import end, say
from ..errors import PlanError
from .fleet import Fleet, gather
from .hosts import Lost, names_in
from .node import Found, commands, keep, look
from .plan import Plan, confidence

_NAME = "switchcost-fleet"
_EXAMPLES = """\
examples:
  switchcost-fleet plan.toml --ray auto              on each node of the cluster of Ray that this machine belongs to
  switchcost-fleet plan.toml --local                 on this host; again on each that shares the folder of records
  switchcost-fleet plan.toml --list                  the commands for one host, for whatever runs them on many
  switchcost-fleet gather records/ -o fleet.html     hosts by records that came another way: records/HOST.jsonl

exit codes: 0 done, 1 an error, 2 wrong usage or plan, 3 some hosts were disturbed or not measured
"""


def main(arguments: list[str] | None = None) -> None:
    """Runs the command, and exits with its exit code."""
    given = _parser().parse_args(arguments)
    end(_NAME, lambda: _do(given), "hosts that are measured are kept")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=_NAME,
        usage="%(prog)s plan.toml (--ray ADDRESS | --local | --list) [-o FILE]\n"
        "       %(prog)s gather FOLDER [--confidence PERCENT] [-o FILE]",
        description="Measure each host of a fleet once, and say which of them differ, and by which fact",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("plan", help="the plan, a TOML file; or the word gather")
    parser.add_argument("folder", nargs="?", type=Path, help="the folder of records to gather")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--ray", metavar="ADDRESS", help="each node of this cluster of Ray: auto, HOST:PORT or ray://HOST:PORT")
    how.add_argument("--local", action="store_true", help="this host")
    how.add_argument("--list", action="store_true", help="print the commands for a host; run none")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="write a page of HTML, too")
    parser.add_argument("--confidence", metavar="PERCENT", help="of all comparisons together [default: the plan's, or 90%%]")
    return parser


def _do(given: argparse.Namespace) -> int:
    if given.plan == "gather":
        return _gathered(given)
    if given.folder is not None or not (given.ray or given.local or given.list):
        raise PlanError("none of --ray, --local and --list is given; give one, or gather and a folder of records")
    plan = Plan.read(given.plan)
    if given.list:
        print("\n".join(commands(plan.measure, Path(plan.records))))
        return 0
    # Messages of Ray go to standard error, so that standard output has the result alone.
    with contextlib.redirect_stdout(sys.stderr):
        lost = list(_measured(plan, given.ray))
    share = confidence(given.confidence) if given.confidence else plan.confidence
    return _told(gather(plan.records, confidence=share, lost=lost), given.output)


def _gathered(given: argparse.Namespace) -> int:
    if given.folder is None or given.ray or given.local or given.list:
        raise PlanError("gather takes one folder of records; write switchcost-fleet gather FOLDER")
    return _told(gather(given.folder, confidence=confidence(given.confidence or "90%")), given.output)


def _measured(plan: Plan, ray: str | None) -> Iterator[Lost]:
    """Measures the hosts without a record, keeps their records, and yields the hosts that gave none."""
    folder = Path(plan.records)
    done = names_in(folder)
    for name, found in _asked(plan, ray, done):
        if isinstance(found, Found):
            keep(found, name, folder)
            say(_NAME, f"{name} is measured")
        else:
            yield Lost(name, found)


def _asked(plan: Plan, ray: str | None, done: set[str]) -> Iterator[tuple[str, Found | str]]:
    if ray is None:
        name = platform.node()
        return iter(() if name in done else [(name, look(plan.measure))])
    from .on_ray import on_ray  # noqa: PLC0415

    return on_ray(plan.measure, ray, done)


def _told(fleet: Fleet, page: Path | None) -> int:
    print(fleet)
    if page is not None:
        fleet.save_page(page)
    return 3 if fleet.disturbed or fleet.lost else 0


if __name__ == "__main__":
    main()
