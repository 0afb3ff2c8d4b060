"""Finds the hosts that differ, by comparisons of the program whose error rate together stays within the given limit.

Hosts with the same facts are of a kind. Within a kind, each host is compared with all other hosts, and hosts that differ are
removed, until no more do. If hosts differ so much from each other that they would hide differences, each is compared with the most
typical host instead. Finally the rest of each kind is compared with the rest of the largest kind.

Each round gets half of the remaining error rate, and divides it among its comparisons (Bonferroni), as each comparison does among
its costs.
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

#: Spread of hosts above which they are not alike: twice the 2 % by which the program assumes that runs of one machine differ.
MOST_ALIKE = 0.04
#: Maximum number of rounds in which hosts are removed from their kinds.
_ROUNDS = 4


@dataclass(frozen=True)
class Question:
    """The question whether some hosts differ from others."""

    hosts: tuple[Host, ...]
    others: tuple[Host, ...]
    #: What the others are: another kind (kinds); or of the same kind, the rest (rest), the only other host (two), or the most
    #: typical host (typical).
    of: Literal["kinds", "rest", "two", "typical"]

    @property
    def concerns(self) -> tuple[Host, ...]:
        """The hosts to which a difference applies: both of two hosts, because it is unknown which of them is unusual."""
        return (*self.hosts, *self.others) if self.of == "two" else self.hosts


@dataclass(frozen=True)
class Finding:
    """The result of a comparison, and the facts that differ."""

    question: Question
    pairs: tuple[Pair, ...]
    facts: tuple[Fact, ...]
    #: Spread of runs and hosts beyond their own intervals: a standard deviation, relative to the cost.
    run_spread: float

    @property
    def different(self) -> tuple[Pair, ...]:
        """The costs with the verdict slower or faster."""
        return tuple(pair for pair in self.pairs if pair.verdict in ("slower", "faster"))


def judged(hosts: Sequence[Host], confidence: float) -> list[Finding]:
    """Returns the last comparison of each host within its kind, and the comparisons between kinds."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return _Judge(pool, 1 - confidence).judge([tuple(kind) for kind in kinds(hosts, pool)])


class _Judge:
    def __init__(self, pool: ThreadPoolExecutor, error: float) -> None:
        self._pool = pool
        self._error = error

    def judge(self, found: Sequence[tuple[Host, ...]]) -> list[Finding]:
        """Compares within kinds first, so that the remaining hosts of each kind are alike."""
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
        """Compares each host with the others of its kind, or with the typical one if hosts spread widely and none differs."""
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
    """Returns the host whose costs have ranks nearest to the middle."""
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
