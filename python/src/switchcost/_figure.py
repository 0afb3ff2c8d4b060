"""Draws a figure for notebooks: the intervals of the main numbers on one scale, as SVG without scripts."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

_LABEL, _SIGN, _SCALE, _ROW = 40, 7, 400, 20


@dataclass(frozen=True)
class Bar:
    """An interval and its name. If the estimate is None, no mark is drawn for it."""

    label: str
    low: float
    high: float
    estimate: float | None


def svg(unit: str, bars: Sequence[Bar], origin: float = 0.0) -> str:
    """Draws a line for each interval and a dot for its estimate, on a scale that includes the origin; empty without bars."""
    if not bars:
        return ""
    least, most = min(origin, *(bar.low for bar in bars)), max(origin, *(bar.high for bar in bars))
    left = _SIGN * min(_LABEL, max(len(bar.label) for bar in bars)) + 10
    stretch = _SCALE / ((most - least) or 1)
    zero, bottom = left + (origin - least) * stretch, _ROW * len(bars)
    drawn = [f'<line x1="{zero:.1f}" x2="{zero:.1f}" y1="0" y2="{bottom}" opacity="0.4"/>']
    for number, bar in enumerate(bars):
        y, low, high = _ROW * number + _ROW / 2, *(left + (end - least) * stretch for end in (bar.low, bar.high))
        name = bar.label if len(bar.label) <= _LABEL else bar.label[: _LABEL - 1] + "…"
        drawn.append(_text(left - 10, y + 4, "end", name))
        drawn.append(f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{y}" y2="{y}" stroke-width="3"/>')
        if bar.estimate is not None:
            drawn.append(f'<circle cx="{left + (bar.estimate - least) * stretch:.1f}" cy="{y}" r="4" fill="currentColor"/>')
    drawn += [_text(left + (at - least) * stretch, bottom + 14, "middle", f"{at:.4g}") for at in sorted({least, origin, most})]
    drawn.append(_text(left + _SCALE + 30, bottom + 14, "start", unit))
    size = f'width="{left + _SCALE + 90}" height="{bottom + _ROW}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} stroke="currentColor" font-size="12">{"".join(drawn)}</svg>'


def _text(x: float, y: float, anchor: str, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y}" text-anchor="{anchor}" fill="currentColor" stroke="none">{html.escape(text)}</text>'
