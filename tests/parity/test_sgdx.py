"""The DSTC8 script on the five variants of SGD-X."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dstress.conventions import conventions
from dstress.scoring.alignment.cells import Alignment
from dstress.scoring.score import ScoringOptions, score
from tests.parity.official import DSTC8, aligned_columns, differences, groups, load, per_frame

QUICK = ScoringOptions(resamples=10)
VARIANTS = [f"v{number}" for number in range(1, 6)]


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_number_of_every_group(shared: Path, variant: str) -> None:
    golden = shared / "golden/sgdx" / variant
    slices = ("service", "domain", "seen")
    card = score(golden / "preds", str(golden / "ref"), "", list(DSTC8.values()), slices, ScoringOptions(resamples=10))
    official = load(golden / "official.json")
    assert len(official) > 40
    assert list(differences(official, groups(card))) == []


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_joint_accuracy_of_every_frame(shared: Path, variant: str) -> None:
    """The file's keys are those of the original schema; a variant's services have its number at the end."""
    golden, dstc8 = shared / "golden/sgdx", conventions.create("dstc8")
    official = load(golden / "per_frame_jga_v1to5.json")
    columns = aligned_columns(golden / variant / "preds", golden / variant / "ref")
    found = {key[:-1]: row["jga"] for key, row in per_frame(Alignment(columns, dstc8)).items()}
    assert len(found) == 2238
    assert found == pytest.approx({key: row[VARIANTS.index(variant)] for key, row in official.items()}, abs=1e-9)


def test_the_mean_over_variants(shared: Path) -> None:
    golden = shared / "golden/sgdx"
    values = [
        score(
            golden / variant / "preds",
            str(golden / variant / "ref"),
            metrics="jga",
            options=ScoringOptions(resamples=10),
        )
        for variant in VARIANTS
    ]
    official = load(golden / "ss_values.json")
    assert [card["jga"].value for card in values] == pytest.approx(list(official["JGA_per_variant"].values()), abs=1e-9)
    assert np.mean([card["jga"].value for card in values]) == pytest.approx(official["JGA_v1-5"], abs=1e-9)
