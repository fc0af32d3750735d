"""Draw small charts as SVG text. Colours are CSS variables of the page, which has a light and a dark theme."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence

WIDTH, LEFT, TOP, BOTTOM = 1000, 46, 12, 34
SIDE = 190  # space for the names of runs
BARS_HEIGHT = 150
COLOURS = 6  # --c0 .. --c5


def colour(number: int) -> str:
    """Return the colour of a run; colours repeat after six."""
    return f"var(--c{number % COLOURS})"


def _tag(name: str, title: str = "", /, **attributes: str | float) -> str:
    """Return an element with a tooltip. Fractions have one decimal; in names of attributes, `_` is written for `-`."""
    pairs = {key.strip("_").replace("_", "-"): value for key, value in attributes.items()}
    written = [
        f'{key}="{value:.1f}"' if isinstance(value, float) else f'{key}="{value}"' for key, value in pairs.items()
    ]
    end = f"><title>{html.escape(title)}</title></{name}>" if title else "/>"
    return f"<{name} {' '.join(written)}{end}"


def _frame(width: int, height: int, body: Sequence[str], label: str) -> str:
    """Return an SVG element that scales with the page, labelled for screen readers."""
    return f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{html.escape(label)}">{"".join(body)}</svg>'


def _text(x: float, y: float, words: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(words)}</text>'


def _grid(width: int, height: int, low: float, high: float, steps: int = 4) -> list[str]:
    """Return horizontal lines with their values."""
    found = []
    for step in range(steps + 1):
        value = low + (high - low) * step / steps
        y = _height_of(value, low, high, height)
        found.append(_tag("line", x1=LEFT, x2=width - 8, y1=y, y2=y, class_="grid"))
        found.append(_text(LEFT - 6, y + 3.5, f"{value:.2f}", "end"))
    return found


def _height_of(value: float, low: float, high: float, height: int) -> float:
    """Return the y coordinate of a value."""
    return TOP + (height - TOP - BOTTOM) * (1 - (value - low) / ((high - low) or 1))


def bars(values: Mapping[str, float], label: str, number: int = 0, signed: bool = False) -> str:
    """Draw a bar per topic, with tooltips and about 16 labels. `signed` values have an axis from -x to x."""
    high = max([0.1, *map(abs, values.values())]) if signed else 1.0
    low = -high if signed else 0.0
    body = _grid(WIDTH, BARS_HEIGHT, low, high, 2)
    step = (WIDTH - LEFT - 8) / max(len(values), 1)
    zero = _height_of(0.0, low, high, BARS_HEIGHT)
    for index, (name, value) in enumerate(values.items()):
        x, y = LEFT + index * step, _height_of(value, low, high, BARS_HEIGHT)
        width, height = max(step - 1.2, 0.6), max(abs(y - zero), 0.8)
        fill = colour(number) if value >= 0 else "var(--bad)"
        tip = f"{name}: {value:.3f}"
        body.append(_tag("rect", tip, x=x + 0.6, y=min(y, zero), width=width, height=height, fill=fill))
        if index % max(1, len(values) // 16) == 0:
            body.append(_text(x + step / 2, BARS_HEIGHT - 14, name, "middle"))
    return _frame(WIDTH, BARS_HEIGHT, body, label)


def heat(rows: Mapping[str, Mapping[str, float]], label: str) -> str:
    """Draw a heat map: a row per run, a column per topic; the stronger the colour, the higher the value."""
    topics = list(next(iter(rows.values())))
    cell = 24
    step = (WIDTH - SIDE - 8) / max(len(topics), 1)
    height = len(rows) * cell + 30
    body = []
    for row, (name, values) in enumerate(rows.items()):
        body.append(_text(SIDE - 8, row * cell + 20, shorten(name, 28), "end"))
        for column, topic in enumerate(topics):
            value = values[topic]
            place = {"x": SIDE + column * step, "y": row * cell + 4, "width": max(step - 0.6, 0.6), "height": cell - 2}
            shade = {"fill": "var(--c0)", "fill_opacity": f"{min(max(value, 0), 1):.2f}"}
            body.append(_tag("rect", class_="cell", **place))
            body.append(_tag("rect", f"{name}, {topic}: {value:.3f}", **place, **shade))
    for column in range(0, len(topics), max(1, len(topics) // 14)):
        body.append(_text(SIDE + (column + 0.5) * step, height - 8, topics[column], "middle"))
    return _frame(WIDTH, height, body, label)


def boxes(rows: Mapping[str, Sequence[float]], label: str) -> str:
    """Draw a box plot: quartiles and mean of each run, every topic as a faint dot."""
    import numpy as np

    band = 34
    height = len(rows) * band + 34

    def across(value: float) -> float:
        return float(SIDE + (WIDTH - SIDE - 20) * value)

    body = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        body.append(_tag("line", x1=across(share), x2=across(share), y1=6, y2=height - 26, class_="grid"))
        body.append(_text(across(share), height - 10, f"{share:.2f}", "middle"))
    for row, (name, values) in enumerate(rows.items()):
        y, shade = row * band + 22, colour(row)
        low, half, high = (across(value) for value in np.quantile(values, [0.25, 0.5, 0.75]))
        mean = float(np.mean(values))
        body.append(_text(SIDE - 8, y + 4, shorten(name, 28), "end"))
        body += [_tag("circle", cx=across(value), cy=y, r=2.4, fill=shade, fill_opacity=".28") for value in values]
        box = {"x": low, "y": y - 9, "width": max(high - low, 1), "height": 18, "rx": 2}
        body.append(_tag("rect", **box, fill="none", stroke=shade, stroke_width=1.6))
        body.append(_tag("line", x1=half, x2=half, y1=y - 9, y2=y + 9, stroke=shade, stroke_width=2.6))
        body.append(_tag("circle", f"mean {mean:.3f}", cx=across(mean), cy=y, r=4, fill=shade))
    return _frame(WIDTH, height, body, label)


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
        body.append(_tag("polyline", name, points=path, fill="none", stroke=colour(number), stroke_width=2))
    return _frame(width, height, body, label)


def shorten(name: str, length: int) -> str:
    """Shorten a long name in the middle."""
    return name if len(name) <= length else f"{name[: length // 2]}…{name[-(length // 2 - 1) :]}"
