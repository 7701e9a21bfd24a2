"""Several systems, or several runs of one: pairs, tests, and what may not matter."""

from __future__ import annotations

import json
import math
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstress.errors import DstressError, PredictionError
from dstress.pipeline.compare import Comparison, Pair, average_slack, compare
from dstress.predictions.base import Prediction
from dstress.scoring.metrics.measures import describe, measure_of
from dstress.scoring.open_pair import PredictionSource
from dstress.scoring.score import ScoringOptions, score
from dstress.scoring.scorecard import Score
from dstress.scoring.significance import holm, mcnemar
from dstress.scoring.versions import conditional, variants
from tests.paths import DOCS
from tests.scoring.metrics.lemma import cjga_bounds

PAGE = DOCS / "comparing.md"
QUICK = ScoringOptions(resamples=200)
SLOTS = ("hotel-area", "hotel-name", "taxi-leaveat")
System = list[Prediction]

states = st.dictionaries(st.sampled_from(SLOTS), st.sampled_from(["a", "b"]), max_size=3)
turns = st.tuples(states, states, states)
"""Gold, and what two systems say."""
data = st.lists(st.lists(turns, min_size=1, max_size=3), min_size=1, max_size=6).filter(
    lambda dialogues: any(gold for dialogue in dialogues for gold, *_ in dialogue)
)


def systems(dialogues: list[list[tuple[dict[str, str], ...]]]) -> tuple[System, System]:
    """The two systems' predictions, each with the gold."""
    found: tuple[System, System] = ([], [])
    for number, dialogue in enumerate(dialogues):
        for index, (gold, *said) in enumerate(dialogue):
            accepted = {slot: (value,) for slot, value in gold.items()}
            for system, state in zip(found, said, strict=True):
                system.append(Prediction(f"d{number}", index, state, gold=accepted))
    return found


def example(*right: int, dialogue: str = "d") -> System:
    """A dialogue whose turns are right (1) or empty (0)."""
    gold = {"hotel-area": ("a",)}
    return [Prediction(dialogue, i, {"hotel-area": "a"} if r else {}, gold=gold) for i, r in enumerate(right)]


def compared(a: System, b: System, options: ScoringOptions = QUICK) -> tuple[Comparison, Pair]:
    made = compare({"a": a, "b": b}, options=options)
    return made, made.pairs[0]


def sourced(*right: int) -> PredictionSource:
    return PredictionSource(example(*right))


@given(data)
def test_identical_systems_differ_by_nothing(dialogues: list[list[tuple[dict[str, str], ...]]]) -> None:
    a, _ = systems(dialogues)
    made, pair = compared(a, a)
    for test in pair.tests.values():
        # Without any gold or predicted slot, slot-f1 is undefined: no difference, and no test.
        assert (test.difference, test.p, test.differ) == (0, 1, 0) or np.isnan(test.difference)
    assert pair.mcnemar is not None and pair.mcnemar.p == 1 and not any(change.difference for change in pair.slots)
    assert made.conclusion.startswith("No difference is significant")


@given(data)
def test_swapping_the_systems_flips_the_sign(dialogues: list[list[tuple[dict[str, str], ...]]]) -> None:
    a, b = systems(dialogues)
    (made, one), (_, other) = compared(a, b), compared(b, a)
    for name, test in one.tests.items():
        swapped = other.tests[name]
        assert -swapped.difference == pytest.approx(test.difference, abs=1e-12, nan_ok=True)
        # Each interval is cut where its own baseline leaves no room.
        first, second = (made.systems[system][name].value for system in "ab")
        theirs = np.clip((-swapped.high, -swapped.low), -first, 1 - first)
        assert theirs == pytest.approx(np.clip((test.low, test.high), second - 1, second), abs=1e-12, nan_ok=True)
        assert swapped.p == pytest.approx(test.p, nan_ok=True)
        assert (swapped.differ, swapped.gains) == (test.differ, test.differ - test.gains)
    assert {c.slot: -c.difference for c in one.slots} == {c.slot: c.difference for c in other.slots}


@given(data, st.randoms())
def test_the_order_of_dialogues_does_not_matter(dialogues: list[list[tuple[dict[str, str], ...]]], random) -> None:  # type: ignore[no-untyped-def]
    a, b = systems(dialogues)
    before, _ = compared(a, b)
    for system in (a, b):
        random.shuffle(system)
    after, _ = compared(a, b)
    assert msgspec.json.encode(after) == msgspec.json.encode(before)


@given(data)
def test_scores_are_those_of_score(dialogues: list[list[tuple[dict[str, str], ...]]]) -> None:
    a, b = systems(dialogues)
    made, pair = compared(a, b)
    for name, system in (("a", a), ("b", b)):
        card = score(system, metrics=list(made.systems[name]), options=QUICK)
        for metric, found in made.systems[name].items():
            assert found.value == pytest.approx(card[metric].value, nan_ok=True)
    for metric, test in pair.tests.items():
        values = [made.systems[name][metric].value for name in "ba"]
        assert test.difference == pytest.approx(values[0] - values[1], abs=1e-12, nan_ok=True)


@given(data)
def test_cjga_keeps_to_the_lemma(dialogues: list[list[tuple[dict[str, str], ...]]]) -> None:
    a, b = systems(dialogues)
    card = conditional(PredictionSource(a), PredictionSource(b), options=QUICK)
    bounds = cjga_bounds(*(score(system, metrics=["jga"], options=QUICK)["jga"].value for system in (a, b)))
    found = card["cjga"].value
    assert np.isnan(found) or bounds.lower - 1e-12 <= found <= bounds.upper + 1e-12


def test_three_systems_against_the_first() -> None:
    given_systems = {"a": example(1, 0, 1), "b": example(1, 1, 1), "c": example(0, 0, 0)}
    made = compare(given_systems, metrics=["jga", "aga"], options=QUICK)
    assert [(pair.baseline, pair.system) for pair in made.pairs] == [("a", "b"), ("a", "c")]
    tests = [test for pair in made.pairs for test in pair.tests.values()]
    assert [test.p_holm for test in tests] == holm([test.p for test in tests])
    assert made.pairs[0].tests["jga"].difference == pytest.approx(1 / 3)


def test_the_slots_that_gained_and_lost() -> None:
    gold = {"hotel-area": ("a",), "hotel-name": ("a",)}
    a = [Prediction("d", 0, {"hotel-area": "a", "taxi-leaveat": "a"}, gold=gold)]
    b = [Prediction("d", 0, {"hotel-name": "a"}, gold=gold)]
    _, pair = compared(a, b)
    assert [(c.slot, c.difference) for c in pair.slots] == [("hotel-name", 1), ("taxi-leaveat", 1), ("hotel-area", -1)]
    assert (pair.slots[1].baseline_errors, pair.slots[1].system_errors) == (1, 0)


def test_mcnemar_counts_turns_that_one_system_has_right() -> None:
    _, pair = compared(example(1, 1, 1, 0, 0), example(0, 0, 1, 1, 0))
    assert pair.mcnemar is not None
    assert (pair.mcnemar.only_baseline, pair.mcnemar.only_system) == (2, 1) and pair.mcnemar.p == mcnemar(2, 1).p


def test_no_mcnemar_where_turns_are_partly_right(shared: Path) -> None:
    golden = shared / "golden/sgd"
    made = compare([golden / "preds_a", golden / "preds_c"], str(golden / "ref"), metrics=["jga"], options=QUICK)
    official = json.loads((golden / "official_c.json").read_text())["#ALL_SERVICES"]["joint_goal_accuracy"]
    assert made.pairs[0].mcnemar is None and made.signature["conv"] == "dstc8"
    assert made.systems["preds_c"]["jga"].value == pytest.approx(official, abs=1e-9)


def test_files_with_different_gold_are_refused() -> None:
    b = [msgspec.structs.replace(p, gold={"hotel-area": ("b",)}) for p in example(1, 1)]
    with pytest.raises(PredictionError, match="not the gold in a") as error:
        compare({"a": example(1, 1), "b": b})
    assert error.value.where == "b, dialogue d, turn 0"


def test_missing_turns_need_leave() -> None:
    gold = _gold(example(1, 1, 1))
    a, b = example(1, 0, 1), example(1, 1)
    with pytest.raises(PredictionError, match="missing turns") as error:
        compare({"a": a, "b": b}, gold, options=QUICK)
    assert error.value.where == "b"
    made = compare({"a": a, "b": b}, gold, options=ScoringOptions(resamples=50, allow_partial=True))
    assert made.signature["coverage"] == "2/3" and "coverage:2/3" in made.systems["a"]["jga"].signature
    assert made.systems["a"]["jga"].value == 0.5 and made.systems["a"]["jga"].n == 2
    made = compare({"a": a, "b": [b[1]]}, gold, options=ScoringOptions(resamples=50, allow_partial=True))
    assert made.signature["coverage"] == "1/3" and made.systems["a"]["jga"].value == 0.0


def test_nothing_in_common_is_an_error() -> None:
    with pytest.raises(PredictionError, match="share no turn"):
        partial = ScoringOptions(resamples=50, allow_partial=True)
        compare({"a": example(1), "b": example(1, dialogue="e")}, _gold(example(1)), options=partial)
    with pytest.raises(PredictionError, match="share no unit"):
        conditional(sourced(1), PredictionSource(example(1, dialogue="e")))


def test_too_few_systems_or_variants() -> None:
    with pytest.raises(DstressError, match="two systems"):
        compare({"a": example(1)})
    with pytest.raises(DstressError, match="do not show variation"):
        variants([sourced(1)])
    with pytest.raises(DstressError, match="given twice"):
        compare(["a.json", "a.json"])


def test_a_comparison_survives_json() -> None:
    made, _ = compared(example(1, 0), example(0, 1))
    assert msgspec.json.decode(msgspec.json.encode(made), type=Comparison) == made


def test_a_metric_that_the_predictions_do_not_allow() -> None:
    with pytest.raises(PredictionError, match="active-intent-accuracy cannot be computed") as error:
        variants([sourced(1), sourced(1)], metric="active-intent-accuracy", options=QUICK)
    assert error.value.where == "variant 1"


def test_variants_of_predictions_that_carry_gold() -> None:
    card = variants(
        [sourced(1, 1, 0), sourced(1, 0, 0)],
        sourced(1, 1, 1),
        options=QUICK,
    )
    assert card["jga-v1-5"].value == 0.5 and card["diff-rel"].value == -0.5
    assert card["ss(jga)"].value == pytest.approx(2**0.5 / 3)


def test_the_copy_trackers(shared: Path) -> None:
    folder = shared / "data/predictions"
    plain = compare(
        [folder / "copy-b-test.json.zip", folder / "copy-a-test.json.zip"], options=ScoringOptions(resamples=2000)
    )
    stressed = compare(
        [folder / "copy-b-substituted.json.zip", folder / "copy-c-substituted.json.zip"],
        options=ScoringOptions(resamples=2000),
    )
    jga = plain.pairs[0].tests["jga"]
    assert jga.difference == pytest.approx(0.0099, abs=1e-4) and jga.p > 0.05 and not jga.significant
    assert all(test.significant and test.difference > 0 for test in stressed.pairs[0].tests.values())
    assert stressed.pairs[0].tests["jga"].difference == pytest.approx(0.0993, abs=1e-4)


@pytest.mark.parametrize("tracker", ["copy-a", "copy-b", "copy-c"])
def test_the_page_shows_the_real_consistency(shared: Path, tracker: str) -> None:
    card = conditional(
        *(PredictionSource(shared / f"data/predictions/{tracker}-{kind}.json.zip") for kind in ("test", "substituted"))
    )
    cells = [
        f"{100 * s.value:.2f} [{100 * s.low:.2f}, {100 * s.high:.2f}]" for s in (card["cjga"], card["consistent-jga"])
    ]
    assert f"| {tracker} | {' | '.join(cells)} |" in PAGE.read_text("utf-8")


def _gold(predictions: System):  # type: ignore[no-untyped-def]
    from dstress.scoring.alignment.own_gold import own_gold

    return own_gold("gold", predictions)[0]


def test_average_slack_is_the_distance_to_the_best_of_each_metric() -> None:
    def scores(**values: float) -> dict[str, Score]:
        return {name.replace("_", "-"): Score(value, value, value, 1, "") for name, value in values.items()}

    systems = {"a": scores(jga=0.5, newly_wrong=0.1), "b": scores(jga=0.7, newly_wrong=0.4)}
    assert average_slack({"original": systems}).values == pytest.approx([0.1, 0.15])


def test_average_slack_is_over_the_same_measures_whoever_joins() -> None:
    """One that lacked a measure had it dropped for all, and what a stressor did to the data was averaged in."""

    def scores(**values: float) -> dict[str, Score]:
        return {name.replace("_", "-"): Score(value, value, value, 1, "") for name, value in values.items()}

    two = {"a": scores(jga=0.5, cjga=0.9, words_changed=0.5), "b": scores(jga=0.7, cjga=0.4, words_changed=0.1)}
    alone, joined = (average_slack({"typos": systems}) for systems in (two, two | {"c": scores(jga=0.6)}))
    assert alone.values == pytest.approx([0.1, 0.25]) == joined.values[:2] and math.isnan(joined.values[2])
    assert joined.measures == ["jga under typos", "cjga under typos"]
    assert joined.caption == (
        "avg-slack: mean distance to the best in jga under typos, cjga under typos; "
        "without words-changed under typos (of the data)"
    )
    assert describe("words-changed") == "words-changed" and not measure_of("words-changed").is_share
