"""The study of metric bias as tables, as the plots of GCA's figure 4, and as one page that opens offline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import isnan

import msgspec
import numpy as np

from dstress.analysis.mistakes import TRAITS, BiasStudy
from dstress.metrics.measures import measure_of
from dstress.reports.charts import (
    ACCENT,
    LOSS,
    MUTED,
    NARROW,
    WIDE,
    Chart,
    Layout,
    Plot,
    Rows,
    altair,
    draw_adaptive_svg,
)
from dstress.reports.tables import Table
from dstress.scoring.scorecard import signature_text
from dstress.storage.file_names import file_name

_GROUPS = 10
"""A trait is cut into so many groups of dialogues for the line of means."""
_NEAR = 0.2
"""Dialogues that are this near to each other are one point, which grows with them: a page need not hold each."""
_SEVERAL = 20
"""Fewer dialogues than this in a group, and a mean of it says little: there are fewer groups then."""

_HIGHER, _LOWER, _ALIKE = "beyond chance higher", "beyond chance lower", "not told apart from it"


def correlation_table(studies: Sequence[BiasStudy]) -> Table:
    """Every trait's correlation with every metric, of every system."""
    found = [(study, one) for study in studies for one in study.correlations]
    rows = [
        (
            *_named(study, studies),
            TRAITS[one.trait],
            one.metric,
            _signed(one.correlation),
            _ends(one.low, one.high),
            f"{one.dialogues:,}",
        )
        for study, one in found
    ]
    records = [{"system": study.system} | msgspec.structs.asdict(one) for study, one in found]
    columns = (*_system(studies), "trait", "metric", "#correlation", "#95 % interval", "#dialogues")
    left_out = ", ".join(f"{study.faultless:,} of {study.system}" for study in studies)
    caption = f"Pearson's, over dialogues with a mistake; without one, and left out: {left_out}"
    return Table(columns, rows, caption, records)


def difference_table(studies: Sequence[BiasStudy]) -> Table:
    """How much more each metric goes with a trait than the metric that it is compared with."""
    found = [(study, one) for study in studies for one in study.differences]
    rows = [
        (
            *_named(study, studies),
            TRAITS[one.trait],
            f"{one.metric} less {one.against}",
            _signed(one.difference),
            _ends(one.low, one.high),
            "yes" if one.is_significant else "no",
        )
        for study, one in found
    ]
    records = [
        {"system": study.system} | msgspec.structs.asdict(one) | {"significant": one.is_significant}
        for study, one in found
    ]
    columns = (*_system(studies), "trait", "correlations", "#difference", "#95 % interval", "beyond chance")
    caption = "intervals are Zou's, not corrected for their number"
    return Table(columns, rows, caption, records)


def disagreement_table(studies: Sequence[BiasStudy], first: str, second: str, most: int) -> Table:
    """The dialogues on which two metrics disagree most."""
    rows, records = [], []
    for study in studies:
        for one in study.disagreements(first, second, most):
            values = [one.values[name] for name in (first, second)]
            shown = [f"{measure_of(name).scale * one.values[name]:.2f}" for name in (first, second)]
            traits = _signed(one.to), f"{one.nu:.2f}"
            rows.append((*_named(study, studies), one.dialogue, *shown, f"{one.mistakes}", f"{one.turns}", *traits))
            records.append(
                {"system": study.system, "dialogue": one.dialogue, "difference": values[0] - values[1]}
                | {"mistakes": one.mistakes, "turns": one.turns, "to": one.to, "nu": one.nu, **one.values}
            )
    columns = (*_system(studies), "dialogue", f"#{first}", f"#{second}", "#mistakes", "#turns", "#TO", "#NU")
    return Table(columns, rows, f"where {first} and {second} are farthest apart", records)


def _system(studies: Sequence[BiasStudy]) -> tuple[str, ...]:
    return ("system",) if len(studies) > 1 else ()


def _named(study: BiasStudy, studies: Sequence[BiasStudy]) -> tuple[str, ...]:
    return (study.system,) if len(studies) > 1 else ()


def _signed(number: float) -> str:
    return "-" if isnan(number) else f"{number:+.3f}"


def _ends(low: float, high: float) -> str:
    return "-" if isnan(low) else f"[{_signed(low)}, {_signed(high)}]"


def trait_plots(study: BiasStudy, first: str, second: str) -> list[Plot]:
    """Figures 4a and 4b: two metrics by each trait, a point a dialogue, and the means of groups of dialogues."""
    plots = []
    for figure, (trait, title) in zip("ab", TRAITS.items(), strict=True):
        points, means = _standardised(study, trait, first, second)

        def chart(layout: Layout, points: Rows = points, means: Rows = means, title: str = title) -> Chart:
            return _trait_chart(points, means, (title, first, second), layout)

        if points:
            plots.append(Plot(f"bias-4{figure}-{file_name(study.system)}", f"{title} and {first}, {second}", chart))
    return plots


def _standardised(study: BiasStudy, trait: str, first: str, second: str) -> tuple[Rows, Rows]:
    """Points and means of groups, each column less its mean and over its deviation, as in the paper's figure."""
    points: Rows = []
    means: Rows = []
    for metric in (first, second):
        known = [one for one in study.dialogues if not isnan(one.values[metric])]
        table = np.array([(getattr(one, trait), one.values[metric]) for one in known], np.float64).reshape(-1, 2)
        if len(table) < 2 or (table.std(axis=0) == 0).any():
            continue
        table = (table - table.mean(axis=0)) / table.std(axis=0, ddof=1)
        near = Counter(map(tuple, (np.round(table / _NEAR) * _NEAR).tolist()))
        points += [{"metric": metric, "trait": x, "value": y, "dialogues": n} for (x, y), n in near.items()]
        groups = np.array_split(table[np.argsort(table[:, 0], kind="stable")], max(1, _groups(len(table))))
        means += [
            {"metric": metric, "trait": float(group[:, 0].mean()), "value": float(group[:, 1].mean())}
            | {"error": float(1.96 * group[:, 1].std(ddof=1) / len(group) ** 0.5), "dialogues": len(group)}
            for group in groups
            if len(group) > 1
        ]
    return points, [row | {"low": row["value"] - row["error"], "high": row["value"] + row["error"]} for row in means]


def _groups(dialogues: int) -> int:
    return min(_GROUPS, dialogues // _SEVERAL)


def _trait_chart(points: Rows, means: Rows, names: tuple[str, str, str], layout: Layout) -> Chart:
    alt = altair()
    title, *metrics = names
    color = alt.Color(
        "metric:N", scale=alt.Scale(domain=metrics, range=[LOSS, ACCENT]), title=None, legend=layout.legend()
    )
    scale = "in deviations" if layout.narrow else "in standard deviations from its mean"
    x = alt.X("trait:Q", title=f"{title}, {scale}", axis=layout.ticks())
    y = alt.Y("value:Q", title=f"metric, {scale}", axis=layout.ticks())
    base = alt.Chart(alt.Data(values=means)).encode(x=x, color=color)
    dots = alt.Chart(alt.Data(values=points)).mark_point(filled=True, opacity=0.25, aria=False)
    size = alt.Size("dialogues:Q", scale=alt.Scale(range=[8, 160]), legend=None)
    zero = alt.Chart(alt.Data(values=[{"zero": 0}])).mark_rule(color=MUTED, strokeDash=[3, 3]).encode(y="zero:Q")
    reach = base.mark_rule(strokeWidth=2).encode(y=alt.Y("low:Q"), y2="high:Q")
    line = base.mark_line(strokeWidth=2).encode(y=y)
    mean = base.mark_point(size=60, filled=True, opacity=1).encode(y=y)
    layers = (zero, dots.encode(x=x, y=y, color=color, size=size), line, reach, mean)
    return alt.layer(*layers).properties(width=layout.width, height=280 if not layout.narrow else 220)


def conclusions(studies: Sequence[BiasStudy]) -> list[str]:
    """What the intervals say, in words, a line for each system and trait. Signed: nothing is said of strength."""
    told = []
    for study in studies:
        for trait, title in TRAITS.items():
            own = {one.metric: one.correlation for one in study.correlations if one.trait == trait}
            groups: dict[str, list[str]] = {_HIGHER: [], _LOWER: [], _ALIKE: []}
            differences = [one for one in study.differences if one.trait == trait and not isnan(own[one.against])]
            for one in sorted(differences, key=lambda one: -one.difference):
                side = _HIGHER if one.low > 0 else _LOWER if one.high < 0 else _ALIKE
                groups[side].append(f"{one.metric} {_signed(own[one.metric])}")
            if differences:
                against = differences[0].against
                parts = [f"{side}: {', '.join(names)}" for side, names in groups.items() if names]
                told.append(
                    f"{study.system}: {title} correlates with {against} at {_signed(own[against])}; {'; '.join(parts)}."
                )
    return told or ["There are too few dialogues with mistakes for any correlation."]


def render_bias_page(studies: Sequence[BiasStudy], first: str, second: str, most: int) -> str:
    """The page: what the intervals say, tables, plots for wide and narrow screens. It has no script."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("dstress.reports", "page")
    environment = Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    )
    figures = [
        {
            "title": f"{study.system}: {plot.title}",
            "wide": draw_adaptive_svg(plot, WIDE),
            "narrow": draw_adaptive_svg(plot, NARROW),
        }
        for study in studies
        for plot in trait_plots(study, first, second)
    ]
    return environment.get_template("bias.html.j2").render(
        title=f"What moves {first} and {second}: {', '.join(study.system for study in studies)}",
        conclusions=conclusions(studies),
        figures=figures,
        tables={
            "Correlations with where the mistakes lie": correlation_table(studies),
            "Differences between correlations": difference_table(studies),
            f"Where {first} and {second} disagree most": disagreement_table(studies, first, second, most),
        },
        signatures=[signature_text(study.system, study.signature) for study in studies],
    )
