"""A run keeps what responses are judged by."""

from __future__ import annotations

from pathlib import Path

import dstress
from dstress.runs.scores import corpus_of
from tests.scoring.test_responses import HOTELS, gold

SUITE = 'title = "Small"\nabout = "the words as they are"\nmetrics = ["jga"]\nstressors = ["typos"]\n'


def test_every_variant_of_a_run_has_the_tables_of_its_corpus(tmp_path: Path) -> None:
    suite = tmp_path / "small.toml"
    suite.write_text(SUITE)
    run = dstress.evaluate(str(suite), "gold", gold(), tmp_path / "run", resamples=2)
    for variant in run.variants:
        database = corpus_of(run, variant).database
        assert database is not None and database.tables == HOTELS.tables
