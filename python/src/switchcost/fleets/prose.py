"""Formats a fleet as text. Names come from machines, so unprintable characters are shown by their numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ..comparison import Pair
from .facts import Fact
from .hosts import Host, case_name
from .judged import MOST_ALIKE, Finding

if TYPE_CHECKING:
    from .fleet import Fleet

_NAMED = 8


def text(fleet: Fleet) -> str:
    """Returns a block for each difference, and lists of what was left out."""
    blocks = [answer(fleet), *(_difference(finding) for finding in fleet.findings if finding.different)]
    return printable("\n\n".join([*blocks, *_beside(fleet), *notes(fleet)]))


def answer(fleet: Fleet) -> str:
    """Returns the first sentence: how many hosts differ."""
    count, judged = len(fleet.different), len(fleet.hosts)
    if judged < 2:
        return f"{_hosts(judged)} without a disturbance: nothing to compare with."
    if all(pair.verdict is None for finding in fleet.findings for pair in finding.pairs):
        return f"No cost of the {judged} hosts could be compared."
    if not count:
        return f"No difference is shown between {judged} hosts."
    verb = "differs" if count == 1 else "differ"
    return f"{count} of {judged} hosts {verb} from the others beyond {'its interval' if count == 1 else 'their intervals'}."


def _difference(finding: Finding) -> str:
    rows = [(cost(pair), amount(pair)) for pair in finding.different]
    rows += [(fact.what, values(fact)) for fact in finding.facts] or [("by no fact that is known", "")]
    width = max(len(name) for name, _ in rows)
    return "\n".join([f"{title(finding)}:", *(f"  {name:{width}}  {value}".rstrip() for name, value in rows)])


def title(finding: Finding) -> str:
    """Returns a title that names both sides of a comparison."""
    others = finding.question.others
    against = {
        "kinds": f"{_hosts(len(others))} with other facts",
        "rest": f"{_hosts(len(others))} with the same facts",
        "two": f"{others[0].name}, with the same facts: one of the two is unusual",
        "typical": f"{others[0].name}, the most typical with the same facts",
    }
    return f"{names(finding.question.hosts)} against {against[finding.question.of]}"


def cost(pair: Pair) -> str:
    """Returns the name of a compared case, as on the program's screen."""
    return case_name(*(pair.about.get(condition) for condition in ("mechanism", "between", "tasks", "size_bytes")))


def amount(pair: Pair) -> str:
    """Returns the ratio of a cost with its interval and verdict, or the reason why there is none."""
    if pair.ratio is None or pair.low is None or pair.high is None:
        return pair.why or pair.outcome
    return f"{pair.ratio:.3f} times theirs ({pair.low:.3f} to {pair.high:.3f}): {pair.verdict}"


def values(fact: Fact) -> str:
    """Returns the values of a fact on both sides."""
    return f"{' or '.join(fact.theirs)}; theirs {' or '.join(fact.others)}"


def _beside(fleet: Fleet) -> Iterator[str]:
    alike = [finding for finding in fleet.findings if finding.facts and not finding.different]
    if alike:
        rows = [f"  {names(finding.question.hosts)}: {fact.what}: {values(fact)}" for finding in alike for fact in finding.facts]
        yield "\n".join(["Other facts, and no cost that is shown to differ:", *rows])
    yield from _listed("Disturbed, and in no comparison", ((host.name, host.disturbed or "") for host in fleet.disturbed))
    yield from _listed("Not measured", ((lost.name, lost.why) for lost in fleet.lost))
    yield from _listed("Not comparable", _open(fleet.findings))


def _open(findings: Iterable[Finding]) -> list[tuple[str, str]]:
    """Returns the costs without a verdict, with the hosts of each reason together."""
    hosts: dict[str, list[Host]] = {}
    for finding in findings:
        for pair in finding.pairs:
            if pair.verdict is None:
                hosts.setdefault(f"{cost(pair)}: {pair.why}", []).extend(finding.question.hosts)
    return [(names(of), why) for why, of in hosts.items()]


def _listed(heading: str, rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    lines = [f"  {name}: {why}" for name, why in rows]
    if lines:
        yield "\n".join([f"{heading}:", *lines])


def notes(fleet: Fleet) -> list[str]:
    """Returns notes on the confidence and limits of the verdicts."""
    if not fleet.findings:
        return []
    lines = [f"All verdicts together hold with {fleet.confidence * 100:g} % confidence. Costs are compared at one clock."]
    spread = max((finding.run_spread for finding in fleet.findings if finding.question.of == "rest"), default=0.0)
    if spread > MOST_ALIKE:
        lines.append(
            f"Hosts with the same facts differ by up to {spread * 100:.1f} % (standard deviation) in addition to their own "
            "intervals; runs of one machine usually differ by 2 %. So small differences cannot be shown among them. The page "
            "has the costs of each."
        )
    return lines


def names(hosts: Sequence[Host]) -> str:
    """Returns the names of the hosts; if there are many, of the first eight."""
    named = ", ".join(host.name for host in hosts[:_NAMED])
    return named if len(hosts) <= _NAMED else f"{named} and {len(hosts) - _NAMED} more"


def _hosts(count: int) -> str:
    return f"{count} host{'' if count == 1 else 's'}"


def printable(text: str) -> str:
    """Replaces characters that could move a terminal's cursor by their numbers."""
    return "".join(sign if sign.isprintable() or sign == "\n" else f"\\x{ord(sign):02x}" for sign in text)
