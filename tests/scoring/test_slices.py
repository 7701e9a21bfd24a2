"""One rule for what a slice is: of single files, of pairs, of variants, of systems, and in a suite's table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest

from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue, Schema, Service, Slot, Turn
from dstress.errors import DstressError
from dstress.pipeline.compare import compare
from dstress.pipeline.stress import stress
from dstress.predictions.base import Prediction
from dstress.scoring.open_pair import PredictionSource
from dstress.scoring.score import ScoringOptions, score
from dstress.scoring.versions import conditional, variants

QUICK = ScoringOptions(resamples=20)
SCHEMA = Schema((Service("hotel", slots=(Slot("area"), Slot("name"))), Service("taxi", slots=(Slot("to"),))))
RENAMED = Schema((Service("lodging", slots=(Slot("zone"), Slot("title"))), Service("cab", slots=(Slot("goal"),))))
AREA, NAME, TO = "hotel-area", "hotel-name", "taxi-to"


def source(
    gold: Sequence[Mapping[str, str]],
    said: Sequence[Mapping[str, str]],
    words: Sequence[str] = (),
    schema: Schema = SCHEMA,
    seen: frozenset[str] | None = None,
) -> PredictionSource:
    """One dialogue, turn by turn: its gold, the answers, the words."""
    words = words or ["same"] * len(gold)
    states = [{slot: (value,) for slot, value in state.items()} for state in gold]
    turns = tuple(Turn(text, state=state) for text, state in zip(words, states, strict=True))
    corpus = Corpus("c", "test", schema, lambda: iter([Dialogue("d", turns)]))
    corpus.seen = seen
    return PredictionSource([Prediction("d", number, dict(state)) for number, state in enumerate(said)], corpus)


GOLD = [{AREA: "a"}, {AREA: "a"}, {AREA: "a", TO: "x"}, {TO: "x"}]
ORIGINAL = [{AREA: "a"}, {AREA: "a"}, {AREA: "b", TO: "x"}, {TO: "x"}]
COPY = [{AREA: "a"}, {AREA: "b", TO: "y"}, {AREA: "a", TO: "x"}, {TO: "x"}]
"""The copy makes turn 1 wrong in its area and with a taxi out of nowhere, and turn 2 right in its area."""


@pytest.fixture
def pair() -> list[PredictionSource]:
    seen = frozenset({"hotel"})
    return [source(GOLD, ORIGINAL, seen=seen), source(GOLD, COPY, ["new", "new", "new", "same"])]


def test_pairs_by_service(pair: list[PredictionSource]) -> None:
    """Of each turn the slots of a service, where either version has any on either side; unchanged pairs do not count.

    The hotel is right in turns 0 and 1, then in 0 and 2. The taxi is there in turn 2, right in both, and in turn 1,
    where only the copy speaks of one: silence was right. Turn 3 is unchanged.
    """
    by = conditional(*pair, options=QUICK, by=["service", "seen", "domain"]).slices
    assert by["service"]["hotel"]["units"] == 3 and by["service"]["taxi"]["units"] == 2
    assert by["service"]["hotel"]["cjga"] == pytest.approx(1 / 3)
    assert by["service"]["taxi"]["cjga"] == pytest.approx(1 / 2)
    assert by["service"]["taxi"]["newly-wrong"] == pytest.approx(1 / 2)
    assert by["seen"] == {"seen": by["service"]["hotel"], "unseen": by["service"]["taxi"]}
    assert by["domain"] == by["service"]


def test_pairs_by_slot_are_right_or_wrong_in_it(pair: list[PredictionSource]) -> None:
    by = conditional(*pair, options=QUICK, by=["slot"]).slices
    assert list(by["slot"]) == [AREA, TO] and by["slot"][AREA]["cjga"] == pytest.approx(1 / 3)


def test_pairs_by_what_was_changed_show_both_kinds(pair: list[PredictionSource]) -> None:
    card = conditional(*pair, options=QUICK, by=["changed"])
    changed, rest = card.slices["changed"]["changed"], card.slices["changed"]["as it was"]
    assert changed["units"] == 3 and changed["cjga"] == card["cjga"].value
    assert rest["units"] == 1 and rest["cjga"] == 1


def renamed(state: Mapping[str, str]) -> dict[str, str]:
    names = {AREA: "lodging-zone", NAME: "lodging-title", TO: "cab-goal"}
    return {names[slot]: value for slot, value in state.items()}


@pytest.mark.parametrize("key", ["service", "slot", "seen"])
def test_variants_are_cut_by_the_names_of_the_original(key: str) -> None:
    """The same answers under other names are the same parts, also where a whole turn is the unit."""
    other = source(list(map(renamed, GOLD)), list(map(renamed, COPY)), schema=RENAMED, seen=frozenset({"lodging"}))
    own = [source(GOLD, said, seen=frozenset({"hotel"})) for said in (ORIGINAL, COPY)]
    expected = variants(own, own[0], options=QUICK, by=[key]).slices
    assert variants([own[0], other], own[0], options=QUICK, by=[key]).slices == expected
    assert next(iter(expected[key])) in ("hotel", AREA, "seen")


def test_table_2_of_sgd_x(shared: Path) -> None:
    """All four columns for all, seen and unseen services, from what the official evaluator says of each variant."""
    golden = shared / "golden"
    runs = [PredictionSource(golden / f"sgdx/v{k}/preds", str(golden / f"sgdx/v{k}/ref")) for k in range(1, 6)]
    original = PredictionSource(golden / "sgd/preds_a", str(golden / "sgd/ref"))
    card = variants(runs, original, options=QUICK, by=["seen", "service"])
    assert list(card.metrics)[:4] == ["jga-orig", "jga-v1-5", "diff-rel", "ss(jga)"]
    official = [json.loads((golden / f"sgdx/v{k}/official.json").read_text()) for k in range(1, 6)]
    own = json.loads((golden / "sgd/official_a.json").read_text())
    frames = json.loads((golden / "sgdx/per_frame_jga_v1to5.json").read_text())
    trained = {service["service_name"] for service in json.loads((golden / "sgd/schema_train.json").read_text())}
    for key, name in (("seen", "#SEEN_SERVICES"), ("unseen", "#UNSEEN_SERVICES")):
        found = card.slices["seen"][key]
        mean, before = fmean(one[name]["joint_goal_accuracy"] for one in official), own[name]["joint_goal_accuracy"]
        assert found["jga-orig"] == pytest.approx(before, abs=1e-9)
        assert found["jga-v1-5"] == pytest.approx(mean, abs=1e-9)
        assert found["diff-rel"] == pytest.approx(mean / before - 1, abs=1e-9)
        part = [row for frame, row in frames.items() if (frame.rpartition("-")[2] in trained) is (key == "seen")]
        assert found["ss(jga)"] == pytest.approx(sensitivity(part), abs=1e-9) and found["units"] == len(part)
    for service, found in card.slices["service"].items():
        part = [row for frame, row in frames.items() if frame.rpartition("-")[2] == service]
        assert found["ss(jga)"] == pytest.approx(sensitivity(part), abs=1e-9), service


def sensitivity(rows: Sequence[Sequence[float]]) -> float:
    return fmean(stdev(row) / fmean(row) if any(row) else 0.0 for row in rows)


def test_systems_by_slice() -> None:
    gold = source(GOLD, ORIGINAL).gold
    systems: dict[str, Any] = {"a": source(GOLD, ORIGINAL).predictions, "b": source(GOLD, COPY).predictions}
    found = compare(systems, gold, metrics=["jga", "slot-f1"], options=QUICK, by=["service", "slot"]).slices
    assert found["a"]["service"]["hotel"]["jga"] == pytest.approx(2 / 3)
    assert found["b"]["service"]["taxi"]["jga"] == pytest.approx(2 / 3)
    assert found["a"]["slot"][TO]["slot-f1"] == 1
    assert found["a"] == {
        name: score(systems["a"], gold, by=[name], metrics=["jga", "slot-f1"]).by(name) for name in found["a"]
    }


def test_a_stressed_corpus_by_what_was_changed() -> None:
    answers, gold = source(GOLD, ORIGINAL, ["a hotel in the north please"] * 4)
    stressed = stress(gold, "typos(rate=0.5)")
    changed = sum(turn.changed for dialogue in stressed for turn in dialogue.turns)
    systems: dict[str, Any] = {"a": list(answers), "b": list(answers)}
    by = compare(systems, stressed, metrics=["jga"], options=QUICK, by=["changed"]).slices["a"]["changed"]
    assert changed > 0 and by["changed"]["jga"] is not None


@pytest.mark.parametrize(
    ("by", "words"),
    [
        (["sen"], "unknown slice 'sen'; did you mean 'seen'"),
        (["seen"], "no slice 'seen': the services of its training data are not known"),
    ],
)
def test_pairs_refuse_what_cannot_be(by: list[str], words: str) -> None:
    untrained = [source(GOLD, ORIGINAL), source(GOLD, COPY, ["new"] * 4)]
    with pytest.raises(DstressError, match=words) as told:
        conditional(*untrained, options=QUICK, by=by)
    assert "service, domain" in told.value.fix


@pytest.mark.parametrize("name", ["changed", "stress"])
def test_variants_have_no_part_that_was_changed(name: str, pair: list[PredictionSource]) -> None:
    with pytest.raises(DstressError, match=f"'{name}' cuts nothing") as told:
        variants(pair, options=QUICK, by=[name])
    assert "service, domain, seen, turn, active, dialogue, slot" in told.value.fix


def test_a_metric_of_many_slots_has_no_part_of_one(pair: list[PredictionSource]) -> None:
    with pytest.raises(DstressError, match="aga under exact cannot be cut by 'slot'") as told:
        variants(pair, metric="aga", options=QUICK, by=["slot"])
    assert told.value.fix.startswith("possible: service, domain, seen")


def test_systems_refuse_a_slice_that_shows_nothing_of_the_metrics() -> None:
    systems: dict[str, Any] = {"a": source(GOLD, ORIGINAL).predictions, "b": source(GOLD, COPY).predictions}
    with pytest.raises(DstressError, match="jga cannot be cut by 'slot'") as told:
        compare(systems, source(GOLD, ORIGINAL).gold, metrics=["jga"], options=QUICK, by=["slot"])
    assert told.value.fix == "possible --metrics: slot-precision, slot-recall, slot-f1"


@pytest.mark.parametrize(("name", "words"), [("seen", "training data"), ("changed", "no stressed corpus")])
def test_a_single_file_refuses_what_its_gold_cannot_tell(name: str, words: str) -> None:
    answers, gold = source(GOLD, ORIGINAL)
    with pytest.raises(DstressError, match=f"no slice '{name}': .*{words}"):
        score(answers, gold, by=[name])
