"""Variants by the names that the suite's table gives them: short, and never two alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstress.reports.findings import findings
from dstress.reports.variant_names import rename_variants, variant_names
from dstress.runs.folder import RunFolder
from dstress.runs.suites import Column, Suite, load
from dstress.runs.suites.base import names as suite_names


def test_a_stressor_has_its_own_name_on_every_page() -> None:
    assert variant_names(load("checkdst")) == {name: name for name in load("checkdst").variants}
    assert variant_names(load("raddle"))["unseen_entities"] == "unseen_entities"


def test_papers_names_tell_variants_of_one_stressor_apart() -> None:
    coco = variant_names(load("coco"))
    assert coco["counterfactual(values=I, combinations=freq, fallback=values)"] == "CoCo+ freq (I)"
    assert coco["paraphrase(strength=mild)"] == "BT"


def test_abbreviations_of_a_table_are_spelled_out() -> None:
    checkdst, raddle = load("checkdst"), load("raddle")
    assert checkdst.spell_out("PI cJGA", "JGA")["PI"] == "paraphrase invariance"
    assert list(checkdst.spell_out("PI cJGA", "JGA")) == ["PI", "cJGA"]
    assert "without Standard" in raddle.spell_out("Avg.c")["Avg.c"] and raddle.spell_out("Speech, lost") == {}


def test_a_variant_without_a_column_keeps_its_spec() -> None:
    assert variant_names(load("sgd-x"))["schema_variant(version=v2)"] == "schema_variant(version=v2)"


def test_a_column_of_a_slice_names_no_variant() -> None:
    part = Column("lost", "typos", "jga", ("stress", "lost"))
    assert variant_names(Suite("s", stressors=("typos",), table=(part,)))["typos"] == "typos"


@pytest.mark.parametrize("suite", list(suite_names()))
def test_no_two_variants_of_a_suite_share_a_name(suite: str) -> None:
    names = variant_names(load(suite))
    assert list(names) == list(load(suite).variants)
    assert len(set(names.values())) == len(names)


SPECS = st.sampled_from(["a", "b", "c", "d"])
COLUMNS = st.builds(Column, st.sampled_from(["a", "b", "x", "a jga", "jga", ""]), SPECS, st.just("jga"))


@given(st.lists(SPECS, unique=True, min_size=1), st.lists(COLUMNS, max_size=6))
def test_whatever_the_columns_say_names_tell_variants_apart(specs: list[str], columns: list[Column]) -> None:
    names = variant_names(Suite("s", stressors=tuple(specs), table=tuple(columns)))
    assert len(set(names.values())) == len(names)
    assert all(names.values())


def test_findings_speak_of_names_and_are_the_same_otherwise(run: RunFolder) -> None:
    names = variant_names(run.manifest.suite)
    plain, named = findings(run.scores), findings(rename_variants(run.scores, names))
    assert [finding.interest for finding in named] == [finding.interest for finding in plain]
    assert [finding.variant for finding in named] == [names.get(f.variant, f.variant) for f in plain]
    assert any(finding.variant == "typos" and "typos " in finding.title for finding in named)
