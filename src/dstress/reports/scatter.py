"""Services by accuracy and sensitivity (SGD-X's figure 6), with names that do not lie on each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from dstress.reports.charts import ABOUT, ACCENT, INK, MUTED, Chart, Layout, Rows, altair

_HEIGHT, _LINE, _LETTER, _POINT = 340, 13, 6.0, 6
"""Pixels: the plot's height, a line of text, a letter, and the room of a point to each side."""

_DIRECTIONS = tuple((math.cos(turn * math.pi / 8), math.sin(turn * math.pi / 8)) for turn in range(16))
_DISTANCES, _FAR = (8, 13, 20, 28, 38, 50, 64, 80), 15
"""How far from its point a name may lie, and from where on a line must lead to it, in pixels."""

_HIDES, _CROSSES, _ROUNDS = 1000, 30, 3
"""What it costs, in pixels of distance, to lie on something and to cross a line; and how often names move."""


class Box(NamedTuple):
    """A rectangle, in pixels."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Box) -> bool:
        """Whether the two have room in common."""
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )

    def nearest_to(self, x: float, y: float) -> tuple[float, float]:
        """The point of the rectangle that is nearest to another."""
        return min(max(x, self.left), self.right), min(max(y, self.top), self.bottom)


_Option = tuple[float, Box, list[Box]]
"""A place for a name: how far it is, where it is, and the line that leads to it."""


def place_labels(points: Sequence[tuple[float, float, str]], width: float, height: float) -> list[Box]:
    """A box for the name of each point: near to it, inside the plot, and off other names, points and leading lines.

    Every name takes the cheapest place beside the others as they lie, and may think again when they have moved.
    """
    marks = [_around(x, y, _POINT) for x, y, _ in points]
    options: list[list[_Option]] = [
        [
            (distance, box, _leader(x, y, box))
            for distance in _DISTANCES
            for direction in _DIRECTIONS
            for box in [_beside(x, y, len(name) * _LETTER, direction, distance)]
        ]
        for x, y, name in points
    ]
    chosen = [possible[0] for possible in options]
    for _ in range(_ROUNDS):
        for at, possible in enumerate(options):
            others = [chosen[place] for place in range(len(points)) if place != at]
            names = [box for _, box, _ in others]
            lines = [step for _, _, leader in others for step in leader]

            def price(option: _Option, names: list[Box] = names, lines: list[Box] = lines) -> float:
                distance, box, leader = option
                hidden = sum(box.overlaps(other) for other in (*marks, *names))
                hidden += box.left < 0 or box.right > width or box.top < 0 or box.bottom > height
                crossed = sum(box.overlaps(step) for step in lines)
                crossed += sum(step.overlaps(other) for step in leader for other in (*marks, *names))
                return _HIDES * hidden + _CROSSES * crossed + distance

            chosen[at] = min(possible, key=price)
    return [box for _, box, _ in chosen]


def _around(x: float, y: float, room: float) -> Box:
    return Box(x - room, y - room, x + room, y + room)


def _leader(x: float, y: float, box: Box) -> list[Box]:
    """The line from a point to its name, in steps."""
    across, down = box.nearest_to(x, y)
    steps = int(math.dist((x, y), (across, down)) // 3)
    return [_around(x + (across - x) * at / steps, y + (down - y) * at / steps, 1) for at in range(1, steps)]


def _beside(x: float, y: float, size: float, direction: tuple[float, float], distance: float) -> Box:
    """A name at a distance from a point: to the right of it, to the left, or above or below its middle."""
    across, down = direction
    middle = x + across * (distance + size / 2)
    centre = y + down * (distance + _LINE / 2)
    return Box(middle - size / 2, centre - _LINE / 2, middle + size / 2, centre + _LINE / 2)


def scatter_chart(rows: Rows, titles: tuple[str, str], layout: Layout) -> Chart:
    """A point a service, by `mean` and `sensitivity`; on a phone, where names have no room, a row a service."""
    return _row_chart(rows, titles, layout) if layout.narrow else _point_chart(rows, titles, layout)


def _point_chart(rows: Rows, titles: tuple[str, str], layout: Layout) -> Chart:
    alt = altair()
    low, high = min(row["mean"] for row in rows), max(row["mean"] for row in rows)
    margin = max(1.0, (high - low) * 0.06)
    left, right, top = low - margin, high + margin, 1.08 * max(row["sensitivity"] for row in rows)
    bottom = -top / 10  # names have room below points that never vary
    across, down = layout.width / (right - left), _HEIGHT / (top - bottom)
    points = [((row["mean"] - left) * across, (top - row["sensitivity"]) * down, row["service"]) for row in rows]
    placed = [
        row
        | {
            "at": left + (box.left + box.right) / 2 / across,
            "level": top - (box.top + box.bottom) / 2 / down,
            "edge": left + box.nearest_to(x, y)[0] / across,
            "rim": top - box.nearest_to(x, y)[1] / down,
            "far": math.dist((x, y), box.nearest_to(x, y)) > _FAR,
        }
        for row, (x, y, _), box in zip(rows, points, place_labels(points, layout.width, _HEIGHT), strict=True)
    ]
    base = alt.Chart(alt.Data(values=placed))
    x_scale, y_scale = alt.Scale(domain=[left, right], nice=False), alt.Scale(domain=[bottom, top], nice=False)
    levels = alt.Axis(labelExpr="datum.value < 0 ? '' : datum.label")
    x = alt.X("mean:Q", title=titles[0], axis=layout.ticks(), scale=x_scale)
    y = alt.Y("sensitivity:Q", title=titles[1], axis=levels, scale=y_scale)
    point = base.mark_point(color=ACCENT, size=60, filled=True, opacity=1)
    leader = base.transform_filter("datum.far").mark_rule(color=MUTED, strokeWidth=0.7, aria=False)
    words = base.mark_text(fontSize=11, color=INK, aria=False)
    return alt.layer(
        point.encode(x=x, y=y, description=f"{ABOUT}:N"),
        leader.encode(x="mean:Q", y="sensitivity:Q", x2="edge:Q", y2="rim:Q"),
        words.encode(x="at:Q", y="level:Q", text="service:N"),
    ).properties(width=layout.width, height=_HEIGHT)


def _row_chart(rows: Rows, titles: tuple[str, str], layout: Layout) -> Chart:
    alt = altair()
    rows = sorted(rows, key=lambda row: -float(row["sensitivity"]))
    names = [row["service"] for row in rows]
    panels: list[Chart] = []
    for field, title in zip(("mean", "sensitivity"), titles, strict=True):
        y = layout.names_axis("service:N", names, sort=names)
        axis = alt.Axis(tickCount=3, titleLimit=layout.width // 2)
        base = alt.Chart(alt.Data(values=rows)).encode(
            x=alt.X(f"{field}:Q", title=title, axis=axis, scale=alt.Scale(zero=field == "sensitivity")),
            y=y
            if not panels
            else alt.Y("service:N", sort=names, axis=alt.Axis(labels=False, title=None, domain=False)),
            description=f"{ABOUT}:N",
        )
        point = base.mark_point(color=ACCENT, size=55, filled=True, opacity=1)
        panels.append(point.properties(width=layout.width // 2 - 8, height=alt.Step(layout.step - 4)))
    return alt.hconcat(*panels, spacing=16)
