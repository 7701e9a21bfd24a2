from __future__ import annotations

from pathlib import Path

import pytest

from dstress.conventions import conventions
from dstress.errors import DstressError
from dstress.runs import suites
from dstress.scoring.metrics import metrics, pair_metrics
from dstress.stressors import create

ACROSS = ("jga-orig", "jga-v1-5", "ss(jga)", "diff-rel", "always-wrong")
GOOD = """
title = "Mine"
stressors = ["typos"]
[[table]]
column = "a"
variant = "typos"
metric = "jga"
"""


@pytest.mark.parametrize("name", list(suites.names()))
def test_every_suite_names_what_there_is(name: str) -> None:
    suite = suites.load(name)
    assert suite.title and suite.about
    groups = {group.name for group in suite.across}
    for spec in suite.variants[1:]:
        assert create(spec).spec == spec, "suites write specs the short way, so that tables find them"
    for metric in suite.metrics:
        metrics.create(metric)
    if suite.convention:
        conventions.create(suite.convention)
    for column in suite.table:
        known = ACROSS if column.variant in groups else (*suite.metrics, *pair_metrics)
        assert column.metric in known, column


@pytest.mark.parametrize("name", list(suites.names()))
def test_what_a_tracker_that_is_always_wrong_is_good_at_has_that_share_beside_it(name: str) -> None:
    table = suites.load(name).table
    wrong = {column.variant for column in table if column.metric == "always-wrong"}
    assert {column.variant for column in table if column.metric in ("cjga", "ss(jga)")} <= wrong
    assert wrong or not any(column.metric == "nohf" for column in table)


@pytest.mark.parametrize("name", list(suites.names()))
def test_an_invariance_to_paraphrase_has_the_words_that_changed_beside_it(name: str) -> None:
    table = suites.load(name).table
    paraphrased = {column.variant for column in table if column.metric == "cjga" and "paraphrase" in column.variant}
    assert paraphrased <= {column.variant for column in table if column.metric == "words-changed"}
    assert paraphrased or name != "checkdst"


@pytest.mark.parametrize("name", ["raddle", "raddle-history"])
def test_raddle_has_the_columns_of_table_2(name: str) -> None:
    suite = suites.load(name)
    language = ["Standard", "Para.", "Simp.", "Typos", "Verbo.", "Speech"]
    expected = [f"{task} {measure}" for task in language for measure in ("JGA", "C")]
    expected += ["Unseen JGA", "Unseen IC", "OOD JGA", "OOD F1"]
    assert [column.name for column in suite.table if column.task] == expected
    assert [(average.column, average.without) for average in suite.average] == [("Avg.", ()), ("Avg.c", ("Standard",))]


def test_raddle_history_differs_from_raddle_in_the_scope_alone() -> None:
    clean, whole = suites.load("raddle"), suites.load("raddle-history")
    scoped = ("paraphrase", "simplification", "typos", "verbosity", "speech_text")
    assert whole.stressors == tuple(f"{each}(scope=dialogue)" if each in scoped else each for each in clean.stressors)
    tasks = [column for column in clean.table if column.task]
    assert [(c.name, c.metric, c.variant.partition("(")[0]) for c in whole.table] == [
        (c.name, c.metric, c.variant) for c in tasks
    ]
    assert whole.terms == clean.terms


def test_the_papers_have_theirs() -> None:
    assert {"checkdst", "coco", "coco-ablation", "raddle", "raddle-history", "sgd-x", "gca", "quick", "full"} <= set(
        suites.names()
    )


@pytest.mark.parametrize("name", ["checkdst", "coco", "full", "raddle"])
def test_a_suite_says_what_changed_against_the_first_version(name: str) -> None:
    text = (Path(suites.__file__).parent / f"{name}.toml").read_text(encoding="utf-8")
    assert "0.1" in text.partition("title = ")[0]


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(GOOD)
    assert suites.load(str(path)).variants == ("original", "typos")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("title = ", "this is no TOML"),
        ("about = 'x'", "title"),
        (GOOD.replace("metric = ", "metrics = "), "metric"),
        (GOOD.replace('variant = "typos"', 'variant = "tpyos"'), "did you mean 'typos'"),
        (GOOD + "\ncolour = 1", "colour"),
        (GOOD + '\n[released]\ntpyos = ["typos-1"]', "did you mean 'typos'"),
        (GOOD + '\ntask = "Typos"\n[[average]]\ncolumn = "Avg."\nwithout = ["Tpyos"]', "did you mean 'Typos'"),
    ],
)
def test_mistakes_are_told(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(DstressError, match=words) as told:
        suites.load(str(path))
    assert "mine.toml" in told.value.where


def test_an_unknown_name_is_told() -> None:
    with pytest.raises(DstressError, match="did you mean 'checkdst'"):
        suites.load("chekdst")
    with pytest.raises(DstressError, match=r"there is no suite file nowhere\.toml"):
        suites.load("nowhere.toml")
