"""Whom a run cites: what it used, nothing else; every entry is whole, and names what there is."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from dstress._version import __version__
from dstress.cli.names import registry
from dstress.runs import suites
from dstress.runs.citations import citations, corpus_citations
from dstress.runs.folder import Manifest
from dstress.runs.suites.base import Suite
from tests.paths import ROOT

TABLE = tomllib.loads((ROOT / "src/dstress/runs/citations.toml").read_text("utf-8"))
PAPERS = {"lee2022sgdx": "sgd-x", "li2021coco": "coco", "aksu2024gca": "gca", "peng2021raddle": "raddle"}
PAPERS |= {"cho2022checkdst": "checkdst"}


def manifest(suite: Suite, name: str = "ours.toml", corpus: str = "reminder:test") -> Manifest:
    return Manifest("rules", corpus, name, 1, 0, "", {}, {}, suite)


def keys(suite: Suite, name: str = "ours.toml") -> list[str]:
    return [entry.key for entry in citations([manifest(suite, name)])]


def test_without_a_run_all_papers_are_cited() -> None:
    assert {entry.key for entry in citations()} == {"dstress", *PAPERS}


@pytest.mark.parametrize(
    ("stressor", "metric", "expected"),
    [
        ("typos", "jga", ["dstress", "peng2021raddle"]),
        ("values+typos(rate=0.2)", "jga", ["dstress", "li2021coco", "peng2021raddle"]),
        ("schema_noise", "gca(weights=paper)", ["dstress", "lee2022sgdx", "aksu2024gca"]),
        ("time_format", "jga", ["dstress"]),
    ],
)
def test_a_run_cites_what_it_used(stressor: str, metric: str, expected: list[str]) -> None:
    assert keys(Suite("mine", metrics=(metric,), stressors=(stressor,))) == expected


@pytest.mark.parametrize(
    ("name", "key"), [("sgd-x", "lee2022sgdx"), ("coco", "li2021coco"), ("raddle", "peng2021raddle")]
)
def test_a_papers_suite_cites_it(name: str, key: str) -> None:
    [entry] = [entry for entry in citations([manifest(suites.load(name), name)]) if entry.key == key]
    assert f"the suite {name}" in entry.used_for


def test_several_runs_are_cited_together() -> None:
    runs = [manifest(Suite("a", stressors=("typos",))), manifest(Suite("b", stressors=("values",)))]
    assert [entry.key for entry in citations(runs)] == ["dstress", "li2021coco", "peng2021raddle"]


def test_every_entry_is_bibtex() -> None:
    for entry in citations():
        text = str(entry)
        assert re.fullmatch(rf"@\w+{{{entry.key},\n(  \w+ = {{.+}},\n)+}}\n", text)
        assert text.count("{") == text.count("}")


def test_the_table_names_what_there_is() -> None:
    known = {kind: set(registry(kind)) for kind in ("stressors", "metrics", "pair_metrics", "variant_metrics")}
    metrics = known["metrics"] | known["pair_metrics"] | known["variant_metrics"] | {"jga-v1-5"}
    for entry in TABLE.values():
        assert set(entry.get("suites", ())) <= set(suites.names())
        assert set(entry.get("stressors", ())) <= known["stressors"]
        assert set(entry.get("metrics", ())) <= metrics


def test_the_corpus_is_cited_where_the_catalogue_knows_it() -> None:
    suite = Suite("mine")
    assert corpus_citations([manifest(suite)]) == []
    [told] = corpus_citations([manifest(suite, corpus="multiwoz21:test")] * 2)
    assert told.startswith("multiwoz21: ")


def test_titles_and_authors_are_those_of_the_papers(shared: Path) -> None:
    for key, paper in PAPERS.items():
        head = _plain((shared / "papers" / f"{paper}.txt").read_text("utf-8")[:2000])
        titles = [TABLE[key]["title"], TABLE[key].get("note", "").removeprefix("First published as ")]
        assert any(title and _plain(title) in head for title in titles)
        if paper != "checkdst":  # the copy is anonymous
            families = [author.split(",")[0] for author in TABLE[key]["author"].split(" and ")]
            assert all(_plain(family) in head for family in families)


def _plain(text: str) -> str:
    """Letters and digits alone: a copy made from a PDF has other blanks."""
    return re.sub(r"[^a-z0-9]", "", text.casefold())


def test_the_citation_file_is_of_this_version() -> None:
    text = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"version: {__version__}\n" in text
    assert f'title: "{TABLE["dstress"]["title"]}"\n' in text
    assert f"name: {TABLE['dstress']['author'].strip('{}')}\n" in text
