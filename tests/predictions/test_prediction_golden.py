"""Every real prediction file beside the repository is recognised by its shape and read whole."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from dstress.dialogue import Schema, Service, Slot
from dstress.predictions import Prediction, detect, read_predictions
from dstress.storage.sources import open_source

pytestmark = pytest.mark.shared

# path: format, dialogues, turns, slots predicted over all turns
FILES = {
    "golden/sgd/preds_a": ("sgd", 256, 2063, 9005),
    "golden/sgd/preds_c": ("sgd", 256, 2063, 8158),
    "golden/sgd/ref": ("sgd", 256, 2063, 9110),
    **{f"golden/sgdx/v{n}/ref": ("sgd", 256, 2063, 9110) for n in range(1, 6)},
    "golden/sgdx/v1/preds": ("sgd", 256, 2063, 8810),
    "golden/sgdx/v2/preds": ("sgd", 256, 2063, 8927),
    "golden/sgdx/v3/preds": ("sgd", 256, 2063, 8848),
    "golden/sgdx/v4/preds": ("sgd", 256, 2063, 8821),
    "golden/sgdx/v5/preds": ("sgd", 256, 2063, 8906),
    "golden/gca/data/T5/T5_result_zeroshot_attraction.json": ("gca", 395, 3110, 1074),
    "golden/gca/data/paper_sample_dials/hypothetical_p1.json": ("gca", 1, 6, 7),
    "golden/gca/data/paper_sample_dials/hypothetical_p2.json": ("gca", 1, 6, 7),
    "golden/gca/data/paper_sample_dials/sample_1.json": ("gca", 1, 7, 10),
    "golden/gca/data/paper_sample_dials/sample_2.json": ("gca", 1, 4, 14),
    "golden/gca/data/poc/NU1.json": ("gca", 1, 3, 14),
    "golden/gca/data/poc/NU2.json": ("gca", 1, 3, 14),
    "golden/gca/data/poc/RS1.json": ("gca", 1, 4, 15),
    "golden/gca/data/poc/RS2.json": ("gca", 1, 4, 15),
    "golden/gca/data/poc/paper1.json": ("gca", 1, 3, 10),
    "golden/gca/data/poc/paper2.json": ("gca", 1, 3, 10),
    "golden/gca/data/poc/poc_result1.json": ("gca", 1, 3, 14),
    "golden/gca/data/poc/poc_result2.json": ("gca", 1, 3, 14),
    "golden/gca/data/poc/poc_result3.json": ("gca", 1, 2, 3),
    "golden/gca/data/poc/poc_result4.json": ("gca", 1, 6, 22),
    "golden/gca/data/poc/poc_result5.json": ("gca", 1, 6, 22),
    "golden/gca/data/poc/zero_shot_result1.json": ("gca", 1, 3, 4),
    "golden/gca/data/poc/zero_shot_result2.json": ("gca", 1, 7, 8),
    "golden/gca/data/poc/zero_shot_result3.json": ("gca", 1, 7, 8),
    "golden/gca/data/poc/zero_shot_result4.json": ("gca", 1, 12, 9),
    "golden/checkdst/data/example_parlai_world_logs.jsonl": ("parlai", 13, 99, 795),
    "golden/checkdst/data/example_parlai_world_logs.checkdst_prediction.jsonl": ("checkdst", 13, 99, 795),
    "golden/checkdst/data/orig_example.checkdst_prediction.jsonl": ("checkdst", 13, 100, 806),
    "golden/checkdst/data/NED_example.checkdst_prediction.jsonl": ("checkdst", 5, 30, 319),
    "golden/checkdst/data/PI_example.checkdst_prediction.jsonl": ("checkdst", 4, 30, 275),
    "golden/fga/trippy_result.json": ("trippy-matches", 1000, 7372, 221160),
    "golden/mwzeval/gold_states_mwz21.json": ("states", 1000, 7372, 40712),
    "golden/mwzeval/predictions/ubar.json": ("mwzeval", 1000, 7372, 38902),
    "golden/mwzeval/predictions/damd.json": ("mwzeval", 999, 7354, 30797),
    "golden/mwzeval/predictions/soloist.json": ("mwzeval", 1000, 7372, 29947),
    "golden/mwzeval/predictions/lava.json": ("mwzeval", 1000, 7372, 0),
    "data/predictions/copy-a-test.json.zip": ("trade", 999, 7368, 40893),
    "data/predictions/copy-a-substituted.json.zip": ("trade", 999, 7368, 40062),
    "data/predictions/copy-a-substituted_clean.json.zip": ("trade", 999, 7368, 40805),
    "data/predictions/copy-b-test.json.zip": ("trade", 999, 7368, 40681),
    "data/predictions/copy-b-substituted.json.zip": ("trade", 999, 7368, 39393),
    "data/predictions/copy-c-test.json.zip": ("trade", 999, 7368, 41026),
    "data/predictions/copy-c-substituted.json.zip": ("trade", 999, 7368, 40743),
}


def equal(predictions: list[Prediction]) -> float:
    """Joint goal accuracy by plain equality, in percent."""
    right = [
        {slot: forms for slot, forms in (p.gold or {}).items() if forms} == {s: (v,) for s, v in p.state.items()}
        for p in predictions
    ]
    return round(100 * sum(right) / len(right), 2)


@pytest.mark.parametrize("path", FILES)
def test_a_real_file_is_read_whole(shared: Path, path: str) -> None:
    with open_source(shared / path) as source:
        found = detect(source)
    read = list(read_predictions(shared / path))
    counts = (found.name, len({p.dialogue for p in read}), len(read), sum(len(p.state) for p in read))
    assert counts == FILES[path]
    assert all(p.gold is not None for p in read) == found.carries_gold


def test_no_real_prediction_file_is_left_out(shared: Path) -> None:
    patterns = ["golden/gca/data/**/*.json", "golden/checkdst/data/*.jsonl", "golden/mwzeval/predictions/*"]
    patterns += ["golden/sgd*/**/preds*", "golden/sgd*/**/ref", "data/predictions/copy-*.zip"]
    there = {path.relative_to(shared).as_posix() for pattern in patterns for path in shared.glob(pattern)}
    assert there <= FILES.keys()


@pytest.mark.parametrize(
    ("path", "accuracy"),
    [
        ("data/predictions/copy-a-test.json.zip", 51.00),
        ("data/predictions/copy-a-substituted.json.zip", 38.40),
        ("data/predictions/copy-a-substituted_clean.json.zip", 47.75),
        ("data/predictions/copy-b-test.json.zip", 50.01),
        ("data/predictions/copy-b-substituted.json.zip", 33.82),
        ("data/predictions/copy-c-test.json.zip", 49.65),
        ("data/predictions/copy-c-substituted.json.zip", 43.76),
        ("golden/checkdst/data/orig_example.checkdst_prediction.jsonl", 36.00),
        ("golden/checkdst/data/NED_example.checkdst_prediction.jsonl", 16.67),
        ("golden/checkdst/data/PI_example.checkdst_prediction.jsonl", 36.67),
        ("golden/checkdst/data/example_parlai_world_logs.jsonl", 36.36),
    ],
)
def test_plain_equality_gives_the_known_accuracy(shared: Path, path: str, accuracy: float) -> None:
    assert equal(list(read_predictions(shared / path))) == accuracy


def test_slot_matches_give_the_published_accuracy_without_the_dialogue_that_fga_drops(shared: Path) -> None:
    read = list(read_predictions(shared / "golden/fga/trippy_result.json"))
    kept = [prediction for prediction in read if prediction.dialogue != "PMUL1455"]
    assert len(kept) == 7368
    assert equal(kept) == 53.28


def test_the_slot_order_is_that_of_trippy(shared: Path) -> None:
    from dstress.text.slot_names import SlotNames

    config = msgspec.json.decode((shared / "golden/fga/trippy_multiwoz21_config.json").read_bytes())
    first = next(read_predictions(shared / "golden/fga/trippy_result.json"))
    assert list(first.state) == [SlotNames().split(slot) for slot in config["slots"]]


def test_a_parlai_log_and_the_lines_made_of_it_say_the_same(shared: Path) -> None:
    logs, lines = (
        list(read_predictions(shared / "golden/checkdst/data" / f"example_parlai_world_logs{ending}"))
        for ending in (".jsonl", ".checkdst_prediction.jsonl")
    )
    assert logs == lines


def test_a_system_without_states_is_told_from_one_with_empty_states(shared: Path) -> None:
    folder = shared / "golden/mwzeval/predictions"
    assert all(p.stateless and p.domains is not None for p in read_predictions(folder / "lava.json"))
    assert not any(p.stateless for p in read_predictions(folder / "ubar.json"))


def test_sgd_frames_keep_what_the_file_does_not_say(shared: Path) -> None:
    read = list(read_predictions(shared / "golden/sgd/preds_c"))
    frames = [frame for prediction in read for frame in prediction.frames]
    assert len(frames) == 2260
    assert sum(frame.spans is None for frame in frames) == 104
    assert all(frame.requested is not None and frame.intent is not None for frame in frames)


def test_a_schema_does_not_change_how_sgd_spells_its_slots(shared: Path) -> None:
    listed = msgspec.json.decode((shared / "golden/sgd/schema_test.json").read_bytes())
    schema = Schema(
        tuple(Service(s["service_name"], slots=tuple(Slot(slot["name"]) for slot in s["slots"])) for s in listed)
    )
    path = shared / "golden/sgd/preds_c"
    assert list(read_predictions(path, schema=schema)) == list(read_predictions(path))
