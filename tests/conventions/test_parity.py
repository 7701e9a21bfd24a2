"""The official scripts' own output, number for number, on the real files beside the repository."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from math import prod
from pathlib import Path
from typing import Any, NamedTuple, get_args

import pytest

from dstress.conventions import Convention, conventions
from dstress.conventions.fuzzy import Backend, partial_ratio, token_sort_ratio
from dstress.dialogue import Slot, State

Json = Any


def load(path: Path) -> Json:
    return json.loads(path.read_text(encoding="utf-8"))


# fuzzywuzzy


@pytest.mark.parametrize("backend", get_args(Backend))
@pytest.mark.parametrize(("measure", "column"), [(token_sort_ratio, "token_sort"), (partial_ratio, "partial")])
def test_every_pair_scores_as_in_fuzzywuzzy(shared: Path, backend: Backend, measure: Any, column: str) -> None:
    golden = load(shared / "golden/fuzz/pairs_scores.json")
    at = golden["columns"].index(f"{column}.fuzzywuzzy_{'lev' if backend == 'indel' else 'difflib'}")
    assert len(golden["rows"]) == 2614
    wrong = [row for row in golden["rows"] if measure(row[0], row[1], backend) != row[at]]
    assert wrong == []


@pytest.mark.parametrize("backend", get_args(Backend))
@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [("", "", 100), ("", "x", 0), ("!?", "--", 100), ("Zoë's", "zo s", 100), ("ő", "o", 0), ("b a", "A, B.", 100)],
)
def test_odd_texts_score_as_in_fuzzywuzzy(left: str, right: str, expected: int, backend: Backend) -> None:
    assert token_sort_ratio(left, right, backend) == expected


# TRADE and CoCo


@pytest.mark.parametrize(("labels", "column"), [("coco", 0), ("trade", 1)])
def test_label_corrections_equal_the_scripts_on_every_raw_label(shared: Path, labels: str, column: int) -> None:
    convention = conventions.create(f"trade(labels={labels})")
    pairs = load(shared / "golden/coco/fix_label.json")["map"]
    wrong = {
        (slot, value): fixed[column]
        for slot, by_value in pairs.items()
        for value, fixed in by_value.items()
        if convention.gold(slot, (value,)) != (fixed[column],)
    }
    assert wrong == {}
    assert sum(map(len, pairs.values())) == 1432


# SGD: the DSTC8 script


class FramePair(NamedTuple):
    """Gold and predicted state of one service in one user turn; `turn` groups the frames of a turn."""

    key: str
    turn: tuple[str, int]
    gold: State
    predicted: dict[str, str]


def frame_pairs(golden: Path, system: str) -> Iterator[FramePair]:
    for path in sorted((golden / "ref").glob("*.json")):
        predicted = {dialogue["dialogue_id"]: dialogue for dialogue in load(golden / f"preds_{system}" / path.name)}
        for dialogue in load(path):
            name = dialogue["dialogue_id"]
            for number, (turn, answer) in enumerate(zip(dialogue["turns"], predicted[name]["turns"], strict=True)):
                if turn["speaker"] == "USER":
                    answers = {frame["service"]: frame["state"]["slot_values"] for frame in answer["frames"]}
                    for frame in turn["frames"]:
                        service = frame["service"]
                        gold = {f"{service}-{slot}": tuple(v) for slot, v in frame["state"]["slot_values"].items()}
                        given = {f"{service}-{slot}": v[0] for slot, v in answers[service].items()}
                        yield FramePair(f"{name}-{number:03d}-{service}", (name, number), gold, given)


@pytest.fixture(scope="module")
def slots(shared: Path) -> dict[str, Slot]:
    return {
        f"{service['service_name']}-{slot['name']}": Slot(slot["name"], categorical=slot["is_categorical"])
        for service in load(shared / "golden/sgd/schema_test.json")
        for slot in service["slots"]
    }


@pytest.mark.parametrize("system", ["a", "c"])
def test_dstc8_scores_every_frame_as_the_script(shared: Path, slots: dict[str, Slot], system: str) -> None:
    dstc8 = conventions.create("dstc8")
    official = load(shared / f"golden/sgd/per_frame_{system}.json")
    scores = {
        pair.key: dstc8.score(pair.gold, pair.predicted, slots) for pair in frame_pairs(shared / "golden/sgd", system)
    }
    assert len(scores) == 2238
    assert scores == pytest.approx({key: official[key]["joint_goal_accuracy"] for key in scores}, abs=1e-9)


@pytest.mark.parametrize("system", ["a", "c"])
@pytest.mark.parametrize(("spec", "file"), [("dstc8", ""), ("dstc8(fuzz=difflib)", "_difflib")])
def test_dstc8_aggregates_equal_the_script(
    shared: Path, slots: dict[str, Slot], system: str, spec: str, file: str
) -> None:
    convention = conventions.create(spec)
    scores = [convention.score(pair.gold, pair.predicted, slots) for pair in frame_pairs(shared / "golden/sgd", system)]
    official = load(shared / f"golden/sgd/official_{system}{file}.json")["#ALL_SERVICES"]["joint_goal_accuracy"]
    assert sum(scores) / len(scores) == pytest.approx(official, abs=1e-9)


@pytest.mark.parametrize("system", ["a", "c"])
def test_multiwoz22_equals_the_script_by_turn_and_by_frame(shared: Path, slots: dict[str, Slot], system: str) -> None:
    convention = conventions.create("multiwoz22")
    turns: dict[tuple[str, int], list[float]] = defaultdict(list)
    for pair in frame_pairs(shared / "golden/sgd", system):
        turns[pair.turn].append(convention.score(pair.gold, pair.predicted, slots))
    by_turn = [prod(scores) for scores in turns.values()]
    by_frame = [score for scores in turns.values() for score in scores]
    for scores, file in ((by_turn, "mwzstyle"), (by_frame, "nofuzzy")):
        official = load(shared / f"golden/sgd/official_{system}_{file}.json")["#ALL_SERVICES"]["joint_goal_accuracy"]
        assert sum(scores) / len(scores) == pytest.approx(official, abs=1e-9)


def test_multiwoz22_joins_the_frames_of_a_turn_by_itself(shared: Path, slots: dict[str, Slot]) -> None:
    """The whole turn in one call is the product of its frames."""
    convention = conventions.create("multiwoz22")
    turns: dict[tuple[str, int], list[FramePair]] = defaultdict(list)
    for pair in frame_pairs(shared / "golden/sgd", "c"):
        turns[pair.turn].append(pair)
    for pairs in turns.values():
        gold = {slot: values for pair in pairs for slot, values in pair.gold.items()}
        predicted = {slot: value for pair in pairs for slot, value in pair.predicted.items()}
        frames = prod(convention.score(pair.gold, pair.predicted, slots) for pair in pairs)
        assert convention.score(gold, predicted, slots) == frames


# mwzeval

BOOK = ("bookday", "bookpeople", "bookstay", "booktime")
VARIANTS: dict[str, Callable[[str], str | None]] = {
    "gold_book_prefixed(as MultiWOZ 2.2 names)": lambda slot: slot,
    "gold_book_prefix_stripped": lambda slot: slot.removeprefix("book") if slot in BOOK else slot,
    "gold_without_book_slots": lambda slot: None if slot in BOOK else slot,
}


def flat(state: Json) -> dict[str, str]:
    """Slot ids as mwzeval names them: lower case, no spaces, `arrive` and `leave`."""
    short = {"arriveby": "arrive", "leaveat": "leave"}
    named = ((domain, slot.lower().replace(" ", ""), v) for domain, slots in state.items() for slot, v in slots.items())
    return {f"{domain}-{short.get(slot, slot)}": value for domain, slot, value in named}


def prepared(convention: Convention, state: Json, rename: Callable[[str], str | None]) -> State:
    """Gold is prepared under MultiWOZ 2.2's names, as the package does when it loads it, and then renamed."""
    found: State = {}
    for slot, value in flat(state).items():
        domain, _, bare = slot.partition("-")
        name = rename(bare)
        if name is not None and (forms := convention.gold(slot, (value,))):
            found[f"{domain}-{name}"] = forms
    return found


def counts(convention: Convention, gold: State, predicted: dict[str, str]) -> tuple[int, int, int, int]:
    """Whether all is right; and the slots that are right, spurious or wrong, missing or wrong. Gold is prepared."""
    given = {slot: convention.predicted(slot, value) for slot, value in predicted.items()}
    right = sum(
        bool(value is not None and slot in gold and convention.similarity(slot, gold[slot], value))
        for slot, value in given.items()
    )
    return int(right == len(given) == len(gold)), right, len(given) - right, len(gold) - right


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("system", ["soloist", "ubar", "damd"])
def test_mwzeval_joint_accuracy_and_slot_f1_equal_the_package(shared: Path, system: str, variant: str) -> None:
    convention = conventions.create("mwzeval")
    golden = shared / "golden/mwzeval"
    gold, predicted = load(golden / "gold_states_mwz21.json"), load(golden / f"predictions/{system}.json")
    total, turns = [0, 0, 0, 0], 0
    for name, answers in predicted.items():
        for turn, answer in zip(gold[name], answers, strict=False):
            found = counts(convention, prepared(convention, turn, VARIANTS[variant]), flat(answer["state"]))
            total = [before + new for before, new in zip(total, found, strict=True)]
            turns += 1
    joint, right, spurious, missing = total
    precision, recall = right / (right + spurious + 1e-10), right / (right + missing + 1e-10)
    official = load(golden / "dst_official.json")[system][variant]
    assert joint / (turns + 1e-10) * 100 == pytest.approx(official["joint_accuracy"], abs=1e-9)
    f1 = 2 * precision * recall / (precision + recall + 1e-10) * 100
    assert f1 == pytest.approx(official["slot_f1"], abs=1e-9)


def test_mwzeval_score_is_the_packages_joint_accuracy(shared: Path) -> None:
    convention = conventions.create("mwzeval")
    golden = shared / "golden/mwzeval"
    gold, predicted = load(golden / "gold_states_mwz21.json"), load(golden / "predictions/ubar.json")
    scores = [
        convention.score({slot: (value,) for slot, value in flat(turn).items()}, flat(answer["state"]))
        for name, answers in predicted.items()
        for turn, answer in zip(gold[name], answers, strict=True)
    ]
    official = load(golden / "dst_official.json")["ubar"][next(iter(VARIANTS))]["joint_accuracy"]
    assert sum(scores) / (len(scores) + 1e-10) * 100 == pytest.approx(official, abs=1e-9)
