"""`dstress.api`: what plug-ins import stays, and what we show people imports from there alone."""

from __future__ import annotations

import re

import pytest

from dstress import api
from tests.paths import ROOT

PINNED = """
    Alignment Answer Call Candidate Context Convention Corpus Dialogue DialogueStressor DstressError Engine Exchange
    Failed Format Frame Generator Goal GoldCall Importer Metric Prediction Request Resources Rewrite Rewriter Schema
    SchemaStressor Service Slot SlotNames Span SpecError Split State Stressor Tool Tracker Translation Translator Turn
    TurnStressor Unchanged conventions create derive_schema engines first_forms formats generators importers load
    metrics over_units ratio service_of split_of_file stressors trackers translators
"""
"""A name that goes from here breaks somebody's plug-in: CHANGELOG says so, a minor version before."""

SHOWN = [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "examples" / "plugin-template").rglob("*.py"))]


def test_the_names_are_those_that_are_promised() -> None:
    assert sorted(api.__all__) == sorted(PINNED.split())


@pytest.mark.parametrize("path", SHOWN, ids=lambda path: path.name)
def test_what_is_shown_imports_from_there_alone(path: object) -> None:
    text = (ROOT / str(path)).read_text("utf-8")
    assert set(re.findall(r"^from (dstress[\w.]*) import", text, re.MULTILINE)) <= {"dstress", "dstress.api"}
