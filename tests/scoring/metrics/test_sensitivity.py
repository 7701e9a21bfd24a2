"""ss, jga-v1-5 and diff-rel: the golden values, the paper's table, the page's example."""

from __future__ import annotations

import json
import re
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from dstress.conventions import conventions
from dstress.corpora import load
from dstress.predictions import read_predictions
from dstress.scoring.alignment.cells import Alignment
from dstress.scoring.alignment.columns import gather
from dstress.scoring.alignment.pairing import Pairing
from dstress.scoring.metrics.consistency import AlwaysWrong, OverRuns
from dstress.scoring.metrics.sensitivity import DiffRel, NeverRight, OverVariants, Sensitivity
from dstress.scoring.open_pair import PredictionSource
from dstress.scoring.score import ScoringOptions
from dstress.scoring.unit_scores import unit_names
from dstress.scoring.versions import variants
from tests.paths import DOCS

PAGE = DOCS / "metrics" / "sensitivity.md"
QUICK = ScoringOptions(resamples=50)
tables = arrays.arrays(np.float64, st.tuples(st.integers(1, 20), st.integers(2, 6)), elements=st.floats(0, 1, width=16))


def value(metric: OverRuns, table: np.ndarray) -> float:
    return float(metric.value(metric.statistics(table).sum(axis=0)))


def runs(shared: Path) -> list[PredictionSource]:
    golden = shared / "golden/sgdx"
    return [PredictionSource(golden / f"v{k}/preds", str(golden / f"v{k}/ref")) for k in range(1, 6)]


def test_the_golden_headline(shared: Path) -> None:
    golden = json.loads((shared / "golden/sgdx/ss_values.json").read_text())
    original = PredictionSource(shared / "golden/sgd/preds_a", str(shared / "golden/sgd/ref"))
    card = variants(runs(shared), original, options=QUICK)
    assert card["jga-v1-5"].value == pytest.approx(golden["headline"]["JGA_v1-5"], abs=1e-9)
    assert card["ss(jga)"].value == pytest.approx(golden["headline"]["SS_JGA"], abs=1e-9)
    assert card["ss(jga)"].n == golden["frames"] and card.signature["unpaired"] == "0"
    official = json.loads((shared / "golden/sgd/official_a.json").read_text())["#ALL_SERVICES"]["joint_goal_accuracy"]
    expected = golden["JGA_v1-5"] / official - 1
    assert card["diff-rel"].value == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("metric", "key"),
    [
        ("active-intent-accuracy", "SS_active_intent_accuracy[frame]"),
        ("requested-slots-f1", "SS_requested_slots_f1[frame]"),
        ("aga", "SS_average_goal_accuracy[frame]"),
    ],
)
def test_the_golden_values_of_other_metrics(shared: Path, metric: str, key: str) -> None:
    golden = json.loads((shared / "golden/sgdx/ss_values.json").read_text())[key]
    card = variants(runs(shared), metric=metric, options=QUICK)
    assert card[f"ss({metric})"].value == pytest.approx(golden["value"], abs=1e-9)
    assert card[f"{metric}-v1-5"].value == pytest.approx(golden["mean_v1-5"], abs=1e-9)
    assert card[f"ss({metric})"].n == golden["rows"] and bool(card.notes) is bool(golden["rows_NA_skipped"])


def test_every_frame_of_every_variant(shared: Path) -> None:
    golden = json.loads((shared / "golden/sgdx/per_frame_jga_v1to5.json").read_text())
    for k, run in enumerate(runs(shared)):
        corpus = load(str(run.gold))
        pairing = Pairing(corpus, read_predictions(str(run.predictions), schema=corpus.schema), corpus.schema)
        alignment = Alignment(gather(corpus.schema, pairing), conventions.create("dstc8"))
        units = (name.rsplit("/", 2) for name in unit_names(alignment, {}))
        found = sorted(
            ((d, int(t) * 2, place), v) for place, ((d, t, _), v) in enumerate(zip(units, alignment.joint, strict=True))
        )
        expected = [(n.split("-")[0], int(n.split("-")[1]), row[k]) for n, row in golden.items()]
        by_turn = {
            turn: [v for *_, v in rows]
            for turn, rows in groupby(sorted(expected, key=lambda e: e[:2]), key=lambda e: e[:2])
        }
        ours = {turn: [v for _, v in rows] for turn, rows in groupby(found, key=lambda e: e[0][:2])}
        assert ours.keys() == by_turn.keys()
        assert all(sorted(ours[turn]) == pytest.approx(sorted(by_turn[turn]), abs=1e-9) for turn in ours)


def test_the_papers_table_2() -> None:
    for original, over_variants, printed in ((60.5, 49.9, -17.6), (72.6, 64.0, -11.9), (89.7, 79.3, -11.6)):
        assert 100 * value(DiffRel(), np.array([[original, over_variants]])) == pytest.approx(printed, abs=0.1)


@given(tables)
def test_sensitivity_is_the_definition_and_bounded(table: np.ndarray) -> None:
    expected = [row.std(ddof=1) / row.mean() if row.any() else 0.0 for row in table]
    found = value(Sensitivity(), table)
    assert found == pytest.approx(np.mean(expected), abs=1e-9)
    assert -1e-12 <= found <= np.sqrt(table.shape[1]) + 1e-9
    assert value(OverVariants(), table) == pytest.approx(table.mean(), abs=1e-9)


@given(tables)
def test_alike_variants_do_not_vary(table: np.ndarray) -> None:
    alike = np.repeat(table[:, :1], 3, axis=1)
    assert value(Sensitivity(), alike) == pytest.approx(0, abs=1e-7)
    assert not alike.any() or value(DiffRel(), alike) == pytest.approx(0, abs=1e-9)


def test_one_variant_shows_nothing() -> None:
    with pytest.raises(ValueError, match="two variants"):
        Sensitivity().statistics(np.ones((3, 1)))


def test_the_worked_example() -> None:
    text = PAGE.read_text("utf-8")
    rows = re.findall(r"^\| \d \| ([01]) \| ([01]) \| ([01]) \| ([01]) \|", text, re.MULTILINE)
    table = np.array(rows, np.float64)
    found = value(Sensitivity(), table[:, 1:]), value(OverVariants(), table[:, 1:]), value(DiffRel(), table)
    assert len(rows) == 4
    assert "ss(jga) is {:.4f}, jga-v1-5 is {:.4f}, diff-rel is {:.4f}.".format(*found) in text


def test_a_tracker_that_is_never_right_is_steady_and_shown_to_be() -> None:
    table = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])

    def found(metric: OverRuns, rows: np.ndarray) -> float:
        return float(metric.value(metric.statistics(rows).sum(axis=0)))

    assert found(Sensitivity(), table) == pytest.approx(2**0.5 / 4)
    assert found(Sensitivity(over="ever-right"), table) == pytest.approx(2**0.5 / 2)
    assert found(NeverRight(), table) == found(AlwaysWrong(), table) == 0.5
    assert found(Sensitivity(), table[:2]) == 0 and found(NeverRight(), table[:2]) == 1
    assert np.isnan(found(Sensitivity(over="ever-right"), table[:2]))
