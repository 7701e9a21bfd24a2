"""Several runs together: every table and plot against the runs' own numbers, and a page in which no text is markup."""

from __future__ import annotations

import math
import re
import shutil
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest

from dstress.errors import DstressError
from dstress.reports.analysis.ranking import MEAN, rank_systems
from dstress.reports.charts import NARROW, WIDE, Plot
from dstress.reports.curves import place_of
from dstress.reports.differences import gather_differences, judge_turns
from dstress.reports.many_findings import find_reversals
from dstress.reports.many_runs import ManyRuns, render_many_html, study_runs
from dstress.reports.systems import group_runs
from dstress.runs.folder import ORIGINAL, RunFolder
from dstress.runs.judged import Measured
from dstress.runs.scores import find_errors
from dstress.scoring.metrics import metrics
from dstress.scoring.score import ScoringOptions
from tests.reports.conftest import ATTACK

FEW = ScoringOptions(resamples=100)
TYPOS = "typos(rate=0.2)"


def rows_of(plot: Plot) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []

    def gather(part: Any) -> None:
        if isinstance(part, dict):
            found.extend(part.get("data", {}).get("values", []))
            for value in part.values():
                gather(value)
        elif isinstance(part, list):
            for value in part:
                gather(value)

    gather(plot.chart(WIDE).to_dict(validate=False))
    return found


def copied(run: RunFolder, path: Path) -> RunFolder:
    return RunFolder.open(Path(shutil.copytree(run.path, path)))


@pytest.mark.slow
def test_systems_are_called_by_their_folders(study: ManyRuns, many: list[RunFolder]) -> None:
    assert list(study.systems.runs) == ["it", "gold", "empty", "pepper<i>", "salt"]
    assert [system.runs[0].path for system in study.systems.every] == [run.path for run in many]


def test_the_measures_are_those_of_each_run(study: ManyRuns, many: list[RunFolder]) -> None:
    records = study.tables()["measures"].records
    for run, system in zip(many, study.systems.every, strict=True):
        for cell in run.scores.table:
            (record,) = [r for r in records if (r["measure"], r["system"]) == (cell.column, system.name)]
            if cell.score and math.isfinite(cell.score.value):
                assert record["value"] == cell.score.value
            else:
                assert "value" not in record
    assert {record["unit"] for record in records} == {"share"}
    slack = {record["system"]: record["value"] for record in records if record["measure"] == "avg-slack"}
    assert slack["gold"] == 0 < slack["it"] < slack["empty"]


def test_the_ranking_has_the_runs_own_values(study: ManyRuns, many: list[RunFolder]) -> None:
    assert study.ranking is not None
    assert list(study.ranking.orders) == [*many[0].variants, MEAN]
    for run, system in zip(many, study.systems.every, strict=True):
        for variant, card in run.scores.variants.items():
            standing = study.ranking.orders[variant].standings[system.name]
            assert standing.value == pytest.approx(card["jga"].value, abs=1e-12)
    assert next(iter(study.ranking.orders[MEAN].standings)) == "gold"
    assert study.systems.baselines == {"gold": "ceiling", "empty": "floor"}
    assert study.findings[0].title == "it, salt are equal on the original"
    assert {"gold is a baseline, the ceiling", "empty is a baseline, the floor"} <= set(study.notes)


def test_differences_add_up_to_the_difference_in_accuracy(study: ManyRuns, many: list[RunFolder]) -> None:
    """Turns that only one has right, less those that only the other has, are the difference on the original."""
    counts, runs = study.differences.counts, list(zip(study.systems.every, many, strict=True))
    for one, first in runs:
        for other, second in runs:
            if one is not other:
                more = counts[one.name, other.name][ORIGINAL] - counts[other.name, one.name][ORIGINAL]
                jga = [run.scores.variants[ORIGINAL]["jga"] for run in (first, second)]
                assert more == round((jga[0].value - jga[1].value) * jga[0].n)


def test_disagreements_are_told_with_what_was_said_instead(study: ManyRuns) -> None:
    runs = {name: study.systems.runs[name] for name in ("gold", "it")}
    errors = find_errors(runs["it"])
    found = [turn for turn in judge_turns(runs, runs["it"].variants) if turn.differs]
    assert {one.variant for one in found} >= {ORIGINAL, TYPOS}
    for one in found:
        wrong = errors[one.variant][one.dialogue, one.number]
        assert one.wrong == {"it": {error.slot: error.value for error in wrong if not error.is_right}}


def test_a_page_holds_no_more_turns_than_it_says(study: ManyRuns, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dstress.reports.differences._MOST_TURNS", 7)
    made = gather_differences(study.systems.runs, study.systems.variants)
    assert 0 < made.turns < 40 and made.turns + made.left_out == study.differences.turns
    assert made.counts == study.differences.counts


def test_metrics_have_the_ranks_of_their_values(study: ManyRuns) -> None:
    records = study.tables()["metrics"].records
    for metric in study.systems.metrics():
        own = [record for record in records if record["metric"] == metric]
        by_rank = sorted(own, key=lambda record: record["rank"])
        assert [r["value"] for r in by_rank] == sorted((r["value"] for r in own), reverse=True)
    assert {row["rank"] for row in rows_of(study.plots["metrics"])} <= {1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5}


def test_every_plot_is_a_valid_specification_for_both_widths(study: ManyRuns, many: list[RunFolder]) -> None:
    assert list(study.plots) == ["ranks", "gains", "profile", "drops", "metrics", "slots"]
    for plot in study.plots.values():
        for layout in (WIDE, NARROW):
            plot.chart(layout).to_dict()
    profile = rows_of(study.plots["profile"])
    (row,) = [r for r in profile if (r["system"], r["variant"], r["metric"]) == ("it", TYPOS, "jga")]
    assert row["value"] == pytest.approx(100 * many[0].scores.variants[TYPOS]["jga"].value)


def test_gains_are_the_pairs_with_the_first(study: ManyRuns) -> None:
    assert study.ranking is not None
    rows = [row for row in rows_of(study.plots["gains"]) if "change" in row]
    assert {row["system"] for row in rows} == {"gold", "empty", "pepper<i>", "salt"}
    for row in rows:
        test = study.ranking.orders[row["variant"]].test(row["system"], "it")
        assert (row["change"], row["beyond"]) == (pytest.approx(100 * test.difference), test.significant)
    pairs = study.tables()["pairs"].records
    assert len(pairs) == study.ranking.tests == 10 * len(study.ranking.orders)


def test_an_order_that_a_stressor_surely_turns_round_is_told() -> None:
    names = [f"d{number}" for number in range(30)]

    def right(*turns: int) -> Measured:
        totals = np.array([[turns[number % len(turns)], 10] for number in range(30)], float)
        return Measured(names, totals, metrics.create("jga"))

    versions = {
        ORIGINAL: {"a": right(9, 8), "b": right(5, 4), "c": right(8, 9)},
        "typos": {"a": right(2, 3), "b": right(5, 4), "c": right(8, 9)},
    }
    (told,) = find_reversals(rank_systems("jga", versions, ScoringOptions(resamples=500)))
    assert told.title == "a falls behind b under typos"
    assert "+40.0 on the original and \N{MINUS SIGN}20.0 under typos" in told.text


def test_bars_join_only_what_no_test_tells_apart(study: ManyRuns) -> None:
    assert study.ranking is not None
    bars = [row for row in rows_of(study.plots["ranks"]) if "offset" in row]
    joined = sum(len(group) > 1 for order in study.ranking.orders.values() for group in order.groups)
    assert len(bars) == joined > 0
    for order in study.ranking.orders.values():
        for group in order.groups:
            assert not any(order.test(a, b).significant for a in group for b in group if a < b)


@pytest.mark.slow
def test_all_text_is_escaped_and_only_one_script_may_run(study: ManyRuns) -> None:
    page = render_many_html(study)
    assert ATTACK not in page and "pepper<i>" not in page and "pepper&lt;i&gt;" in page
    assert re.search(r"default-src 'none'.*script-src 'sha256-", page)
    assert "http://" not in page.replace("http://www.w3.org", "") and "https://" not in page


def test_seeds_are_medians_from_the_lowest_to_the_highest(many: list[RunFolder], tmp_path: Path) -> None:
    seeds = [copied(run, tmp_path / f"shaky-{number}") for number, run in enumerate([many[0], many[3], many[4]], 1)]
    seeds += [copied(many[1], tmp_path / f"gold-{number}") for number in (1, 2)]
    study = study_runs(seeds, seeds=True)
    assert study.ranking is None and [system.name for system in study.systems.every] == ["shaky", "gold"]
    values = [run.scores.variants[TYPOS]["jga"].value for run in seeds[:3]]
    score = study.systems.every[0].score(TYPOS, "jga")
    assert score and (score.value, score.low, score.high) == (median(values), min(values), max(values))
    page = render_many_html(study)
    assert "3 seeds" in page and "± " in page and 'id="summary"' not in page
    assert {"profile", "metrics", "slots"} <= study.plots.keys()


def test_runs_along_a_line_are_places_on_it(many: list[RunFolder], tmp_path: Path) -> None:
    sizes = [copied(run, tmp_path / name) for name, run in (("t-100", many[1]), ("t-5", many[2]), ("t-20", many[0]))]
    study = study_runs(sizes, along="dialogues")
    rows = [row for row in rows_of(study.plots["along"]) if row["measure"] == "original, %"]
    assert [(row["system"], row["at"]) for row in rows] == [("t", 5), ("t", 20), ("t", 100)]
    gaps = [row for row in rows_of(study.plots["gaps"]) if row["metric"] == "jga"]
    for row, run in zip(gaps, (sizes[1], sizes[2], sizes[0]), strict=True):
        card = run.scores.variants[ORIGINAL]
        assert row["gap"] == pytest.approx(100 * abs(card["gca"].value - card["jga"].value))
    assert {row["kind"] for row in gaps} == {"shrinks" if gaps[-1]["gap"] < gaps[0]["gap"] else "grows"}
    for plot in study.plots.values():
        plot.chart(WIDE).to_dict()
        plot.chart(NARROW).to_dict()
    assert "3 runs along dialogues" in render_many_html(study)


def test_a_checkpoints_folder_is_on_the_line_of_the_folder_around_it(many: list[RunFolder], tmp_path: Path) -> None:
    assert place_of(copied(many[1], tmp_path / "copy" / "0000085")) == ("copy", 85)
    assert place_of(copied(many[1], tmp_path / "copy_0.5pct")) == ("copy", 0.5)
    with pytest.raises(DstressError, match="no number"):
        place_of(many[1])


def test_what_a_seed_lacks_the_system_lacks(many: list[RunFolder]) -> None:
    systems = group_runs(many)
    assert systems.every[2].score("entities", "cjga") is None  # nothing is ever right: cjga of nothing
    assert systems.every[0].score("together", "ss(jga)") is not None
    assert systems.every[0].score("nowhere", "jga") is None


def test_metrics_that_agree_on_the_first_say_so(study: ManyRuns) -> None:
    """Who is first is told apart only where the two metrics put another there."""
    for told in study.findings:
        if first := re.search(r"First by \S+: (.+?); by \S+: (.+?)\.", told.text):
            assert first[1] != first[2]
