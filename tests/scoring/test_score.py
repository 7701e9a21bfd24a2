"""Scoring through the public door: what fits is scored the same in any order, what does not is told, never dropped."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dstress import corpora
from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue, Frame, State, Turn
from dstress.errors import DstressError, PredictionError, UnknownNameError
from dstress.predictions import Prediction, formats
from dstress.scoring.score import ScoringOptions, score
from dstress.scoring.scorecard import Scorecard
from tests.scoring.metrics.pairs import SCHEMA, Pair, corpus_of, several

STATES: list[State] = [{"hotel-area": ("north",)}, {"hotel-area": ("north",), "hotel-name": ("acorn",)}]
PARTIAL = ScoringOptions(allow_partial=True, resamples=2)
WHOLE = ScoringOptions(resamples=2)
NAMES = ["jga", "sa", "aga", "rsa", "fga", "gca", "slot-f1"]
Row = dict[str, Any]
Scoring = Callable[..., Scorecard]


def small_gold(states: list[State] = STATES) -> Corpus:
    turns = tuple(Turn("?", "", state, (Frame("hotel"),)) for state in states)
    return Corpus("small", "test", SCHEMA, lambda: iter([Dialogue(name, turns) for name in ("d0", "d1")]))


def right() -> list[Row]:
    """Rows of a file that has everything right."""
    states = [{slot: forms[0] for slot, forms in state.items()} for state in STATES]
    return [{"dialogue": name, "turn": turn, "state": dict(states[turn])} for name in ("d0", "d1") for turn in (0, 1)]


def with_value(value: object, slot: str = "hotel-area") -> list[Row]:
    rows = right()
    rows[0]["state"][slot] = value
    return rows


@pytest.fixture
def scoring(tmp_path: Path) -> Scoring:
    """Score rows, or bytes, as a file of the dstress format."""

    def scored(rows: Iterable[Row] | bytes, **options: Any) -> Scorecard:
        data = rows if isinstance(rows, bytes) else b"".join(json.dumps(row).encode() + b"\n" for row in rows)
        path = tmp_path / "answers.jsonl"
        path.write_bytes(data)
        return score(path, **{"gold": small_gold(), "options": ScoringOptions(resamples=2)} | options)

    return scored


def problem(caught: pytest.ExceptionInfo[DstressError]) -> str:
    assert caught.value.fix or caught.value.where
    return str(caught.value)


# What never changes a score


@given(found=several.filter(lambda pairs: any(t.state for gold, _ in pairs for t in gold.turns)), data=st.data())
def test_neither_order_nor_shards_change_a_score(found: list[Pair], data: st.DataObject) -> None:
    assume(any(forms for dialogue, _ in found for turn in dialogue.turns for forms in turn.state.values()))
    predictions = [prediction for _, answers in found for prediction in answers]
    whole = score(predictions, corpus_of(found), "exact", NAMES, ["turn", "service"], ScoringOptions(resamples=2))
    shuffled = data.draw(st.permutations(predictions))
    gold = corpus_of(data.draw(st.permutations(found)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dstress.scoring.shards.SHARD_TURNS", data.draw(st.integers(1, 6)))
        again = score(shuffled, gold, "exact", NAMES, ["turn", "service"], ScoringOptions(resamples=2))
    values = [{name: card[name].value for name in NAMES} for card in (whole, again)]
    assert values[1] == pytest.approx(values[0], abs=1e-12, nan_ok=True)
    assert again.signature == whole.signature
    assert {name: sorted(keys) for name, keys in again.slices.items()} == {
        name: sorted(keys) for name, keys in whole.slices.items()
    }


def test_reordered_turns_and_other_spellings_of_ids_are_fine(scoring: Scoring) -> None:
    rows = [row | {"dialogue": row["dialogue"].upper() + ".json"} for row in reversed(right())]
    assert scoring(rows)["jga"].value == 1.0


def test_the_signature_says_what_was_scored_and_how(scoring: Scoring) -> None:
    card = scoring(right(), convention="trade", options=ScoringOptions(resamples=7, seed=3, interval="bca"))
    assert card["jga"].signature.startswith(
        "jga|corpus:small.test|turns:4|conv:trade|unit:turn|ci:bca.7|seed:3|data:51c1ebd0|dstress:"
    )


# What does not fit


def without_a_turn() -> list[Row]:
    return [row for row in right() if (row["dialogue"], row["turn"]) != ("d0", 1)]


MISFITS = {
    "missing turn": (without_a_turn(), "1 missing turns (d0 turn 1)"),
    "missing dialogue": (right()[:2], "1 missing dialogues (d1)"),
    "unknown dialogue": ([*right(), right()[0] | {"dialogue": "x"}], "1 dialogues that the gold does not have (x)"),
    "one turn too many": ([*right(), right()[0] | {"turn": 2}], "1 turns that the gold does not have (d0 turn 2)"),
}


@pytest.mark.parametrize("name", MISFITS)
def test_a_misfit_is_told_with_its_number_and_place(scoring: Scoring, name: str) -> None:
    rows, message = MISFITS[name]
    with pytest.raises(PredictionError) as caught:
        scoring(rows)
    assert message in problem(caught)
    assert "--allow-partial" in problem(caught)


@pytest.mark.parametrize("name", MISFITS)
def test_a_partial_score_says_so_in_its_signature(scoring: Scoring, name: str) -> None:
    card = scoring(MISFITS[name][0], options=PARTIAL)
    turns = {"missing turn": 3, "missing dialogue": 2}.get(name, 4)
    assert all(f"|coverage:{turns}/4|" in found.signature for found in card.metrics.values())
    assert card["jga"].value == 1.0
    assert card["jga"].n == turns


def test_turns_after_a_gap_are_scored_against_the_last_predicted_turn(scoring: Scoring) -> None:
    north, south = {"hotel-area": ("north",)}, {"hotel-area": ("south",)}
    gold = small_gold([north, south, south, {**south, "hotel-name": ("acorn",)}])
    states = [{slot: forms[0] for slot, forms in turn.state.items()} for turn in next(iter(gold)).turns]
    rows = [{"dialogue": name, "turn": turn, "state": states[turn]} for name in ("d0", "d1") for turn in (0, 2, 3)]
    rows[1]["state"] = {"hotel-area": "north"}
    card = scoring(rows, gold=gold, options=PARTIAL, by=["turn"], metrics=[*NAMES, "jga-floor"])
    assert card.signature["coverage"] == "6/8" and card.signature["turns"] == "6"
    assert card.notes[0] == "left out: 2 missing turns (d0 turn 1, d1 turn 1)"
    assert card["jga"].value == pytest.approx(5 / 6) and card["jga"].n == 6
    # d0 misses the change of the area, made while it was silent, and then makes it beside that of the name.
    subset = small_gold([north, south, {**south, "hotel-name": ("acorn",)}])
    dense = [row | {"turn": max(0, row["turn"] - 1)} for row in rows]
    without_gap = scoring(dense, gold=subset, metrics=NAMES, options=WHOLE)
    assert {name: card[name].value for name in NAMES} == {name: without_gap[name].value for name in NAMES}
    assert [key for key, values in card.by("turn").items() if values["units"]] == ["0", "2", "3"]
    assert card["jga-floor"].value == pytest.approx(1 / 6)  # gold's turn 2 adds nothing to turn 1


def test_what_a_missing_turn_said_is_still_said(scoring: Scoring) -> None:
    texts = ["hello", "the acorn please", "for two"]
    said = Dialogue("d", tuple(Turn(text, "and?", {"hotel-name": ("acorn",)}) for text in texts))
    gold = Corpus("small", "test", SCHEMA, lambda: iter([said]))
    answers = [Prediction("d", turn, {"hotel-name": "acorn"}, informed={"hotel-name": 1}) for turn in (0, 2)]
    card = score(answers, gold, metrics=["nohf", "jga"], convention="trippy", options=PARTIAL)
    assert card["nohf"].value == 0.5 and card["jga"].value == 1.0


@pytest.mark.parametrize("slot", ["bus-area", "hotel-aera"])
def test_a_slot_outside_the_schema_is_a_wrong_value_with_a_note(scoring: Scoring, slot: str) -> None:
    card = scoring(with_value("x", slot))
    assert card["jga"].value == 0.75
    assert "coverage" not in card.signature
    note, *_ = card.notes
    assert note.startswith("counted as wrong: 1 values of slots that the schema does not have")
    assert f"({slot} in d0 turn 0)" in note
    assert ("; did you mean 'hotel-area'" in note) == (slot == "hotel-aera"), "the area of a bus is no hotel's"


@pytest.mark.shared
def test_a_generative_tracker_is_scored_as_it_is(shared: Path) -> None:
    gold = corpora.load(f"{shared / 'data/multiwoz21-trade'}:test")
    card = score(shared / "data/predictions/causal-a-test.jsonl.zip", gold, "exact", ["jga"], options=PARTIAL)
    assert round(100 * card["jga"].value, 2) == 53.28
    assert card == score(shared / "data/predictions/causal-a-test.jsonl.zip", gold, "exact", ["jga"], options=WHOLE)
    assert "2 values of slots that the schema does not have" in card.notes[0]


def test_a_card_suggests_the_nearest_metric(scoring: Scoring) -> None:
    with pytest.raises(UnknownNameError, match="unknown metric 'jgaa'; did you mean 'jga'"):
        scoring(right())["jgaa"]


def test_leave_to_be_partial_changes_nothing_where_all_fits(scoring: Scoring) -> None:
    assert scoring(right(), options=PARTIAL) == scoring(right())


@pytest.mark.parametrize("options", [ScoringOptions(), PARTIAL])
def test_a_doubled_turn_is_refused_in_any_case(scoring: Scoring, options: ScoringOptions) -> None:
    with pytest.raises(PredictionError, match="line 5, dialogue d0, turn 0: this turn is there twice"):
        scoring([*right(), right()[0]], options=options)


def test_a_doubled_turn_among_given_predictions_is_refused_with_and_without_gold() -> None:
    twice = [Prediction("d", 0, {}, gold=STATES[0])] * 2
    gold = Corpus("small", "test", SCHEMA, lambda: iter([Dialogue("d", (Turn("?", "", STATES[0]),))]))
    with pytest.raises(PredictionError, match=r"1 doubled turns.*\(d turn 0\)"):
        score(twice, gold)
    with pytest.raises(PredictionError, match="dialogue d, turn 0: this turn is there twice"):
        score(twice)


# Values and files


@pytest.mark.parametrize(("value", "jga"), [(4, 1.0), (4.0, 1.0), ("4", 1.0), (4.5, 0.75), (None, 0.75)])
def test_numbers_are_their_text_and_null_is_no_value(scoring: Scoring, value: object, jga: float) -> None:
    gold = small_gold([{"hotel-area": ("4",)}, STATES[1]])
    rows = with_value(value)
    rows[2]["state"]["hotel-area"] = "4"
    assert scoring(rows, gold=gold)["jga"].value == jga


@pytest.mark.parametrize(
    ("value", "shown"), [([["north"]], "a list"), ({"is": "north"}, "an object"), (True, "true or false")]
)
def test_a_value_that_is_no_text_is_named(scoring: Scoring, value: object, shown: str) -> None:
    with pytest.raises(PredictionError) as caught:
        scoring(with_value(value))
    assert f"line 1, dialogue d0, turn 0: the value of the slot 'hotel-area' is {shown}" in problem(caught)


LINE = b'{"dialogue": "d0", "turn": 0, "state": {"hotel-area": %s}}\n'
BROKEN = {
    "nan": (LINE % b"NaN", "line 1", "NaN and Infinity are not JSON"),
    "infinite": (LINE % b"-Infinity", "line 1", "NaN and Infinity are not JSON"),
    "huge": (LINE % b"1e300", "dialogue d0, turn 0", "a number out of range"),
    "not utf-8": (LINE % b'"\xff"', "line 1", "not UTF-8 text"),
    "cut off": (LINE % b'"north"' + LINE[:20], "line 2", "cut off"),
    "empty": (b"", "answers.jsonl", "an empty file"),
    "blank": (b"\n \n", "answers.jsonl", "an empty file"),
    "no object": (b"[1, 2]\n", "answers.jsonl", "no known prediction format"),
    "no state": (b'{"dialogue": "d0", "turn": 0, "state": ["north"]}\n', "line 1", "Expected `object`, got `array`"),
    "no turn": (b'{"dialogue": "d0", "turn": "last", "state": {}}\n', "line 1", "Expected `int`, got `str`"),
    "before the start": (b'{"dialogue": "d0", "turn": -1, "state": {}}\n', "dialogue d0", "the turn -1 cannot be"),
}


@pytest.mark.parametrize("options", [ScoringOptions(), PARTIAL])
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_an_error_that_names_the_place(scoring: Scoring, name: str, options: ScoringOptions) -> None:
    data, where, message = BROKEN[name]
    with pytest.raises(PredictionError) as caught:
        scoring(data, options=options)
    assert where in problem(caught)
    assert message in problem(caught)


@pytest.mark.parametrize("name", [name for name in formats.targets if name not in ("dstress", "flat")])
def test_a_file_of_another_format_than_claimed_is_refused(scoring: Scoring, name: str) -> None:
    with pytest.raises(PredictionError) as caught:
        scoring(right(), options=ScoringOptions(format=name, allow_partial=True))
    assert "answers.jsonl" in problem(caught) and "has the shape of" not in problem(caught)


def test_a_named_format_is_tried_alone_and_says_what_it_misses(scoring: Scoring) -> None:
    assert scoring(right(), options=ScoringOptions(format="flat"))["jga"].value == 1.0
    rows = [{"talk": row["dialogue"], "turn_index": row["turn"], "prediction": row["state"]} for row in right()]
    with pytest.raises(PredictionError) as caught:
        scoring(rows, options=ScoringOptions(format="flat"))
    assert "flat needs a dialogue column; found talk, turn_index, prediction" in problem(caught)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"options": ScoringOptions(format="drestss")}, "unknown format 'drestss'; did you mean 'dstress'"),
        ({"convention": "exat"}, "unknown convention 'exat'; did you mean 'exact'"),
        ({"metrics": ["jgaa"]}, "unknown metric 'jgaa'; did you mean 'jga'"),
        ({"by": ["domian"]}, "unknown slice 'domian'; did you mean 'domain'"),
        ({"metrics": ["requested-slots-f1"]}, "cannot be computed: the predictions have no requested slots"),
        ({"gold": None}, "carries no gold"),
    ],
)
def test_a_wrong_call_is_told_what_there_is(scoring: Scoring, wrong: Row, message: str) -> None:
    with pytest.raises(DstressError) as caught:
        scoring(right(), **wrong)
    assert message in problem(caught)


def test_a_file_of_another_split_is_told_which_split_it_fits(scoring: Scoring, tmp_path: Path) -> None:
    for split, name in (("train", "t"), ("test", "d")):
        dialogues = [{"id": f"{name}{n}", "turns": [{"user": "?", "state": {"hotel-area": ["x"]}}]} for n in (0, 1)]
        path = tmp_path / f"corpus/{split}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(json.dumps(dialogue) + "\n" for dialogue in dialogues))
    corpora.add("mine", tmp_path / "corpus")
    rows = [{"dialogue": f"t{n}", "turn": 0, "state": {"hotel-area": "x"}} for n in (0, 1)]
    assert scoring(rows, gold="mine:train")["jga"].value == 1.0
    for mixed in (rows, [*rows, {"dialogue": "d0", "turn": 0, "state": {}}]):
        with pytest.raises(PredictionError, match="the predictions are those of mine:train"):
            scoring(mixed, gold="mine:test")


@pytest.mark.parametrize("options", [ScoringOptions(), PARTIAL])
def test_predictions_of_which_none_fits_are_never_a_score(options: ScoringOptions) -> None:
    with pytest.raises(PredictionError, match=r"no prediction fits small:test: 2 missing dialogues \(d0, d1\)"):
        score([], small_gold(), options=options)
    with pytest.raises(PredictionError, match="3 dialogues that the gold does not have"):
        score([Prediction(name, 0, {}) for name in "xyz"], small_gold(), options=options)


def test_a_file_without_predictions_that_should_carry_gold_is_an_error() -> None:
    with pytest.raises(PredictionError, match="holds no predictions"):
        score([])
    with pytest.raises(PredictionError, match="dialogue d, turn 0: the prediction carries no gold"):
        score([Prediction("d", 0, {})])


@pytest.mark.parametrize("rows", [right(), [row | {"state": {}} for row in right()]])
def test_gold_without_states_is_an_error(scoring: Scoring, rows: list[Row]) -> None:
    with pytest.raises(DstressError, match="no state"):
        scoring(rows, gold=small_gold([{}, {}]))


def test_the_state_of_a_system_that_tracks_none_has_no_score() -> None:
    answers = [Prediction(name, turn, {}, response="Sure.", stateless=True) for name in ("d0", "d1") for turn in (0, 1)]
    with pytest.raises(PredictionError, match="no state"):
        score(answers, small_gold(), metrics="jga")


def test_updates_in_place_of_states_are_noted(scoring: Scoring) -> None:
    slots = ("hotel-area", "hotel-name")
    rows = [row | {"state": {slots[row["turn"]]: "north"}} for row in right()]
    assert "turn updates instead of cumulative states" in " ".join(scoring(rows).notes)
    assert scoring(right()).notes == []
