"""The study of metric bias as tables, as the plots of GCA's figure 4, and as one page that opens offline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from math import isnan
from typing import Any

import numpy as np
from msgspec.structs import asdict

from dstress.reports.charts import ACCENT, LOSS, Chart, Layout, Plot, Rows, altair, dot, marks_of, zero_line
from dstress.reports.small_page import SmallPage
from dstress.reports.tables import Table
from dstress.scoring.metrics.measures import measure_of
from dstress.scoring.scorecard import signature_text
from dstress.storage.file_names import file_name
from dstress.studies.bias import TRAITS, BiasStudy

_GROUPS = 10
"""A trait is cut into so many groups of dialogues for the line of means."""
_NEAR = 0.2
"""Dialogues that are this near to each other are one point, which grows with them: a page need not hold each."""
_SEVERAL = 20
"""Fewer dialogues than this in a group, and a mean of it says little: there are fewer groups then."""

_HIGHER, _LOWER, _ALIKE = "beyond chance higher", "beyond chance lower", "not told apart from it"

_Row = tuple[tuple[str, ...], dict[str, Any]]
"""The cells of a row, and the same as plain values."""


def _table(
    studies: Sequence[BiasStudy], columns: Sequence[str], rows_of: Callable[[BiasStudy], Iterable[_Row]], caption: str
) -> Table:
    """The rows of all systems, which have a column of their own where there are several."""
    rows = [(study.system, *row) for study in studies for row in rows_of(study)]
    start = 0 if len(studies) > 1 else 1
    cells = [(system, *cells)[start:] for system, cells, _ in rows]
    return Table(("system", *columns)[start:], cells, caption, [{"system": system} | own for system, _, own in rows])


def correlation_table(studies: Sequence[BiasStudy]) -> Table:
    """Every trait's correlation with every metric, of every system."""

    def rows(study: BiasStudy) -> Iterable[_Row]:
        for row in study.correlations:
            numbers = _signed(row.correlation), _ends(row.low, row.high), f"{row.dialogues:,}"
            yield (TRAITS[row.trait], row.metric, *numbers), asdict(row)

    left_out = ", ".join(f"{study.faultless:,} of {study.system}" for study in studies)
    caption = f"Pearson's, over dialogues with a mistake; without one, and left out: {left_out}"
    return _table(studies, ("trait", "metric", "#correlation", "#95 % interval", "#dialogues"), rows, caption)


def difference_table(studies: Sequence[BiasStudy]) -> Table:
    """How much more each metric goes with a trait than the metric that it is compared with."""

    def rows(study: BiasStudy) -> Iterable[_Row]:
        for test in study.differences:
            cells = TRAITS[test.trait], f"{test.metric} less {test.against}", _signed(test.difference)
            ends = _ends(test.low, test.high), "yes" if test.is_significant else "no"
            yield (*cells, *ends), asdict(test) | {"significant": test.is_significant}

    columns = ("trait", "correlations", "#difference", "#95 % interval", "beyond chance")
    return _table(studies, columns, rows, "intervals are Zou's, not corrected for their number")


def disagreement_table(studies: Sequence[BiasStudy], first: str, second: str, most: int) -> Table:
    """The dialogues on which two metrics disagree most."""

    def rows(study: BiasStudy) -> Iterable[_Row]:
        for row in study.disagreements(first, second, most):
            shown = [f"{measure_of(name).scale * row.values[name]:.2f}" for name in (first, second)]
            counts = f"{row.mistakes}", f"{row.turns}", _signed(row.to), f"{row.nu:.2f}"
            record = {"dialogue": row.dialogue, "difference": row.values[first] - row.values[second]}
            record |= {name: getattr(row, name) for name in ("mistakes", "turns", "to", "nu")} | row.values
            yield (row.dialogue, *shown, *counts), record

    columns = ("dialogue", f"#{first}", f"#{second}", "#mistakes", "#turns", "#TO", "#NU")
    return _table(studies, columns, rows, f"where {first} and {second} are farthest apart")


def _signed(number: float) -> str:
    return "-" if isnan(number) else f"{number:+.3f}"


def _ends(low: float, high: float) -> str:
    return "-" if isnan(low) else f"[{_signed(low)}, {_signed(high)}]"


def trait_plots(study: BiasStudy, first: str, second: str) -> list[Plot]:
    """Figures 4a and 4b: two metrics by each trait, a point a dialogue, and the means of groups of dialogues."""
    plots = []
    for figure, (trait, title) in zip("ab", TRAITS.items(), strict=True):
        points, means = _standardised(study, trait, first, second)
        if points:
            chart = partial(_trait_chart, points, means, title, (first, second))
            plots.append(Plot(f"bias-4{figure}-{file_name(study.system)}", f"{title} and {first}, {second}", chart))
    return plots


def _standardised(study: BiasStudy, trait: str, *metrics: str) -> tuple[Rows, Rows]:
    """Points and means of groups, each column less its mean and over its deviation, as in the paper's figure."""
    points: Rows = []
    means: Rows = []
    for metric in metrics:
        pairs = [(getattr(row, trait), row.values[metric]) for row in study.dialogues if not isnan(row.values[metric])]
        table = np.array(pairs, np.float64).reshape(-1, 2)
        if len(table) < 2 or (table.std(axis=0) == 0).any():
            continue
        table = (table - table.mean(axis=0)) / table.std(axis=0, ddof=1)
        near = Counter(map(tuple, (np.round(table / _NEAR) * _NEAR).tolist()))
        points += [{"metric": metric, "trait": x, "value": y, "dialogues": n} for (x, y), n in near.items()]
        ordered = table[np.argsort(table[:, 0], kind="stable")]
        for group in np.array_split(ordered, max(1, min(_GROUPS, len(table) // _SEVERAL))):
            if len(group) > 1:
                x, y = (float(column.mean()) for column in group.T)
                error = float(1.96 * group[:, 1].std(ddof=1) / len(group) ** 0.5)
                row = {"metric": metric, "trait": x, "value": y, "error": error, "dialogues": len(group)}
                means.append(row | {"low": y - error, "high": y + error})
    return points, means


def _trait_chart(points: Rows, means: Rows, title: str, metrics: tuple[str, str], layout: Layout) -> Chart:
    alt = altair()
    color = layout.colors("metric", dict(zip(metrics, (LOSS, ACCENT), strict=True)))
    scale = "in deviations" if layout.narrow else "in standard deviations from its mean"
    x = alt.X("trait:Q", title=f"{title}, {scale}", axis=layout.ticks())
    y = alt.Y("value:Q", title=f"metric, {scale}", axis=layout.ticks())
    base = marks_of(means, x=x, color=color)
    dots = marks_of(points, x=x, y=y, color=color).mark_point(filled=True, opacity=0.25, aria=False)
    size = alt.Size("dialogues:Q", scale=alt.Scale(range=[8, 160]), legend=None)
    reach = base.mark_rule(strokeWidth=2).encode(y=alt.Y("low:Q"), y2="high:Q")
    line = base.mark_line(strokeWidth=2).encode(y=y)
    layers = zero_line("y"), dots.encode(size=size), line, reach, dot(base, 60).encode(y=y)
    return alt.layer(*layers).properties(width=layout.width, height=280 if not layout.narrow else 220)


def conclusions(studies: Sequence[BiasStudy]) -> list[str]:
    """What the intervals say, in words, a line for each system and trait. Signed: nothing is said of strength."""
    sentences = []
    for study in studies:
        for trait, title in TRAITS.items():
            own = {test.metric: test.correlation for test in study.correlations if test.trait == trait}
            groups: dict[str, list[str]] = {_HIGHER: [], _LOWER: [], _ALIKE: []}
            differences = [test for test in study.differences if test.trait == trait and not isnan(own[test.against])]
            for test in sorted(differences, key=lambda test: -test.difference):
                side = _HIGHER if test.low > 0 else _LOWER if test.high < 0 else _ALIKE
                groups[side].append(f"{test.metric} {_signed(own[test.metric])}")
            if differences:
                against = differences[0].against
                parts = [f"{side}: {', '.join(names)}" for side, names in groups.items() if names]
                sentences.append(
                    f"{study.system}: {title} correlates with {against} at {_signed(own[against])}; {'; '.join(parts)}."
                )
    return sentences or ["There are too few dialogues with mistakes for any correlation."]


def bias_page(studies: Sequence[BiasStudy], first: str, second: str, most: int) -> SmallPage:
    """The page: what the intervals say, plots, tables."""
    about = (
        "Pale points are dialogues, larger where there are more; the full ones are means of groups of equal size, with "
        "95 % intervals."
    )
    plots = [(study.system, plot) for study in studies for plot in trait_plots(study, first, second)]
    tables = {
        "Correlations with where the mistakes lie": correlation_table(studies),
        "Differences between correlations": difference_table(studies),
        f"Where {first} and {second} disagree most": disagreement_table(studies, first, second, most),
    }
    return SmallPage(
        f"What moves {first} and {second}: {', '.join(study.system for study in studies)}",
        conclusions(studies),
        {f"{system}: {plot.title}. {about}": plot for system, plot in plots},
        tables,
        signatures=[signature_text(study.system, study.signature) for study in studies],
    )
