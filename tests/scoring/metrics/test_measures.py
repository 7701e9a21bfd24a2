"""What the name of a measure says of it."""

from __future__ import annotations

import pytest

import dstress
from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue, Schema, Service, Slot, Turn
from dstress.errors import DstressError
from dstress.predictions.base import Prediction
from dstress.scoring.metrics.measures import describe, measure_of, require_metric
from dstress.scoring.score import score


def test_a_misspelt_name_is_looked_for_among_all_kinds_of_metrics() -> None:
    for typed, meant in {"cjag": "cjga", "newly-wrnog": "newly-wrong", "dif-rel": "diff-rel", "jgaa": "jga"}.items():
        with pytest.raises(DstressError, match=f"did you mean '{meant}'"):
            require_metric(typed)
    for known in ("jga", "cjga(over=all)", "ss(jga)", "jga-v1-5", "jga-orig", "tests.fakes.metrics:WrongSlots"):
        require_metric(known)


def test_a_metric_of_several_versions_is_not_called_misspelt_where_there_is_one() -> None:
    with pytest.raises(DstressError, match=r"ss\(jga\) is of several versions"):
        require_metric("ss(jga)", of_one_file=True)
    require_metric("fga(lambda=0.25)", of_one_file=True)


def test_false_updates_are_changes_at_foreign_turns_and_data_have_no_better_way() -> None:
    """A tracker that ignores a foreign turn keeps its state; one that answers it changes the state."""
    turns = tuple(
        Turn(user, state={"hotel-area": ("north",)}, ood=ood)
        for user, ood in (("north", False), ("will it snow?", True), ("thanks", False), ("a joke, please", True))
    )
    schema = Schema((Service("hotel", "", (Slot("area"), Slot("name"))),))
    gold = Corpus("small", "test", schema, lambda: iter([Dialogue("d", turns)]))
    states = (
        {"hotel-area": "north"},
        {"hotel-area": "north", "hotel-name": "snow"},
        {"hotel-name": "snow"},
        {"hotel-name": "snow"},
    )
    answers = [Prediction("d", number, state) for number, state in enumerate(states)]
    assert score(answers, gold, metrics=["false-updates"])["false-updates"].value == 0.5
    assert not measure_of("false-updates").higher_is_better and "gold itself is below 100" in measure_of("nohf").remark
    assert measure_of("words-changed").of_data and describe("words-changed") == "words-changed"


def test_gold_makes_no_false_update_though_foreign_turns_follow_each_other() -> None:
    """Each foreign turn is a test of its own: the next one's history has its original, whose update is no false one."""
    gold = dstress.stress(dstress.load("reminder:test").take(3), "out_of_domain(rate=0.6)")
    foreign = [[turn.ood for turn in dialogue.turns] for dialogue in gold]
    alone = sum(ood and not (number and turns[number - 1]) for turns in foreign for number, ood in enumerate(turns))
    answers = [
        Prediction(dialogue.id, number, {slot: forms[0] for slot, forms in turn.state.items()})
        for dialogue in gold
        for number, turn in enumerate(dialogue.turns)
    ]
    updates = score(answers, gold, metrics=["false-updates"])["false-updates"]
    assert updates.value == 0 and updates.n == alone < sum(map(sum, foreign))
