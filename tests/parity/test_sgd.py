"""The DSTC8 script on corrupted gold of SGD: every metric, group and frame."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from dstress.alignment.cells import Alignment
from dstress.conventions import conventions
from dstress.conventions.base import Unit
from dstress.conventions.multiwoz22 import MultiWoz22
from dstress.metrics import metrics
from dstress.scoring.score import ScoringOptions, score
from dstress.scoring.tally import Tally
from tests.parity.official import DSTC8, aligned_columns, differences, groups, load, per_frame

SLICES = ("service", "domain", "seen")
ONCE = ScoringOptions(resamples=10)


class NoFuzzy(MultiWoz22):
    """`--use_fuzzy_match=False` without the joint over the turn: no shipped convention, but one line away."""

    unit: ClassVar[Unit] = "frame"


@pytest.mark.parametrize("system", ["a", "c"])
@pytest.mark.parametrize(
    ("convention", "run"), [("dstc8", ""), ("dstc8(fuzz=difflib)", "_difflib"), ("multiwoz22", "_mwzstyle")]
)
def test_every_number_of_every_group(shared: Path, system: str, convention: str, run: str) -> None:
    golden = shared / "golden/sgd"
    predictions, gold = golden / f"preds_{system}", str(golden / "ref")
    card = score(predictions, gold, convention, list(DSTC8.values()), SLICES, ONCE)
    official = load(golden / f"official_{system}{run}.json")
    assert sum(map(len, official.values())) == 530
    assert list(differences(official, groups(card))) == []


def test_sgd_folders_are_scored_under_dstc8_unless_told_otherwise(shared: Path) -> None:
    golden = shared / "golden/sgd"
    card = score(golden / "preds_c", str(golden / "ref"), metrics="jga", options=ONCE)
    assert card["jga"].value == pytest.approx(0.3764, abs=5e-5)
    assert "|turns:2063|frames:2238|conv:dstc8|unit:frame|fuzz:indel|" in card["jga"].signature


@pytest.mark.parametrize("system", ["a", "c"])
def test_every_number_of_every_frame(shared: Path, system: str) -> None:
    golden = shared / "golden/sgd"
    alignment = Alignment(aligned_columns(golden / f"preds_{system}", golden / "ref"), conventions.create("dstc8"))
    official = load(golden / f"per_frame_{system}.json")
    assert len(official) == 2238
    assert list(differences(official, per_frame(alignment))) == []


@pytest.mark.parametrize("system", ["a", "c"])
def test_exact_by_frame_is_the_script_without_fuzzy_matching(shared: Path, system: str) -> None:
    golden = shared / "golden/sgd"
    alignment = Alignment(aligned_columns(golden / f"preds_{system}", golden / "ref"), NoFuzzy())
    tally = Tally({name: metrics.create(name) for name in DSTC8.values()}, SLICES, 10, 1)
    seen = {service["service_name"] for service in load(golden / "schema_train.json")}
    tally.add(alignment, seen)
    whole = {name: float(metric.value(tally.sums(name))) for name, metric in tally.metrics.items()}
    found = {"#ALL_SERVICES": whole}
    for slice_name, rows in tally.slices.items():
        for key, row in rows.items():
            values = {name: tally.metrics[name].value(sums) for name, sums in row.items()}
            label = f"#{key.upper()}_SERVICES" if slice_name == "seen" else key
            found[label] = {name: None if np.isnan(value) else float(value) for name, value in values.items()}
    assert list(differences(load(golden / f"official_{system}_nofuzzy.json"), found)) == []
