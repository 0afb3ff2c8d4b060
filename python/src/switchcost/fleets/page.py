"""Writes a fleet as a page of HTML: tables, and for each difference the program's page of the comparison."""

from __future__ import annotations

import html
import urllib.parse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .. import _running
from ..errors import StoreError
from ..measurement import Result
from .hosts import name_of
from .judged import Finding
from .prose import amount, answer, cost, names, notes, printable, title, values
from .sides import sides

if TYPE_CHECKING:
    from .fleet import Fleet

_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>
<style>
:root {{ color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif }}
body {{ max-width: 72em; margin: 2em auto; padding: 0 1em }}
table {{ border-collapse: collapse; margin: 1em 0 }}
th, td {{ text-align: left; vertical-align: top; padding: .2em 1em .2em 0; border-bottom: 1px solid #8884 }}
</style>
<h1>{title}</h1>
{body}
</html>
"""


def save(fleet: Fleet, path: Path) -> Path:
    """Writes the page, and the pages of the comparisons into a folder of the same name beside it."""
    different = [finding for finding in fleet.findings if finding.different]
    try:
        links = [_comparison(finding, path.with_suffix(".files"), number) for number, finding in enumerate(different, 1)]
        body = "\n".join(_sections(fleet, different, links))
        path.write_text(_PAGE.format(title=html.escape(answer(fleet)), body=body), encoding="utf-8")
    except OSError as error:
        raise StoreError(f"{path} cannot be written ({error.strerror}); name another file with --output") from None
    return path


def _comparison(finding: Finding, folder: Path, number: int) -> str:
    """Writes the program's page of a comparison, and returns its path relative to the main page."""
    folder.mkdir(exist_ok=True)
    page = folder / f"{number}.html"
    with sides(finding.question.others, finding.question.hosts) as (others, hosts):
        _running.run(["compare", str(others), str(hosts), "--format=html", f"--output={page}"])
    return f"{folder.name}/{page.name}"


def _sections(fleet: Fleet, different: Sequence[Finding], links: Sequence[str]) -> Iterator[str]:
    rows = [
        [title(finding), cost(pair), amount(pair), _facts(finding), link]
        for finding, link in zip(different, links, strict=True)
        for pair in finding.different
    ]
    yield _table("Hosts that differ", ("hosts", "cost", "over the others'", "by which fact", ""), rows)
    alike = [[names(one.question.hosts), _facts(one)] for one in fleet.findings if one.facts and not one.different]
    yield _table("Other facts, and no cost that is shown to differ", ("hosts", "fact"), alike)
    left_out = [(host.name, host.disturbed or "") for host in fleet.disturbed]
    yield _table("Disturbed, and in no comparison", ("host", "why"), left_out)
    yield _table("Not measured", ("host", "why"), [(lost.name, lost.why) for lost in fleet.lost])
    yield from (f"<p>{html.escape(note)}</p>" for note in notes(fleet))
    yield _table("Costs of each host", ("host", "core clock", "cost of a switch, by case"), list(_costs(fleet)))


def _facts(finding: Finding) -> str:
    return "; ".join(f"{fact.what}: {values(fact)}" for fact in finding.facts) or "none that is known"


def _costs(fleet: Fleet) -> Iterator[tuple[str, str, str]]:
    for host in sorted([*fleet.hosts, *fleet.disturbed], key=lambda host: host.name):
        clock = f"{host.clock_hertz / 1e9:.2f} GHz" if host.clock_hertz else "not known"
        yield host.name, clock, "; ".join(_cost(result) for record in host.records for result in record.results)


def _cost(result: Result) -> str:
    estimate = result.total_ns or result.direct_ns
    return f"{name_of(result)}: {f'{estimate} ns' if estimate else 'not measured'}"


def _table(heading: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
    body = "\n".join(f"<tr>{''.join(_cell(cell) for cell in row)}</tr>" for row in rows)
    return f"<h2>{html.escape(heading)}</h2>\n<table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>"


def _cell(text: str) -> str:
    if text.endswith(".html"):
        return f'<td><a href="{html.escape(urllib.parse.quote(text))}">all of it</a></td>'
    return f"<td>{html.escape(printable(text))}</td>"
