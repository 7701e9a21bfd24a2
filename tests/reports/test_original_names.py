"""A variant's services and slots are compared under the original's names."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from dstress.dialogue import Schema, Service, Slot
from dstress.reports.plots import make_plots
from dstress.reports.variant_names import scores_by_original_names
from dstress.runs.folder import Manifest, RunFolder, Scores
from dstress.runs.suites import Suite
from dstress.scoring.scorecard import Scorecard, SlotErrors

BEFORE = Schema((Service("hotel", slots=(Slot("area"), Slot("name"))), Service("taxi", slots=(Slot("to"),))))
AFTER = Schema((Service("lodging", slots=(Slot("zone"), Slot("title"))), Service("cab", slots=(Slot("goal"),))))


@pytest.fixture
def renamed_run(tmp_path: Path) -> RunFolder:
    suite = Suite("names", stressors=("schema_noise",))
    run = RunFolder.create(tmp_path / "run", Manifest("gold", "small:test", "names", 1, 0, "", {}, {}, suite))
    for variant, schema in (("original", BEFORE), ("schema_noise", AFTER)):
        run.variant(variant).write([], schema, dict)
    run.write_scores(
        Scores({"original": card("hotel", "area", "taxi", 0.6), "schema_noise": card("lodging", "zone", "cab")})
    )
    return run


def card(service: str, slot: str, other: str, jga: float = 0.5) -> Scorecard:
    slices = {"service": {service: {"jga": jga}, other: {"jga": 0.7}}, "stress": {"changed": {"jga": 0.5}}}
    return Scorecard({}, {}, slices, {f"{service}-{slot}": SlotErrors(1, 2, 3, 4, [])})


def test_names_are_led_back(renamed_run: RunFolder) -> None:
    scores = scores_by_original_names(renamed_run)
    found = scores.variants["schema_noise"]
    assert found.slices["service"] == {"hotel": {"jga": 0.5}, "taxi": {"jga": 0.7}}
    assert found.slices["stress"] == {"changed": {"jga": 0.5}}
    assert list(found.slots) == ["hotel-area"]
    assert "services" in make_plots(scores)
    assert "services" not in make_plots(renamed_run.scores)


def test_what_is_no_renaming_stays(renamed_run: RunFolder) -> None:
    other = msgspec.structs.replace(AFTER, services=AFTER.services[:1])
    renamed_run.variant("schema_noise").write([], other, dict)
    assert scores_by_original_names(renamed_run).variants["schema_noise"] == renamed_run.scores.variants["schema_noise"]
