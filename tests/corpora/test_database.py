"""The tables behind a corpus: queries give what a plain scan gives, and imports keep them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstress import corpora
from dstress.corpora.audit import audit_corpus
from dstress.corpora.database import Database, Row
from dstress.errors import CorpusError
from tests.corpora import layouts

VALUES = st.sampled_from(["a", "b", "?", ""])
ROWS = st.lists(st.dictionaries(st.sampled_from(["area", "food", "name"]), VALUES), max_size=8)
WANTED = st.dictionaries(
    st.sampled_from(["area", "food", "stars"]), VALUES | st.just("dontcare") | st.frozensets(VALUES), max_size=3
)


@given(ROWS, WANTED)
def test_a_query_gives_the_rows_that_a_scan_gives(rows: list[Row], wanted: dict[str, str | frozenset[str]]) -> None:
    columns = {column for row in rows for column in row}

    def fits(row: Row) -> bool:
        return all(
            value == "dontcare"
            or column not in columns
            or (column in row and (row[column] == value if isinstance(value, str) else row[column] in value))
            for column, value in wanted.items()
        )

    assert Database({"place": rows}).query("place", wanted) == [row for row in rows if fits(row)]


def test_a_service_without_a_table_has_no_rows() -> None:
    assert Database({}).query("taxi", {}) == []


def tabled(folder: Path, **tables: object) -> Path:
    """A corpus whose services have tables, as MultiWOZ has them in `db/`."""
    source = layouts.multiwoz_per_split(folder)
    (source / "db").mkdir()
    for service, table in tables.items():
        (source / "db" / f"{service}_db.json").write_text(table if isinstance(table, str) else json.dumps(table))
    return source


def test_an_imported_corpus_keeps_its_tables(tmp_path: Path) -> None:
    hotel = {"name": "the ark", "entrance fee": "?", "arriveBy": "10:00", "id": 7, "price": {"single": "50"}}
    source = tabled(tmp_path, hotel=[hotel])
    expected = [{"name": "the ark", "entrancefee": "?", "arriveby": "10:00", "id": "7"}]
    corpora.add("mine", source)
    for corpus in (corpora.load("mine:test"), corpora.load(f"{source}:test"), corpora.load("mine:test")[:1]):
        assert corpus.database is not None and corpus.database.query("hotel", {"id": "7"}) == expected
    corpora.add("bare", layouts.multiwoz_per_split(tmp_path / "other"))
    assert corpora.load("bare:test").database is None


def test_a_table_joins_a_corpus_that_is_there_and_another_one_is_refused(tmp_path: Path) -> None:
    corpora.add("mine", layouts.multiwoz_per_split(tmp_path / "bare"))
    corpora.add("mine", tabled(tmp_path / "one", hotel=[{"name": "the ark"}]))
    assert corpora.load("mine:test").database is not None
    with pytest.raises(CorpusError, match="already has a table of 'hotel'"):
        corpora.add("mine", tabled(tmp_path / "two", hotel=[{"name": "the bark"}]))


@pytest.mark.parametrize(
    ("table", "message"), [("[{", "not valid JSON"), ('{"a": 1}', "shape"), ("[1]", "shape"), ("", "the file is empty")]
)
def test_a_damaged_table_is_named(tmp_path: Path, table: str, message: str) -> None:
    with pytest.raises(CorpusError, match=message) as error:
        corpora.add("mine", tabled(tmp_path, hotel=table))
    assert "hotel_db.json" in error.value.where


def test_a_stored_table_that_was_changed_or_lost_is_named(tmp_path: Path, data_home: Path) -> None:
    corpora.add("mine", tabled(tmp_path, hotel=[{"name": "the ark"}]))
    stored = data_home / "corpora" / "mine" / "hotel_db.json"
    stored.write_text("[]")
    with pytest.raises(CorpusError, match="changed since it was imported"):
        corpora.load("mine:test").database  # noqa: B018  reading it is the test
    with pytest.raises(CorpusError, match="changed since it was imported"):
        audit_corpus("mine", {"test": corpora.load("mine:test")})
    stored.unlink()
    with pytest.raises(CorpusError, match="the file is gone"):
        corpora.load("mine:test").database  # noqa: B018
