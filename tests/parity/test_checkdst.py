"""CheckDST's class on its own example files: joint goal accuracy without naming a convention."""

from __future__ import annotations

from pathlib import Path

import pytest

from dstress.scoring.score import ScoringOptions, score
from tests.parity.official import load

FILES = {
    "orig_example": ("orig_then_NED_only", "jga_orig"),
    "NED_example": ("NED_alone", "jga_NED"),
    "PI_example": ("PI_alone", "jga_PI"),
    "example_parlai_world_logs": ("world_logs_orig_only", "jga_orig"),
}


@pytest.mark.parametrize("file", FILES)
def test_a_file_is_scored_as_the_class_does(shared: Path, file: str) -> None:
    golden = shared / "golden/checkdst"
    run, name = FILES[file]
    path = golden / f"data/{file}.checkdst_prediction.jsonl"
    card = score(path, metrics="jga", options=ScoringOptions(resamples=2))
    assert round(card["jga"].value, 4) == load(golden / "official.json")[run][name]
    assert "|conv:checkdst|" in card["jga"].signature
