"""ConvLab-3's evaluation, on its own samples of four data sets, each of which lists other slots in gold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue, Schema, Service, Slot, Turn
from dstress.scoring.score import ScoringOptions, score

ONCE = ScoringOptions(resamples=2)
RIGHT = {"multiwoz21": (39, 60), "sgd": (62, 100), "crosswoz": (44, 78), "tm1": (91, 112)}
"""Turns that ConvLab's script counts as right, of how many."""
SLOT_F1 = {"multiwoz21": 0.9146, "sgd": 0.9167, "crosswoz": 0.9038, "tm1": 0.9379}


@pytest.mark.parametrize("name", RIGHT)
def test_the_slots_that_gold_lists_decide(shared: Path, name: str) -> None:
    card = score(shared / f"golden/convlab/{name}.json", metrics=["jga", "slot-f1"], options=ONCE)
    right, turns = RIGHT[name]
    assert card["jga"].value == pytest.approx(right / turns, abs=1e-9)
    assert round(card["slot-f1"].value, 4) == SLOT_F1[name]


def test_taskmaster_lists_neither_all_slots_nor_only_the_active_domains(shared: Path) -> None:
    file = shared / "golden/convlab/tm1.json"
    found = {
        listed: score(file, None, f"convlab(listed={listed})", "jga", options=ONCE)["jga"].value
        for listed in ("active", "all")
    }
    assert found["all"] < 91 / 112 < found["active"]


def test_a_file_scored_against_a_corpus_still_says_what_is_listed(tmp_path: Path) -> None:
    """Gold is the corpus's, which has no empty slots: `people` is listed by the file and spurious, `stay` is not."""
    state = {"hotel": {"area": "north", "book people": ""}}
    predicted = {"hotel": {"area": "north", "book stay": "2"}}
    spurious = {"hotel": {"book people": "2"}}
    samples = [
        {"dialogue_id": "d", "turn_id": turn, "state": state, "predictions": {"state": answer}}
        for turn, answer in enumerate([predicted, predicted, spurious])
    ]
    file = tmp_path / "predictions.json"
    file.write_text(json.dumps(samples), encoding="utf-8")
    hotel = Service("hotel", slots=(Slot("area"), Slot("book people"), Slot("book stay")))
    north = Turn("north", state={"hotel-area": ("north",)})
    turns = (north, north, Turn("any", state={}))
    corpus = Corpus("tiny", "test", Schema((hotel,)), lambda: iter([Dialogue("d", turns)]))
    assert score(file, corpus, metrics="jga", options=ONCE)["jga"].value == pytest.approx(2 / 3, abs=1e-9)
    active = score(file, corpus, "convlab(listed=active)", "jga", options=ONCE)["jga"].value
    assert active == pytest.approx(1 / 3, abs=1e-9)
    assert score(file, corpus, "convlab(listed=all)", "jga", options=ONCE)["jga"].value == 0.0
