"""The tables behind explanations: planted effects are found, chance is not, and the tests are those of the house."""

from __future__ import annotations

import math
from pathlib import Path
from random import Random

import numpy as np
import pytest
from pytest import approx

from dstress.conventions import conventions
from dstress.dialogue import Dialogue, Schema, Service, Slot, Turn
from dstress.errors import DstressError
from dstress.pipeline.compare import compare
from dstress.predictions.base import Prediction
from dstress.reports.analysis.differences import compare_errors
from dstress.reports.analysis.explain import Answers, _test_contrast, study_errors
from dstress.reports.analysis.systems import open_systems, shared_variants
from dstress.schema_names import Names
from dstress.scoring.alignment.cells import Alignment
from dstress.scoring.alignment.columns import gather
from dstress.scoring.alignment.errors import TurnErrors

NAMES = ("area", "name", "food", "day")
SCHEMA = Schema((Service("place", "", tuple(Slot(name, categorical=name == "area") for name in NAMES)),))
Rates = dict[str, float]


def answers(rates: Rates, seed: int, dialogues: int = 60) -> TurnErrors:
    """A tracker that misses each slot, in each dialogue, with some probability, and for as long as it lasts."""
    random, found, pairs = Random(seed), TurnErrors(), []
    for number in range(dialogues):
        missed = {slot for slot in NAMES if random.random() < rates.get(slot, 0.1)}
        gold = {f"place-{slot}": f"{slot} {number}" for slot in NAMES}
        said = {slot: value for slot, value in gold.items() if slot.removeprefix("place-") not in missed}
        turns = tuple(Turn("", "", {slot: (value,) for slot, value in gold.items()}) for _ in range(3))
        pairs.append((Dialogue(str(number), turns), [Prediction(str(number), turn, said) for turn in range(3)]))
    found(Alignment(gather(SCHEMA, pairs), conventions.create("exact")))
    return found


def study(original: TurnErrors, **stressed: TurnErrors):
    return study_errors(Answers({"original": original, **stressed}, [], SCHEMA, {}))


def test_a_slot_that_a_stressor_hits_is_found_and_no_other() -> None:
    found = study(answers({}, 1), typos=answers({"food": 0.8}, 2), calm=answers({}, 3)).interactions
    assert [(row.slot, row.stressor) for row in found if row.change < 0 and row.difference < 0] == [
        ("place-food", "typos")
    ]
    row = found[0]
    assert row.difference == approx(row.change - row.others)
    assert row.low < row.difference < row.high < 0
    assert row.tests == 8 and row.p_holm <= 0.05 and row.dialogues == 60


def test_a_stressor_that_hits_all_slots_alike_is_no_interaction() -> None:
    hit = dict.fromkeys(NAMES, 0.5)
    assert study(answers({}, 1), typos=answers(hit, 2)).interactions == []


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.1, 0.4])
def test_chance_is_seldom_told(rate: float) -> None:
    """Of forty runs in which a stressor hits no slot or all alike, two may have a finding at the level of 0.05."""
    hit = dict.fromkeys(NAMES, rate)
    told = [bool(study(answers({}, 2 * n), typos=answers(hit, 2 * n + 1)).interactions) for n in range(40)]
    assert sum(told) <= 5


def test_a_slot_is_tested_against_all_others() -> None:
    first, second = (answers(rates, seed).profile for rates, seed in (({}, 1), ({"food": 0.3}, 2)))
    tables = [np.stack((one.table()[..., 0], one.table()[..., :3].sum(axis=2)), axis=2) for one in (first, second)]
    for place in range(len(NAMES)):
        totals = [np.column_stack((t[:, place], t.sum(axis=1) - t[:, place])) for t in tables]
        test = _test_contrast(*tables, place, 0.95)
        by_hand = [t[:, 0].sum() / t[:, 1].sum() - t[:, 2].sum() / t[:, 3].sum() for t in totals]
        assert test.difference == approx(by_hand[1] - by_hand[0])
        assert test.p == approx(_test_contrast(*tables, place).p) and test.low < test.difference < test.high


def test_slots_kinds_turns_and_the_order_of_mending() -> None:
    found = study(answers({"food": 0.6, "name": 0.3, "area": 0.0, "day": 0.0}, 5))
    assert [row.slot for row in found.slots][:2] == ["place-food", "place-name"]
    weakest = found.slots[0]
    assert weakest.right + weakest.missed + weakest.wrong == weakest.gold == 180
    assert weakest.low < weakest.recall < weakest.high and weakest.dialogues == 60
    assert weakest.fixed - weakest.accuracy == approx(weakest.at_stake)
    assert [step.slot for step in found.fixes] == ["place-food", "place-name"]
    assert found.fixes[-1].accuracy == approx(1.0)
    kinds = {row.kind: row for row in found.kinds}
    assert kinds["missed"].share == 1.0 and kinds["missed"].without == approx(1.0) and not kinds["wrong"].cells
    (turns,) = found.turns
    assert turns.wrong == turns.making + turns.carrying == 3 * turns.making
    assert turns.lasting == 3.0


def test_a_slot_without_an_error_has_an_interval_all_the_same() -> None:
    """Always right in ten dialogues is no certainty."""
    row = next(row for row in study(answers({"area": 0.0}, 1, 10)).slots if row.slot == "place-area")
    assert row.recall == row.high == 1.0 and 0.6 < row.low < 0.8


def words(*pairs: tuple[str, State]) -> tuple[Dialogue, TurnErrors]:
    """A dialogue in which the user asks for a place's name, and what is predicted turn by turn."""
    turns = tuple(Turn(said, "", {"place-name": ("The Larkspur",)}) for said, _ in pairs)
    dialogue, found = Dialogue("d", turns), TurnErrors()
    said = [Prediction("d", number, state) for number, (_, state) in enumerate(pairs)]
    found(Alignment(gather(SCHEMA, [(dialogue, said)]), conventions.create("exact")))
    return dialogue, found


State = dict[str, str]


def test_a_name_that_nobody_said_is_made_up_once_for_each_time_it_is_predicted_anew() -> None:
    gone, said, right = {"place-name": "Curry Inn"}, {"place-name": "Hobson"}, {"place-name": "The Larkspur"}
    dialogue, errors = words(
        ("the larkspur", gone), ("not hobson", gone), ("yes", said), ("it is", gone), ("ok", right)
    )
    found = study_errors(Answers({"original": errors}, [dialogue], SCHEMA, {}))
    (made_up,) = found.inventions
    assert (made_up.slot, made_up.value, made_up.times, made_up.dialogue, made_up.turn) == (
        "place-name",
        "Curry Inn",
        2,
        "d",
        0,
    )
    (names,) = found.names
    assert (names.predicted, names.unsaid, names.dialogues) == (3, 2, 1)
    assert math.isnan(names.highest)


def test_without_words_nothing_is_told_of_names() -> None:
    found = study(answers({}, 1))
    assert found.names == [] == found.inventions


def test_two_systems_differ_where_one_is_worse() -> None:
    first, second = {"original": answers({}, 1)}, {"original": answers({"food": 0.9}, 1)}
    found = compare_errors(("a", "b"), first, second)
    (row,) = found.systems
    assert row.difference < 0 and row.p_holm <= 0.05 and row.high < 0
    assert found.slots[0].slot == "place-food" and found.slots[0].p_holm <= 0.05
    assert all(slot.p_holm > 0.05 for slot in found.slots[1:])
    assert row.only_first > 0 == row.only_second


def test_real_systems_differ_as_compare_says(shared: Path) -> None:
    files = [shared / f"data/predictions/copy-{name}-substituted.json.zip" for name in "bc"]
    first, second = open_systems(files)
    assert shared_variants(first, second) == ["original"]
    judged = []
    for system in (first, second):
        errors = TurnErrors()
        system.judge("original", ["jga"], [errors])
        judged.append({"original": errors})
    (row,) = compare_errors((first.name, second.name), *judged).systems
    test = compare(files).pairs[0].tests["jga"]
    assert row.difference == approx(test.difference, abs=1e-12)
    assert (row.low, row.high) == approx((test.low, test.high), abs=0.002)


def test_systems_of_other_dialogues_are_refused(tmp_path: Path) -> None:
    for name, dialogue in (("a", "d"), ("b", "e")):
        (tmp_path / f"{name}.json").write_text(f'{{"{dialogue}": {{"0": {{"gt": {{}}, "pr": {{}}}}}}}}')
    systems = open_systems([tmp_path / "a.json", tmp_path / "b.json"])
    with pytest.raises(DstressError, match="other dialogues"):
        shared_variants(*systems)


def test_slots_that_a_schema_variant_renames_are_known_again() -> None:
    """The same answers under other names of slots: paired slot by slot, not told as lost."""
    hit, renamed = answers({"food": 0.8}, 2), TurnErrors()
    renamed.profile = answers({"food": 0.8}, 2).profile
    names = Names({}, {"place": {f"x{slot}": slot for slot in NAMES}}, {})
    shards = [([slot.replace("-", "-x") for slot in slots], table) for slots, table in renamed.profile._shards]
    renamed.profile._shards = shards
    original = answers({}, 1)
    plain = study_errors(Answers({"original": original, "v1": hit}, [], SCHEMA, {}))
    again = study_errors(Answers({"original": original, "v1": renamed}, [], SCHEMA, {"v1": names}))
    assert plain.interactions == again.interactions and plain.interactions
