"""The DSTC8 script on corrupted gold of SGD: every metric, group and frame."""

from __future__ import annotations

from pathlib import Path

import pytest

from dstress.conventions import conventions
from dstress.scoring.alignment.cells import Alignment
from dstress.scoring.score import ScoringOptions, score
from tests.parity.official import DSTC8, aligned_columns, differences, groups, load, per_frame

SLICES = ("service", "domain", "seen")
ONCE = ScoringOptions(resamples=10)


@pytest.mark.parametrize("system", ["a", "c"])
@pytest.mark.parametrize(
    ("convention", "run"),
    [
        ("dstc8", ""),
        ("dstc8(fuzz=difflib)", "_difflib"),
        ("dstc8(fuzzy=false)", "_nofuzzy"),
        ("multiwoz22", "_mwzstyle"),
    ],
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


def test_a_score_without_fuzzy_matching_names_no_back_end(shared: Path) -> None:
    golden = shared / "golden/sgd"
    card = score(golden / "preds_c", str(golden / "ref"), "dstc8(fuzzy=false)", "jga", options=ONCE)
    assert "|conv:dstc8(fuzzy=false)|unit:frame|ci:" in card["jga"].signature
