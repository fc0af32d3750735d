"""Draw small charts as SVG text. Colours are CSS variables of the page, which has a light and a dark theme."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence

LEFT, TOP, BOTTOM = 46, 12, 34
COLOURS = 6  # --c0 .. --c5


def colour(number: int) -> str:
    """Return the colour of a run; colours repeat after six."""
    return f"var(--c{number % COLOURS})"


def _frame(width: int, height: int, body: Sequence[str], label: str) -> str:
    """Return an SVG element that scales with the page, labelled for screen readers."""
    return (
        f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{html.escape(label)}">' + "".join(body) + "</svg>"
    )


def _text(x: float, y: float, words: str, anchor: str = "start", kind: str = "") -> str:
    """Return a label."""
    style = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{style}>{html.escape(words)}</text>'


def _grid(width: int, height: int, low: float, high: float, steps: int = 4) -> list[str]:
    """Return horizontal lines with their values."""
    lines = []
    for step in range(steps + 1):
        value = low + (high - low) * step / steps
        y = _height_of(value, low, high, height)
        lines.append(
            f'<line x1="{LEFT}" x2="{width - 8}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>'
            + _text(LEFT - 6, y + 3.5, f"{value:.2f}", "end")
        )
    return lines


def _height_of(value: float, low: float, high: float, height: int) -> float:
    """Return the y coordinate of a value."""
    return TOP + (height - TOP - BOTTOM) * (1 - (value - low) / ((high - low) or 1))


def bars(
    values: Mapping[str, float],
    label: str,
    number: int = 0,
    width: int = 1000,
    height: int = 150,
    low: float = 0.0,
    high: float = 1.0,
) -> str:
    """Draw a bar per topic, with tooltips and about 16 labels."""
    body = _grid(width, height, low, high, 2)
    step = (width - LEFT - 8) / max(len(values), 1)
    zero = _height_of(max(low, 0.0), low, high, height)
    for index, (name, value) in enumerate(values.items()):
        x, y = LEFT + index * step, _height_of(value, low, high, height)
        shade = colour(number) if value >= 0 else "var(--bad)"
        tip = f"<title>{html.escape(name)}: {value:.3f}</title>"
        body.append(
            f'<rect x="{x + 0.6:.1f}" y="{min(y, zero):.1f}" width="{max(step - 1.2, 0.6):.1f}" height="{max(abs(y - zero), 0.8):.1f}" fill="{shade}">{tip}</rect>'
        )
        if index % max(1, len(values) // 16) == 0:
            body.append(_text(x + step / 2, height - 14, name, "middle"))
    return _frame(width, height, body, label)


def heat(rows: Mapping[str, Mapping[str, float]], label: str, width: int = 1000) -> str:
    """Draw a heat map: a row per run, a column per topic; the stronger the colour, the higher the value."""
    topics = list(next(iter(rows.values())))
    side, cell = 190, 24
    step = (width - side - 8) / max(len(topics), 1)
    height = len(rows) * cell + 30
    body = []
    for row, (name, values) in enumerate(rows.items()):
        body.append(_text(side - 8, row * cell + 20, shorten(name, 28), "end"))
        for column, topic in enumerate(topics):
            value = values[topic]
            tip = f"<title>{html.escape(name)}, {html.escape(topic)}: {value:.3f}</title>"
            spot = f'x="{side + column * step:.1f}" y="{row * cell + 4}" width="{max(step - 0.6, 0.6):.1f}" height="{cell - 2}"'
            body.append(
                f'<rect {spot} class="cell"/><rect {spot} fill="var(--c0)" fill-opacity="{min(max(value, 0), 1):.2f}">{tip}</rect>'
            )
    for column in range(0, len(topics), max(1, len(topics) // 14)):
        body.append(_text(side + (column + 0.5) * step, height - 8, topics[column], "middle"))
    return _frame(width, height, body, label)


def boxes(rows: Mapping[str, Sequence[float]], label: str, width: int = 1000) -> str:
    """Draw a box plot: quartiles and mean of each run, every topic as a faint dot."""
    import numpy as np

    side, band = 190, 34
    height = len(rows) * band + 34
    scale = width - side - 20
    body = []
    for step in range(5):
        x = side + scale * step / 4
        body.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="6" y2="{height - 26}" class="grid"/>'
            + _text(x, height - 10, f"{step / 4:.2f}", "middle")
        )
    for row, (name, values) in enumerate(rows.items()):
        middle = row * band + 22
        low, half, high = np.quantile(values, [0.25, 0.5, 0.75])
        body.append(_text(side - 8, middle + 4, shorten(name, 28), "end"))
        body += [
            f'<circle cx="{side + scale * value:.1f}" cy="{middle}" r="2.4" fill="{colour(row)}" fill-opacity=".28"/>'
            for value in values
        ]
        body.append(
            f'<rect x="{side + scale * low:.1f}" y="{middle - 9}" width="{max(scale * (high - low), 1):.1f}" height="18" rx="2" fill="none" stroke="{colour(row)}" stroke-width="1.6"/>'
        )
        body.append(
            f'<line x1="{side + scale * half:.1f}" x2="{side + scale * half:.1f}" y1="{middle - 9}" y2="{middle + 9}" stroke="{colour(row)}" stroke-width="2.6"/>'
        )
        body.append(
            f'<circle cx="{side + scale * float(np.mean(values)):.1f}" cy="{middle}" r="4" fill="{colour(row)}"><title>mean {np.mean(values):.3f}</title></circle>'
        )
    return _frame(width, height, body, label)


def lines(
    series: Mapping[str, Sequence[tuple[float, float]]],
    label: str,
    ticks: Sequence[tuple[float, str]],
    width: int = 340,
    height: int = 230,
) -> str:
    """Draw curves; `ticks` are the marks of the horizontal axis."""
    points = [point for row in series.values() for point in row]
    left, right = min(x for x, _ in points), max(x for x, _ in points)
    top = max(0.05, min(1.0, max(y for _, y in points) * 1.1))
    body = _grid(width, height, 0.0, top)

    def across(x: float) -> float:
        return LEFT + (width - LEFT - 22) * (x - left) / ((right - left) or 1)

    body += [_text(across(x), height - 16, name, "middle") for x, name in ticks if left <= x <= right]
    for number, (name, row) in enumerate(series.items()):
        path = " ".join(f"{across(x):.1f},{_height_of(y, 0.0, top, height):.1f}" for x, y in row)
        body.append(
            f'<polyline points="{path}" fill="none" stroke="{colour(number)}" stroke-width="2"><title>{html.escape(name)}</title></polyline>'
        )
    return _frame(width, height, body, label)


def shorten(name: str, length: int) -> str:
    """Shorten a long name in the middle."""
    return name if len(name) <= length else f"{name[: length // 2]}…{name[-(length // 2 - 1) :]}"
