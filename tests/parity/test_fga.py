"""FGA's own two scripts: the one for TripPy, which compares errors, and the one for states, which compares changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from dstress.scoring.score import ScoringOptions, score
from tests.parity.official import load
from tests.paths import SHARED

LAMBDAS = (0.25, 0.5, 0.75, 1.0)
STATES = {"JGA": "jga", "SA": "sa", "AGA": "aga"} | {f"FGA_{by}": f"fga(lambda={by})" for by in LAMBDAS}
ERRORS = {"JGA": "jga", "SA": "sa"} | {f"FGA_{by}": f"fga(lambda={by}, mistakes=errors)" for by in LAMBDAS}
FILES = sorted(load(SHARED / "golden/gca/official.json")) if SHARED.is_dir() else ["none"]
LEFT_OUT = "PMUL1455"
"""The TripPy script leaves this dialogue out."""
EXPLICIT_NONE = "poc/zero_shot_result4.json"


def test_the_trippy_script(shared: Path) -> None:
    official = load(shared / "golden/fga/official.json")["trippy"]
    options = ScoringOptions(resamples=2, leave_out=(LEFT_OUT,))
    card = score(shared / "golden/fga/trippy_result.json", metrics=list(ERRORS.values()), options=options)
    assert f"|turns:{official['total_turns']}|" in card["jga"].signature
    assert f"|without:{LEFT_OUT}|" in card["jga"].signature
    found = {name: card[metric].value for name, metric in ERRORS.items()}
    assert found == pytest.approx(official["unrounded"], abs=1e-9)
    assert {name: round(100 * value, 2) for name, value in found.items()} == {name: official[name] for name in ERRORS}


def test_the_two_rules_differ_on_the_same_file(shared: Path) -> None:
    file = shared / "golden/gca/data/T5/T5_result_zeroshot_attraction.json"
    card = score(file, metrics=["fga", "fga(mistakes=errors)"], options=ScoringOptions(resamples=2))
    assert abs(card["fga"].value - card["fga(mistakes=errors)"].value) > 0.001


@pytest.mark.parametrize("file", FILES)
def test_the_script_for_states(shared: Path, file: str) -> None:
    """Only its average goal accuracy of a file whose gold says `none` aloud differs: it counts that as a slot."""
    official = load(shared / "golden/fga/official.json")[file]
    card = score(shared / "golden/gca/data" / file, metrics=list(STATES.values()), options=ScoringOptions(resamples=2))
    same = {name: metric for name, metric in STATES.items() if (file, name) != (EXPLICIT_NONE, "AGA")}
    found = {name: 100 * card[metric].value for name, metric in same.items()}
    assert found == pytest.approx({name: official[name] for name in same}, abs=0.005 + 1e-9)


def test_gold_that_says_none_aloud_is_a_slot_to_that_script_alone(shared: Path) -> None:
    official, gca = (load(shared / f"golden/{name}/official.json")[EXPLICIT_NONE] for name in ("fga", "gca"))
    found = score(shared / "golden/gca/data" / EXPLICIT_NONE, metrics="aga", options=ScoringOptions(resamples=2))["aga"]
    assert round(100 * found.value, 2) == gca["AGA"] != official["AGA"]
