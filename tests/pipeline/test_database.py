"""A run keeps what responses are judged by."""

from __future__ import annotations

from pathlib import Path

import pytest

import dstress
from dstress.errors import DstressError
from dstress.pipeline.run import rescore
from tests.scoring.test_responses import HOTELS, gold

SUITE = 'title = "Small"\nabout = "the words as they are"\nmetrics = ["jga"]\nstressors = ["typos"]\n'


def test_every_variant_of_a_run_has_the_tables_of_its_corpus(tmp_path: Path) -> None:
    suite = tmp_path / "small.toml"
    suite.write_text(SUITE)
    run = dstress.evaluate(str(suite), "gold", gold(), tmp_path / "run", resamples=2)
    for variant in run.variants:
        database = run.variant(variant).corpus().database
        assert database is not None and database.tables == HOTELS.tables


def test_a_damaged_table_of_a_run_is_named(tmp_path: Path) -> None:
    suite = tmp_path / "small.toml"
    suite.write_text(SUITE.replace('"jga"', '"inform"'))
    run = dstress.evaluate(str(suite), "gold", gold(), tmp_path / "run", resamples=2, report=False)
    table = run.path / "database/hotel_db.json"
    table.write_bytes(b'[{"name": "lark')
    with pytest.raises(DstressError, match="not valid JSON") as told:
        rescore(run, resamples=2)
    assert told.value.where == str(table)
