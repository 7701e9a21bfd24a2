"""MultiWOZ 2.2 beside its five scored domains, and its slots that no state holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dstress
from dstress.predictions.base import Prediction
from dstress.scoring.score import ScoringOptions, score

STATES = {
    "hospital": {"hospital-department": ["cardiology"]},
    "bus": {"bus-departure": ["ely"], "bus-destination": ["cambridge"], "bus-leaveat": ["9:00"], "bus-day": ["monday"]},
    "hotel": {"hotel-area": ["north"]},
}


def write(folder: Path, schema: object) -> str:
    """A corpus of one dialogue, in which each turn has frames of all services, as published, and one more is told."""
    folder.mkdir()
    (folder / "schema.json").write_text(json.dumps(schema), encoding="utf-8")
    turns: list[object] = []
    known: dict[str, dict[str, list[str]]] = {service: {} for service in STATES}
    for service, values in STATES.items():
        known = known | {service: values}
        frames = [
            {"service": name, "state": {"active_intent": "NONE", "requested_slots": [], "slot_values": slots}}
            for name, slots in known.items()
        ]
        turns.append({"speaker": "USER", "turn_id": str(len(turns)), "utterance": service, "frames": frames})
        turns.append({"speaker": "SYSTEM", "turn_id": str(len(turns)), "utterance": "?", "frames": []})
    (folder / "test").mkdir()
    dialogues = [{"dialogue_id": "MUL1.json", "services": list(STATES), "turns": turns}]
    (folder / "test" / "dialogues_001.json").write_text(json.dumps(dialogues), encoding="utf-8")
    return str(folder)


@pytest.fixture
def gold(shared: Path, tmp_path: Path) -> dstress.Corpus:
    published = json.loads((shared / "data/multiwoz21-raw/multiwoz22_schema.json").read_text(encoding="utf-8"))
    return dstress.load(write(tmp_path / "mwz22", published))


def answers(gold: dstress.Corpus, extra: dict[str, str]) -> list[Prediction]:
    (dialogue,) = gold
    states = [{slot: forms[0] for slot, forms in turn.state.items()} for turn in dialogue.turns]
    return [
        Prediction("MUL1", 0, states[0]),
        Prediction("MUL1", 1, states[1]),
        Prediction("MUL1", 2, states[2] | extra),
    ]


def test_hospital_and_bus_are_imported(gold: dstress.Corpus) -> None:
    (dialogue,) = gold
    assert dialogue.turns[2].state == {
        "hospital-department": ("cardiology",),
        "bus-departure": ("ely",),
        "bus-destination": ("cambridge",),
        "bus-leaveat": ("9:00",),
        "bus-day": ("monday",),
        "hotel-area": ("north",),
    }
    assert "hotel-phone" not in gold.schema.slots
    assert {"hotel-phone", "train-trainid", "taxi-type", "hospital-address"} <= gold.schema.requestable


@pytest.mark.parametrize("convention", ["multiwoz22", "exact"])
@pytest.mark.parametrize(
    ("extra", "right"), [({}, 3), ({"hotel-phone": "01223"}, 2), ({"hospital-postcode": "cb20qq"}, 2)]
)
def test_a_predicted_slot_of_the_official_schema_counts(
    gold: dstress.Corpus, convention: str, extra: dict[str, str], right: int
) -> None:
    card = score(answers(gold, extra), gold, convention, "jga", options=ScoringOptions(resamples=2))
    assert card["jga"].value == pytest.approx(right / 3, abs=1e-9)


def test_predictions_in_the_layout_of_the_corpus_name_such_slots(gold: dstress.Corpus, tmp_path: Path) -> None:
    files = tmp_path / "mwz22" / "test" / "dialogues_001.json"
    dialogues = json.loads(files.read_text(encoding="utf-8"))
    for frame in dialogues[0]["turns"][0]["frames"]:
        if frame["service"] == "hotel":
            frame["state"]["slot_values"] = {"hotel-phone": ["01223"]}
    predictions = tmp_path / "dialogues_001.json"
    predictions.write_text(json.dumps(dialogues), encoding="utf-8")
    card = score(predictions, gold, "multiwoz22", "jga", options=ScoringOptions(resamples=2))
    assert card["jga"].value == pytest.approx(2 / 3, abs=1e-9)
