"""Several runs in one page: trackers, checkpoints, seeds or training sizes on the same dialogues, side by side.

Like the page of one run it is one file that opens offline, and nothing but its own script may run in it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence
from math import isnan
from pathlib import Path
from typing import Any, NamedTuple

from dstress.reports.analysis.ranking import MEAN, Ranking, rank_runs
from dstress.reports.charts import SERIES, Plot
from dstress.reports.curves import make_line_plots, place_of
from dstress.reports.differences import Differences, gather_differences
from dstress.reports.findings import FLOOR, Finding
from dstress.reports.heatmaps import STEPS
from dstress.reports.many_findings import system_findings
from dstress.reports.many_plots import make_system_plots
from dstress.reports.many_tables import system_tables
from dstress.reports.numbers import PAGE, PLAIN, NumberFormat
from dstress.reports.rendering import draw_plots, render_page, write_page
from dstress.reports.systems import System, Systems, group_runs
from dstress.reports.tables import Table
from dstress.reports.views import command
from dstress.runs.folder import ORIGINAL, RunFolder
from dstress.runs.judged import judge_run
from dstress.runs.scores import find_errors
from dstress.scoring.metrics.measures import describe, measure_of
from dstress.scoring.score import COMPARING, ScoringOptions

_MOST_SLOTS = 15


class ManyRuns(NamedTuple):
    """Runs that are reported together; `along` names the line on which they are, such as training steps."""

    systems: Systems
    ranking: Ranking | None
    differences: Differences
    along: str = ""

    @property
    def findings(self) -> list[Finding]:
        """What they say together, in words; of seeds and of points on a line their tables say it."""
        return system_findings(self.systems, self.ranking) if self.ranking else []

    @property
    def notes(self) -> list[str]:
        """What the numbers stand on, where that needs a word."""
        notes = [f"only some of the runs have it: {variant}" for variant in self.systems.left_out]
        notes += [f"{name} is a baseline, the {end}" for name, end in self.systems.baselines.items()]
        for system in self.systems.every:
            if system.failed:
                notes.append(f"{system.name}: {system.failed:,} turns have no prediction and count as wrong")
        return notes

    @property
    def plots(self) -> dict[str, Plot]:
        """Every plot, by name."""
        if self.along:
            return make_line_plots(self.systems, self.along)
        return make_system_plots(self.systems, self.ranking)

    @property
    def content(self) -> dict[str, Any]:
        """All of it as plain data."""
        systems = {
            system.name: {
                "tracker": system.tracker,
                "runs": [str(run.path) for run in system.runs],
                "failed": system.failed,
            }
            for system in self.systems.every
        }
        return {
            "systems": systems,
            "variants": self.systems.variants,
            "ranking": self.ranking,
            "findings": self.findings,
            "notes": self.notes,
            "tables": {name: table.data for name, table in self.tables().items()},
        }

    def tables(self, numbers: NumberFormat = PLAIN) -> dict[str, Table]:
        """Every table, by name; the last counts turns that the system of a row has right and that of a column wrong."""
        names, differences = list(self.systems.runs), self.differences
        rows = [
            (right, *("" if right == wrong else f"{differences.total(right, wrong):,}" for wrong in names))
            for right in names
        ]
        records = [
            {"right": right, "wrong": wrong, "variant": variant, "turns": turns}
            for (right, wrong), counts in differences.counts.items()
            for variant, turns in counts.items()
        ]
        caption = "turns that the system of the row has right and that of the column wrong"
        table = Table(
            ("right", *(f"#{name}" for name in names)), rows, f"{caption}; of stressed ones, changed turns", records
        )
        return system_tables(self.systems, self.ranking, numbers) | {"differences": table}


def study_runs(
    runs: Sequence[RunFolder],
    *,
    seeds: bool = False,
    along: str = "",
    metric: str = "jga",
    options: ScoringOptions = COMPARING,
) -> ManyRuns:
    """Put runs together. Trackers are ranked by the metric and tested pair by pair.

    Seeds of a system and points on a line are no rivals, and are not.
    """
    systems = group_runs(sorted(runs, key=place_of) if along else runs, seeds=seeds)
    if seeds or along:
        differences = gather_differences(systems.runs, systems.variants, map(find_errors, systems.runs.values()))
        return ManyRuns(systems, None, differences, along)
    judged = {  # the answers are read once, for the ranking and for the turns
        name: judge_run(run, options, variants=systems.variants, metrics=[metric], with_errors=True)[0]
        for name, run in systems.runs.items()
    }
    ranking = rank_runs(judged, systems.variants, metric, options)
    errors = ({name: variant.errors for name, variant in run.variants.items()} for run in judged.values())
    return ManyRuns(systems, ranking, gather_differences(systems.runs, systems.variants, errors))


def write_many_html(study: ManyRuns, path: Path) -> Path:
    """Write the page."""
    return write_page(path, render_many_html(study))


def render_many_html(study: ManyRuns) -> str:
    """The page as text."""
    systems, ranking = study.systems, study.ranking
    unit = measure_of(ranking.metric).unit if ranking else ""
    # The few facts that a reader wants first.
    turns = sum(int(card.signature.get("turns", "0")) for card in systems.every[0].scores[0].variants.values())
    cards = [("runs", f"{len(systems.runs)}", f"of {turns:,} turns each")]
    for version, where in ((ORIGINAL, "best on the original"), (MEAN, "best over the stressors")):
        if ranking and version in ranking.orders:
            standings = ranking.orders[version].standings
            name = next((name for name in standings if name not in systems.baselines), next(iter(standings)))
            if (standing := standings[name]).group:
                interval = PAGE.measured_interval(standing.low, standing.high, unit)
                cards.append((where, name, f"{ranking.metric} {PAGE.measured(standing.value, unit)} {interval}"))
    return render_page(
        "runs.html.j2",
        ["report.css", "runs.css"],
        ["report.js", "figures.js", "runs.js"],
        manifest=systems.first.manifest,
        systems=systems.every,
        names=list(systems.runs),
        seeds=systems.has_seeds,
        along=study.along,
        has_floor=any(system.score(ORIGINAL, FLOOR) for system in systems.every),
        cards=cards,
        findings=study.findings,
        notes=study.notes,
        ranking=ranking,
        baselines=systems.baselines,
        leaders={version: _leading(order.groups, systems.baselines) for version, order in ranking.orders.items()}
        if ranking
        else {},
        measure=describe(ranking.metric) if ranking else "",
        unit=unit,
        mean=MEAN,
        tables=study.tables(PAGE),
        heat=[_heat(systems, system) for system in systems.every] if not study.along else [],
        heat_steps=list(zip((None, *STEPS), (*STEPS, None), strict=True)),
        differences=study.differences,
        commands=[(name, command(run.manifest)) for name, run in systems.runs.items()],
        convention=systems.every[0].scores[0].convention,
        plots=draw_plots(study.plots),
        colors=len(SERIES),
        packet=study.differences.packet,
    )


def _leading(groups: Sequence[Sequence[str]], baselines: Collection[str]) -> list[str]:
    """The systems that no other one, but for a baseline, is significantly above."""
    competing = ([name for name in group if name not in baselines] for group in groups)
    return next(filter(None, competing), [])


def _heat(systems: Systems, system: System) -> dict[str, Any]:
    """A system's slots by stressors: how many points of a slot's values are lost, and the shade of that."""
    stressed = [variant for variant in systems.variants if variant != ORIGINAL]
    rows = []
    for slot in systems.slots[:_MOST_SLOTS]:
        before = system.recall(ORIGINAL, slot)
        changes = [system.recall(variant, slot) - before for variant in stressed]
        cells = [
            ("", -1) if isnan(change) else (PAGE.points(change, 0), bisect_right(STEPS, float(f"{100 * change:.0f}")))
            for change in changes
        ]
        rows.append((slot, PAGE.percent(before, 0), cells))
    return {"name": system.name, "variants": stressed, "rows": rows}
