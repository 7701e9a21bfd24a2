"""Grounding, held to the output of CheckDST's class; a small reference fixes what its other numbers mean."""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstress.dialogue import DONTCARE, Schema, Service, Slot
from dstress.predictions.checkdst import BeliefTexts
from dstress.scoring.metrics.grounding import is_grounded, named_entities
from dstress.text.slot_names import is_named_entity_slot
from tests.paths import DOCS

FILES = {
    "orig": "orig_example.checkdst_prediction.jsonl",
    "NED": "NED_example.checkdst_prediction.jsonl",
    "PI": "PI_example.checkdst_prediction.jsonl",
}
LOGS = "example_parlai_world_logs.checkdst_prediction.jsonl"
NOHF = DOCS / "metrics" / "nohf.md"
NOTHING = Schema()


class Row(NamedTuple):
    """One prediction, judged: joint goal, names predicted, names that the context does not have."""

    right: bool
    names: int
    invented: int


def judged(path: Path) -> dict[str, Row]:
    """By `dial_id`. A slot that is predicted twice keeps its values apart here, as in the class."""
    rows = {}
    for line in path.read_text("utf-8").splitlines():
        item = json.loads(line)
        if item["pred"] is None:
            continue
        predicted, gold = ({*beliefs(item[side])} for side in ("pred", "gold"))
        names = [
            name for belief in beliefs(item["pred"]) for _, name in named_entities(dict([belief]), NOTHING, raw=True)
        ]
        invented = sum(not is_grounded(value, item["context"], raw=True) for value in names)
        rows[item["dial_id"]] = Row(predicted == gold, len(names), invented)
    return rows


def beliefs(text: str) -> list[tuple[str, str]]:
    """Piece by piece, for `BeliefTexts` joins the values of a repeated slot."""
    reader = BeliefTexts(None)
    return [belief for piece in text.split(",") for belief in reader.state(piece).items()]


def reference(rows: dict[str, Row], kind: str, need: dict[str, bool] | None = None) -> dict[str, Any]:
    """The class's numbers for one file, rounded as there. Without gold no row needs coreference: a mean of none."""
    names, invented = sum(row.names for row in rows.values()), sum(row.invented for row in rows.values())
    referring = [row.right for name, row in rows.items() if (need or {}).get(name)]
    return {
        f"jga_{kind}": round(fmean(row.right for row in rows.values()), 4),
        f"coref_jga_{kind}": round(fmean(referring), 4) if referring else None,
        f"coref_ct_{kind}": len(referring),
        f"factuality_{kind}": round(1 - invented / names, 4),
        f"hallucination_cts_{kind}": invented,
        f"pred_named_entity_cts_{kind}": names,
    }


def paired(original: dict[str, Row], changed: dict[str, Row], kind: str) -> dict[str, float]:
    """cjga: both right over all pairs. conditional_jga, the paper's cJGA: both right where either is."""
    pairs = [(original[name].right, changed[name].right) for name in original.keys() & changed.keys()]
    return {
        f"cjga_orig_{kind}": round(fmean(a and b for a, b in pairs), 4),
        f"conditional_jga_orig_{kind}": round(fmean(a and b for a, b in pairs if a or b), 4),
    }


@pytest.mark.parametrize("kind", ["NED", "PI"])
def test_a_pair_of_files_scores_as_in_the_class(shared: Path, kind: str) -> None:
    folder = shared / "golden" / "checkdst"
    original, changed = (judged(folder / "data" / FILES[name]) for name in ("orig", kind))
    expected = json.loads((folder / "official.json").read_text("utf-8"))
    assert (
        reference(original, "orig") | reference(changed, kind) | paired(original, changed, kind)
        == (expected[f"orig_then_{kind}_only"])
    )
    assert reference(changed, kind) == expected[f"{kind}_alone"]


def test_the_world_logs_score_as_in_the_class(shared: Path) -> None:
    folder = shared / "golden" / "checkdst"
    expected = json.loads((folder / "official.json").read_text("utf-8"))["world_logs_orig_only"]
    assert reference(judged(folder / "data" / LOGS), "orig") == expected


@pytest.mark.parametrize("kind", ["orig", "NED", "PI"])
def test_coreference_jga_reads_the_gold_file(shared: Path, kind: str) -> None:
    folder = shared / "golden" / "checkdst"
    gold = json.loads((folder / "data" / "synthetic_gold_need_coref.json").read_text("utf-8"))
    need = {name.replace(".json", "").lower(): turn["need_coref"] for name, turn in gold.items()}
    expected = json.loads((folder / "official_synthetic_gold.json").read_text("utf-8"))["results"]
    found = reference(judged(folder / "data" / FILES[kind]), kind, need)
    assert found == {key: expected[key] for key in found}


@pytest.mark.parametrize(
    ("value", "text", "default", "raw"),
    [
        ("kings college", "to King 's College .", True, False),
        ("king's college", "to kings college", True, False),
        ("guest house", "a guesthouse", True, False),
        ("acorn guesthouse", "the Acorn Guest House?", True, False),
        ("a & b guest house", "a and b guest house", True, False),
        ("eat", "the theatre", False, True),
        ("the missing sock", "missing sock", False, False),
        ("cafe uno", "caffe uno", False, False),
        ("ely", "surely", False, True),
        ("?!", "anything", True, False),
    ],
)
def test_grounded(value: str, text: str, default: bool, raw: bool) -> None:
    assert is_grounded(value, text) is default
    assert is_grounded(value, text, raw=True) is raw


@given(st.lists(st.text("abc '-.", max_size=8), max_size=4), st.text("abc '-.", max_size=6))
def test_utterances_are_searched_one_by_one(texts: list[str], value: str) -> None:
    assert is_grounded(value, texts) == (not re.search(r"\w", value) or any(is_grounded(value, text) for text in texts))


@given(st.text(max_size=20), st.text(max_size=20), st.text(max_size=20))
def test_what_is_said_is_grounded(left: str, value: str, right: str) -> None:
    assert is_grounded(value, f"{left} {value} {right}")
    assert is_grounded(value.upper(), f"{left} {value.upper()} {right}")


def test_a_value_does_not_span_utterances() -> None:
    assert not is_grounded("pizza hut", ["a pizza", "hut please"])


SOME = Schema(
    (
        Service("Buses_9", "", (Slot("from_city", "City to leave from"), Slot("leaving_date", "Date of the trip"))),
        Service("Homes_9", "", (Slot("area", "City where the property is"), Slot("rent", "Rent per month"))),
        Service("Trains_9", "", (Slot("sum", "Total price of the trip"), Slot("class", "", True, ("first",)))),
        Service("Movies_9", "", (Slot("directed_by", "Director of the movie"), Slot("movieTitle", "Name of it"))),
    )
)


def test_named_entity_slots() -> None:
    found = [slot for slot in SOME.slots if is_named_entity_slot(slot, SOME)]
    assert found == ["Buses_9-from_city", "Homes_9-area", "Movies_9-directed_by", "Movies_9-movieTitle"]
    assert is_named_entity_slot("train-destination", SOME)
    assert not is_named_entity_slot("hotel-area", SOME)
    assert not is_named_entity_slot("no-such", SOME)


def test_dontcare_names_nothing_except_in_the_class() -> None:
    state = {"hotel-name": DONTCARE, "taxi-departure": "none", "train-departure": "centre", "hotel-area": "north"}
    assert list(named_entities(state, NOTHING)) == [("train-departure", "centre")]
    assert [value for _, value in named_entities(state, NOTHING, raw=True)] == [DONTCARE, "none", "center"]


def test_the_worked_example_of_the_docs() -> None:
    table = re.findall(r"^\| `(\S+)` \| `(.+?)` \| (\d) \| (\d) \|$", NOHF.read_text("utf-8"), re.MULTILINE)
    utterances = re.findall(r"^    (?:USER|SYSTEM) +(.+)$", NOHF.read_text("utf-8"), re.MULTILINE)
    assert len(table) == 5
    assert len(utterances) == 3
    for slot, value, default, raw in table:
        assert is_named_entity_slot(slot, NOTHING)
        assert is_grounded(value, utterances) is bool(int(default)), value
        assert is_grounded(value, utterances, raw=True) is bool(int(raw)), value
    share = [sum(int(row[column]) for row in table) / len(table) for column in (2, 3)]
    assert f"NoHF is {share[0]:.2f}, and {share[1]:.2f} with `raw=true`" in NOHF.read_text("utf-8")
