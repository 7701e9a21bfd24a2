"""The GCA repository's own script, on all of its files."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from dstress.conventions import conventions
from dstress.dialogue import Dialogue, Schema, Turn
from dstress.predictions import Prediction
from dstress.scoring.alignment.cells import Alignment
from dstress.scoring.alignment.columns import gather
from dstress.scoring.metrics import metrics
from dstress.scoring.metrics.granular import change_counts
from dstress.scoring.open_pair import PredictionSource
from dstress.scoring.score import Scored, ScoringOptions, score, tally_predictions
from dstress.scoring.scorecard import Scorecard
from tests.parity.official import Json, load
from tests.paths import SHARED

LAMBDAS = (0.25, 0.5, 0.75, 1.0)
NAMES = {"JGA": "jga", "SA": "sa", "AGA": "aga", "IAGA": "iaga", "RSA": "rsa", "GCA": "gca"} | {
    f"FGA_{forgiving}": f"fga(lambda={forgiving})" for forgiving in LAMBDAS
}
PARTS = ("value-precision", "value-recall", "label-precision", "label-recall")
FILES = sorted(load(SHARED / "golden/gca/official.json")) if SHARED.is_dir() else ["none"]
every_file = pytest.mark.parametrize("file", FILES)


@cache
def scored(file: Path) -> Scored:
    (found,) = tally_predictions(
        PredictionSource(file), [""], [*NAMES.values(), *PARTS], ("dialogue",), ScoringOptions(resamples=2)
    )
    return found


@cache
def card(file: Path) -> Scorecard:
    return scored(file).card()


def counts(sums: np.ndarray) -> dict[str, int]:
    return dict(zip("CWMO", (int(count) for count in sums), strict=True))


@every_file
def test_the_table_of_every_file(shared: Path, file: str) -> None:
    """Rounded to two decimals, as the script prints it: so a half may fall to either side."""
    official = load(shared / "golden/gca/official.json")[file]
    found = card(shared / "golden/gca/data" / file)
    table = {name: 100 * found[metric].value for name, metric in NAMES.items()}
    assert table == pytest.approx({name: official[name] for name in NAMES}, abs=0.005 + 1e-9)


@every_file
def test_counts_and_ratios_are_those_of_the_script(shared: Path, file: str) -> None:
    official = load(shared / "golden/gca/official_detail.json")[file]
    path = shared / "golden/gca/data" / file
    found, sums = card(path), counts(scored(path).tally.sums("gca"))
    assert list(sums.values()) == [official[name] for name in ("correct", "wrong", "missed", "overpred")]
    assert found["gca"].value == pytest.approx(official["GCA_unrounded"], abs=1e-9)
    assert found["value-precision"].value == pytest.approx(official["value_precision"], abs=1e-9)
    assert found["value-recall"].value == pytest.approx(official["value_recall"], abs=1e-9)


@every_file
def test_label_ratios_are_the_complements_of_the_scripts(shared: Path, file: str) -> None:
    official = load(shared / "golden/gca/official_detail.json")[file]
    found = card(shared / "golden/gca/data" / file)
    assert 100 * (1 - found["label-recall"].value) == pytest.approx(official["missed_label_ratio"], abs=1e-9)
    assert 100 * (1 - found["label-precision"].value) == pytest.approx(official["over_pred_label_ratio"], abs=1e-9)


@every_file
def test_every_dialogue_by_itself(shared: Path, file: str) -> None:
    official = load(shared / "golden/gca/official_detail.json")[file]["per_dialogue"]
    path = shared / "golden/gca/data" / file
    values, sums = card(path).by("dialogue"), scored(path).tally.slices["dialogue"]
    assert values.keys() == {name.removesuffix(".json") for name in official}
    for name, expected in official.items():
        dialogue = name.removesuffix(".json")
        assert counts(sums[dialogue]["gca"]) == {name: expected[name] for name in "CWMO"}
        # The script says 0 where nothing changes at all; here that is undefined.
        assert (values[dialogue]["gca"] or 0.0) == pytest.approx(expected["GCA"], abs=1e-9)
        flexible = [100 * (values[dialogue][f"fga(lambda={forgiving})"] or 0.0) for forgiving in LAMBDAS]
        assert flexible == pytest.approx(expected["FGA"], abs=0.005 + 1e-9)


MICRO_CASES = sorted(load(SHARED / "golden/gca/probe.json")["micro_cases"]) if SHARED.is_dir() else ["none"]


def micro_sums(turns: Json) -> np.ndarray:
    """C, W, M, O of a micro-case; gold's `none` is a slot without a value, the prediction's an emptied one."""
    states = [{f"s-{slot}": () if v == "none" else (v,) for slot, v in gold.items()} for gold, _ in turns]
    answers = [{f"s-{slot}": v for slot, v in predicted.items() if v != "none"} for _, predicted in turns]
    dialogue = Dialogue("d", tuple(Turn("?", "", state) for state in states))
    emptied = [tuple(f"s-{slot}" for slot, v in predicted.items() if v == "none") for _, predicted in turns]
    predictions = [Prediction("d", n, answers[n], emptied=emptied[n]) for n in range(len(turns))]
    columns = gather(Schema(), [(dialogue, predictions)])
    return change_counts(Alignment(columns, conventions.create("exact"))).sum(axis=0)


@pytest.mark.parametrize("name", MICRO_CASES)
def test_micro_cases_are_counted_as_by_the_script(shared: Path, name: str) -> None:
    official = load(shared / "golden/gca/probe.json")["micro_cases"][name]
    sums = micro_sums(official["turns"])
    assert counts(sums) == {name: official[name] for name in "CWMO"}
    # Where nothing changes the script says 0; here that is undefined.
    assert np.nan_to_num(metrics.create("gca").value(sums)) == pytest.approx(official["GCA"], abs=1e-9)


def test_a_file_keeps_a_predicted_none(tmp_path: Path) -> None:
    """What a prediction says `none` of is no value, but a change: a spurious one that is taken back is correct."""
    file = tmp_path / "result.json"
    turns = [({"area": "north"}, {"area": "north", "stars": "none"}), ({"area": "north"}, {"stars": "none"})]
    data = {str(turn): {"gt": {"hotel": gold}, "pr": {"hotel": given}} for turn, (gold, given) in enumerate(turns)}
    file.write_text(json.dumps({"d": data}), encoding="utf-8")
    (found,) = tally_predictions(PredictionSource(file), [""], ["gca", "jga"], (), ScoringOptions(resamples=2))
    assert counts(found.tally.sums("gca")) == {"C": 2, "W": 0, "M": 1, "O": 0}
    assert found.card()["jga"].value == 0.5


@pytest.mark.parametrize(
    ("file", "published"),
    [
        ("poc/NU1", 52.38),
        ("poc/NU2", 52.38),
        ("paper_sample_dials/sample_1", 31.43),
        ("paper_sample_dials/sample_2", 75),
    ],
)
def test_the_published_numbers(shared: Path, file: str, published: float) -> None:
    assert round(100 * card(shared / f"golden/gca/data/{file}.json")["gca"].value, 2) == published


def test_the_weights_of_the_footnote_give_another_number_than_the_published_one(shared: Path) -> None:
    published = load(shared / "golden/gca/probe.json")["published_vs_official"]
    for file, expected in published.items():
        metric = metrics.create("gca(weights=paper)")
        found = metric.value(np.array([expected[name] for name in "CWMO"], float))
        assert found == pytest.approx(expected["published_weights_0.9_0.1"], abs=1e-9), file
    footnote = score(shared / "golden/gca/data/poc/NU1.json", metrics="gca(weights=paper)")["gca(weights=paper)"]
    assert round(100 * footnote.value, 2) == 52.63
