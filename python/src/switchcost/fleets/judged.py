"""Which hosts differ: each comparison is the program's, and of all of them together no more are wrong than was allowed.

Hosts with the same facts are of a kind. Within a kind each host is compared with all others of it, and those that differ are taken
out until no more do; where hosts differ so much among themselves that they would hide each other, each is compared with the
most typical one instead. Then what is left of each kind is compared with what is left of the largest.

Each round may err by half of what is left of the error that was allowed, and shares it out among its comparisons (Bonferroni), as
each comparison does among its costs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

from ..comparison import Pair
from .facts import Fact, facts_between, kinds
from .hosts import Host
from .sides import compared

#: Runs of one machine differ by 2 % where nothing tells more, which is the program's own assumption: hosts that differ by twice as
#: much are not alike.
MOST_ALIKE = 0.04
#: Hosts are taken out of their kind so often.
_ROUNDS = 4


@dataclass(frozen=True)
class Question:
    """Whether these hosts differ from those."""

    hosts: tuple[Host, ...]
    others: tuple[Host, ...]
    #: These are a kind and the others another; or of one kind, and the others are the rest of it, its only other host, or its most
    #: typical one.
    of: Literal["kinds", "rest", "two", "typical"]

    @property
    def concerns(self) -> tuple[Host, ...]:
        """Whom a difference is about: of two that differ nothing says which of them is unusual."""
        return (*self.hosts, *self.others) if self.of == "two" else self.hosts


@dataclass(frozen=True)
class Finding:
    """What a comparison said, and the facts that differ."""

    question: Question
    pairs: tuple[Pair, ...]
    facts: tuple[Fact, ...]
    #: How much runs, and hosts among each other, differ beyond their own intervals: a standard deviation, relative to the cost.
    run_spread: float

    @property
    def different(self) -> tuple[Pair, ...]:
        """The costs that are slower or faster."""
        return tuple(pair for pair in self.pairs if pair.verdict in ("slower", "faster"))


def judged(hosts: Sequence[Host], confidence: float) -> list[Finding]:
    """Everything that was asked of hosts that were not disturbed, with its answer: the last one of each."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return _Judge(pool, 1 - confidence).judge([tuple(kind) for kind in kinds(hosts, pool)])


class _Judge:
    def __init__(self, pool: ThreadPoolExecutor, error: float) -> None:
        self._pool = pool
        self._error = error

    def judge(self, found: Sequence[tuple[Host, ...]]) -> list[Finding]:
        """Within kinds first, so that what is left of them is alike."""
        within: dict[tuple[Host, ...], Finding] = {}
        left = list(found)
        for _ in range(_ROUNDS):
            answers = self._within(left)
            within.update({finding.question.hosts: finding for finding in answers})
            out = {host.name for finding in answers if finding.different for host in finding.question.hosts}
            if not out:
                break
            left = [tuple(host for host in kind if host.name not in out) for kind in left]
        rest = [kind for kind in left if kind]
        return [*self._ask([Question(kind, rest[0], "kinds") for kind in rest[1:]]), *within.values()]

    def _within(self, found: Sequence[tuple[Host, ...]]) -> list[Finding]:
        """Each host against the others of its kind; where none stands out of a wide field, against its most typical host."""
        answers = self._ask([question for kind in found for question in _of_each(kind)])
        wide = [finding.question for finding in answers if finding.run_spread > MOST_ALIKE and finding.question.of == "rest"]
        if not wide or any(finding.different for finding in answers):
            return answers
        kept = [finding for finding in answers if finding.question not in wide]
        return [*kept, *self._ask([question for one in wide for question in _against_typical(one)])]

    def _ask(self, questions: Sequence[Question]) -> list[Finding]:
        if not questions:
            return []
        self._error /= 2
        of_each = 1 - self._error / len(questions)
        return list(self._pool.map(lambda question: _answer(question, of_each), questions))


def _of_each(kind: tuple[Host, ...]) -> list[Question]:
    if len(kind) == 2:
        return [Question(kind[:1], kind[1:], "two")]
    hosts = kind if len(kind) > 2 else ()
    return [Question((host,), tuple(other for other in kind if other is not host), "rest") for host in hosts]


def _against_typical(question: Question) -> list[Question]:
    typical = _typical((*question.hosts, *question.others))
    return [] if typical in question.hosts else [Question(question.hosts, (typical,), "typical")]


def _typical(hosts: Iterable[Host]) -> Host:
    """The host whose costs are nearest to the middle of all, by their ranks."""
    by_name = sorted(hosts, key=lambda host: host.name)
    distance = dict.fromkeys((host.name for host in by_name), 0.0)
    for number in range(min(len(host.costs) for host in by_name)):
        ranked = sorted(by_name, key=lambda host, number=number: host.costs[number])  # type: ignore[misc]
        for rank, host in enumerate(ranked):
            distance[host.name] += abs(rank - (len(ranked) - 1) / 2)
    return min(by_name, key=lambda host: distance[host.name])


def _answer(question: Question, confidence: float) -> Finding:
    comparison = compared(question.others, question.hosts, confidence)
    spread = comparison.json["run_spread"] or {"share": 0.0}
    facts = facts_between(comparison, question.hosts, question.others)
    return Finding(question, comparison.pairs, facts, float(spread["share"]))
