"""What a person can get wrong with responses: one message each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

import dstress
from dstress.cli.main import main
from dstress.corpora.base import Corpus
from dstress.corpora.database import Database
from dstress.dialogue import Dialogue, Goal, Schema, Service, Slot, Turn
from dstress.errors import DstressError
from dstress.predictions.base import Prediction
from dstress.scoring.score import score
from tests.corpora.test_database import tabled

SCHEMA = Schema((Service("hotel", slots=(Slot("area"), Slot("name"))),))
GOAL = Goal(inform={"hotel-area": ("north",)})
TURNS = tuple(
    Turn("anything nice out there ?", system, {"hotel-area": ("north",)}) for system in ("", "The Larkspur Inn ?")
)
HOTELS = Database({"hotel": [{"name": "the larkspur inn", "area": "north"}]})


def gold(goal: Goal | None = GOAL, database: Database | None = HOTELS) -> Corpus:
    dialogue = Dialogue("d", TURNS, ("hotel",), goal, "Goodbye .")
    corpus = Corpus("mine", "", SCHEMA, lambda: iter([dialogue]))
    corpus.open_database = lambda: database
    return corpus


def answer(turn: int, response: str | None = "[hotel_name] ?", **rest: Any) -> Prediction:
    return Prediction("d", turn, {"hotel-area": "north"}, response=response, **rest)


@pytest.mark.parametrize(
    ("predictions", "corpus", "metric", "message"),
    [
        (
            [answer(0, None), answer(1, None)],
            gold(),
            "inform",
            "inform cannot be computed: the predictions have no resp",
        ),
        (
            [answer(0), answer(1, None)],
            gold(),
            "bleu",
            "dialogue d, turn 1: no response here, unlike dialogue d, turn 0",
        ),
        ([answer(0), answer(1)], gold(None), "inform", "the gold has no goals"),
        ([answer(0), answer(1)], gold(database=None), "success", "has no database; import it again from a source"),
        ([answer(0), answer(1, domains=("hotel",))], gold(), "inform", "turn 0: no active domains here, .*--domains"),
        (
            [answer(0), answer(1, stateless=True)],
            gold(),
            "inform",
            "dialogue d, turn 1: no state here, unlike dialogue d, turn 0",
        ),
        ([answer(0)], gold(), "inform", "do not fit the gold: 1 missing turns .*--allow-partial"),
        ([answer(0), answer(1)], gold(), "bleu(references=nowhere.json)", "nowhere.json: cannot read the references"),
    ],
)
def test_every_slip_is_told(predictions: list[Prediction], corpus: Corpus, metric: str, message: str) -> None:
    import re

    with pytest.raises(DstressError) as error:
        score(predictions, corpus, metrics=[metric], resamples=0)
    assert re.search(message, str(error.value), re.DOTALL), error.value


def test_a_reference_that_is_not_there_is_named(tmp_path: Path) -> None:
    file = tmp_path / "references.json"
    file.write_text(json.dumps({"D": ["NAME ?"]}))
    with pytest.raises(DstressError, match="there is no reference") as error:
        score([answer(0), answer(1)], gold(), metrics=[f"bleu(references={file})"], resamples=0)
    assert error.value.where == f"{file}, dialogue d, turn 1"


def test_a_placeholder_that_no_schema_knows_is_noted_and_left_out() -> None:
    card = score(
        [answer(0, "[hotel_wifi] [hotel_wifi] [name] ?"), answer(1, "bye")], gold(), metrics=["richness"], resamples=0
    )
    assert card.notes == ["placeholders that no schema knows were left out: [hotel_wifi] 2 times"]
    assert card["richness"].value == 1.0


def test_domains_that_the_schema_does_not_have_are_told() -> None:
    told = [answer(turn, domains=("hotel", "spaceship")) for turn in range(2)]
    notes = score(told, gold(), metrics=["inform"], resamples=0).notes
    assert notes == ["active domains that the schema does not have count for nothing: spaceship 2 times"]
    state = {"spaceship-area": "north"}
    wrong = [msgspec.structs.replace(one, state=state) for one in (answer(0), answer(1))]
    (note,) = score(wrong, gold(), metrics=["inform"], resamples=0).notes
    assert note.startswith(
        "counted as wrong: 2 values of slots that the schema does not have (spaceship-area in d turn 0"
    )


def test_the_signature_says_where_domains_come_from() -> None:
    for domains, expected in ((None, "states"), (("hotel",), "predicted")):
        predictions = [answer(turn, domains=domains) for turn in range(2)]
        assert score(predictions, gold(), metrics=["inform"], resamples=0).signature["domains"] == expected
    card = score([answer(0), answer(1)], gold(), metrics=["inform"], resamples=0, domains="placeholders")
    assert card.signature["domains"] == "placeholders" and "states" not in card.signature
    stateless = [answer(turn, stateless=True) for turn in range(2)]
    assert score(stateless, gold(), metrics=["inform"], resamples=0).signature["states"] == "gold"


def test_responses_that_say_values_are_scored_too() -> None:
    lexical = [answer(0, "How about the Larkspur Inn ?"), answer(1, "Bye .")]
    assert score(lexical, gold(), metrics=["inform"], resamples=0)["inform"].value == 0
    card = score(lexical, gold(), metrics=["inform"], resamples=0, delexicalise=True)
    assert card["inform"].value == 100 and card.signature["delexicalised"] == "database"
    with pytest.raises(DstressError, match="no database to find values in"):
        score(lexical, gold(database=None), metrics=["bleu"], resamples=0, delexicalise=True)


def test_a_response_that_is_no_text_and_an_unknown_dialogue_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = tabled(tmp_path / "corpus", hotel=[{"name": "the ark"}])
    file = tmp_path / "responses.json"
    for content, message in (
        ({"SNG0003": [{"response": 7}]}, "dialogue SNG0003, turn 0: the response is no text fix: give every turn"),
        ({"SNG0003": [{"response": "hi"}, {"state": {}}]}, "dialogue SNG0003, turn 1: there is no response fix: give"),
        ({"SNG9999": [{"response": "hi"}]}, "dialogues that the gold does not have (SNG9999"),
    ):
        file.write_text(json.dumps(content))
        with pytest.raises(SystemExit) as stopped:
            main(["score", str(file), "--gold", f"{corpus}:test", "--metrics", "bleu"])
        assert stopped.value.code == 2
        assert message in " ".join(capsys.readouterr().err.split())


def test_what_responses_are_judged_by_is_kept_under_a_stressor() -> None:
    plain = gold()
    booked = [msgspec.structs.replace(turn, booked=("hotel",)) for turn in TURNS]
    corpus = Corpus("mine", "", SCHEMA, lambda: iter([Dialogue("d", tuple(booked), ("hotel",), GOAL, "Goodbye .")]))
    corpus.open_database = plain.open_database
    stressed = dstress.stress(corpus, "typos(rate=1.0)")
    (dialogue,) = stressed
    assert dialogue.turns[0].changed and dialogue.goal == GOAL and dialogue.closing == "Goodbye ."
    assert [turn.booked for turn in dialogue.turns] == [("hotel",)] * 2
    assert stressed.database is HOTELS


def test_a_turn_whose_answer_the_corpus_does_not_have_is_not_in_bleu() -> None:
    dialogue = Dialogue("d", TURNS, ("hotel",), GOAL)
    corpus = Corpus("mine", "", SCHEMA, lambda: iter([dialogue]))
    predictions = [answer(0, "the larkspur inn ?"), answer(1, "whatever you say")]
    card = score(predictions, corpus, metrics=["bleu"], resamples=0)
    assert card["bleu"].value == pytest.approx(100) and card["bleu"].n == 4
