"""cjga and consistent-jga: the official class's numbers, the paper's lemma, the page's example."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue, Schema, Service, Slot, Turn
from dstress.predictions import read_predictions
from dstress.predictions.base import Prediction
from dstress.scoring.metrics.consistency import Cjga, ConsistentJga, OverRuns, paired
from dstress.scoring.open_pair import PredictionSource
from dstress.scoring.versions import conditional
from tests.paths import DOCS
from tests.scoring.metrics.lemma import cjga_bounds

PAGE = DOCS / "metrics" / "consistency.md"
tables = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40).map(
    lambda rows: np.array(rows, np.float64)
)


def value(metric: OverRuns, table: np.ndarray) -> float:
    return float(metric.value(metric.statistics(table).sum(axis=0)))


@pytest.mark.parametrize("kind", ["NED", "PI"])
def test_the_official_class_on_its_example_files(shared: Path, kind: str) -> None:
    official = json.loads((shared / "golden/checkdst/official.json").read_text())[f"orig_then_{kind}_only"]
    files = [shared / f"golden/checkdst/data/{name}_example.checkdst_prediction.jsonl" for name in ("orig", kind)]
    card = conditional(*map(PredictionSource, files))
    assert round(card["cjga"].value, 4) == official[f"conditional_jga_orig_{kind}"]
    assert round(card["consistent-jga"].value, 4) == official[f"cjga_orig_{kind}"]
    assert card.signature["unpaired"] == "70" and card["consistent-jga"].n == 30
    again = conditional(*(PredictionSource(list(read_predictions(file))) for file in files))
    assert again["cjga"].value == card["cjga"].value


def paired_turns(*turns: tuple[str, str, str, str]) -> list[PredictionSource]:
    """Two versions of a dialogue from (words, gold, answer, words of the copy); the copy's answers are right."""
    versions = []
    for words, answer in ((0, 2), (3, 1)):
        states = [{"hotel-area": (turn[1],)} for turn in turns]
        gold = Corpus(
            "c",
            "test",
            Schema((Service("hotel", slots=(Slot("area"),)),)),
            lambda words=words, states=states: iter(  # type: ignore[misc]
                [Dialogue("d", tuple(Turn(turn[words], state=s) for turn, s in zip(turns, states, strict=True)))]
            ),
        )
        said = [Prediction("d", number, {"hotel-area": turn[answer]}) for number, turn in enumerate(turns)]
        versions.append(PredictionSource(said, gold))
    return versions


def test_only_changed_pairs_count() -> None:
    """Three turns stay as they are and are right; of two changed ones, one is right only on the copy."""
    same, changed = ("north", "a", "a", "north"), ("north", "a", "a", "nroth")
    mended = ("north", "a", "b", "nroth")
    versions = paired_turns(same, same, same, changed, mended)
    card = conditional(*versions, metrics=["cjga", "consistent-jga", "cjga(over=all)", "consistent-jga(over=all)"])
    assert {name: (score.value, score.n) for name, score in card.metrics.items()} == {
        "cjga": (0.5, 2),
        "consistent-jga": (0.5, 2),
        "cjga(over=all)": (0.8, 5),
        "consistent-jga(over=all)": (0.8, 5),
    }
    assert card.signature["units"] == "5" and card.signature["changed"] == "2" and not card.notes


def test_a_copy_that_is_no_other_says_nothing() -> None:
    card = conditional(*paired_turns(("north", "a", "a", "north")))
    assert math.isnan(card["cjga"].value) and card["cjga"].n == 0 and card.signature["changed"] == "0"


def test_files_without_words_tell_what_changed_by_their_gold(shared: Path) -> None:
    files = [shared / f"data/predictions/copy-b-{kind}.json.zip" for kind in ("test", "substituted")]
    card = conditional(*map(PredictionSource, files), metrics=["cjga", "consistent-jga", "cjga(over=all)"])
    assert card.signature["changed"] == "3730" and card["consistent-jga"].n == 3730
    assert round(100 * card["cjga"].value, 2) == 45.48 and round(100 * card["cjga(over=all)"].value, 2) == 66.90
    assert any("no words" in note for note in card.notes)


@given(tables)
def test_the_lemma_holds(table: np.ndarray) -> None:
    found = value(Cjga(), table)
    bounds = cjga_bounds(*table.mean(axis=0))
    if math.isnan(bounds.upper):
        assert math.isnan(found)
    else:
        assert bounds.lower - 1e-12 <= found <= bounds.upper + 1e-12 <= bounds.loose_upper + 2e-12


@given(tables)
def test_consistent_jga_is_below_cjga_and_both_jgas(table: np.ndarray) -> None:
    found, ceiling = value(ConsistentJga(), table), value(Cjga(), table)
    assert found <= table.mean(axis=0).min() and (math.isnan(ceiling) or found <= ceiling)


@given(tables, st.randoms())
def test_units_pair_by_name_in_any_order(table: np.ndarray, random: object) -> None:
    names = np.array([f"d/{unit}/0" for unit in range(len(table))])
    order = list(range(len(table)))
    random.shuffle(order)  # type: ignore[attr-defined]
    units = paired([names, names[order]], [table[:, 0], table[order, 1]])
    assert value(ConsistentJga(), units.table) == value(ConsistentJga(), table) and units.left_out == 0


def test_units_without_a_partner_are_left_out_and_counted() -> None:
    units = paired([np.array(["a", "b", "c"]), np.array(["c", "d", "b"])], [np.arange(3.0), np.array([7.0, 8.0, 9.0])])
    assert units.names.tolist() == ["b", "c"] and units.table.tolist() == [[1, 9], [2, 7]] and units.left_out == 2


def test_a_doubled_unit_is_refused() -> None:
    with pytest.raises(ValueError, match="a name of its own"):
        paired([np.array(["a", "a"])], [np.ones(2)])


def test_almost_right_is_not_right() -> None:
    assert value(Cjga(), np.array([[1.0, 0.99], [1.0, 1.0]])) == 0.5


def test_the_worked_example() -> None:
    text = PAGE.read_text("utf-8")
    rows = re.findall(r"^\| (\d) \| ([01]) \| ([01]?) ?\|$", text, re.MULTILINE)
    runs = [[(f"d/{turn}/0", float(row[side])) for turn, *row in rows if row[side]] for side in (0, 1)]
    names, values = zip(
        *((np.array(list(n)), np.array(list(v))) for n, v in (zip(*r, strict=True) for r in runs)), strict=True
    )
    units = paired(names, values)
    assert len(rows) == 5 and units.left_out == 1
    assert f"cjga is {value(Cjga(), units.table):.4f}, consistent-jga {value(ConsistentJga(), units.table):.4f}" in text
