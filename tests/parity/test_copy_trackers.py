"""Three real trackers, trained elsewhere: their files carry their gold, and a plain set comparison scored them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dstress.scoring.score import ScoringOptions, score

PUBLISHED = {
    "copy-a-test": 51.00,
    "copy-a-substituted": 38.40,
    "copy-a-substituted_clean": 47.75,
    "copy-b-test": 50.01,
    "copy-b-substituted": 33.82,
    "copy-c-test": 49.65,
    "copy-c-substituted": 43.76,
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_joint_accuracy_of_every_file(shared: Path, name: str) -> None:
    card = score(shared / f"data/predictions/{name}.json.zip", metrics="jga", options=ScoringOptions(resamples=2))
    assert round(100 * card["jga"].value, 2) == PUBLISHED[name]
    assert card["jga"].n == 7368
    assert "|turns:7368|conv:exact|unit:turn|" in card["jga"].signature
