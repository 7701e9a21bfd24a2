"""Tables of the report, as plain rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from dstress.dialogue import LOST, RECOVERABLE
from dstress.pipeline.evaluate import evaluate
from dstress.pipeline.run import RunOptions
from dstress.reports.html import REPORT
from dstress.reports.score_tables import run_tables
from dstress.runs.suites import Column, Suite
from tests.stressors.samples import sample


@pytest.mark.slow
def test_misheard_turns_are_scored_apart_by_what_can_still_be_told(tmp_path: Path) -> None:
    """In the run's tables and on the page; a column of the suite says the same."""
    spec = "speech_text(recognizer=pocketsphinx)"
    suite = Suite(
        "mine", stressors=(spec, "typos"), table=(Column("lost", spec, "jga", ("stress", LOST)),), slices=("service",)
    )
    run = evaluate(suite, "rules", sample("reminder", None), tmp_path / "run", RunOptions(resamples=50))
    found = run_tables(run.manifest, run.scores)[2]
    assert [row[0] for row in found.rows] == [spec]
    card = run.scores.variants[spec]
    recoverable, lost, same = (card.slices["stress"].get(key, {}) for key in (RECOVERABLE, LOST, "as it was"))
    parts = [(part["jga"], part["units"]) for part in (recoverable, lost, same) if part]
    units = sum(size or 0 for _, size in parts)
    assert sum((jga or 0) * (size or 0) for jga, size in parts) / units == pytest.approx(card["jga"].value)
    assert (recoverable["jga"] or 0) > 0.3 > (lost["jga"] or 0)
    [column] = run.scores.table
    assert column.score and column.score.value == lost["jga"]
    assert found.rows[0][4:] == (f"{100 * (lost['jga'] or 0):.2f}", f"{lost['units']:.0f}")
    assert "Recoverable turns" in (run.path / REPORT).read_text()
