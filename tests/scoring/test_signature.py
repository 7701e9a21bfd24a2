"""A signature tells which data a number is of: two corpora of one name never share one."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import dstress
from dstress import corpora
from dstress.conventions import conventions
from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue, Schema, Service, Slot, Turn
from dstress.pipeline.evaluate import evaluate
from dstress.pipeline.run import RunOptions
from dstress.pipeline.stress import write_stressed
from dstress.predictions.base import Prediction
from dstress.registry import origin_of
from dstress.stressors.quality import Quality
from tests.corpora import layouts

SCHEMA = Schema((Service("hotel", slots=(Slot("area"),)),))
SUITE = """
title = "T"
metrics = ["jga"]
stressors = ["typos"]
[[table]]
column = "c"
variant = "typos"
metric = "cjga"
"""


def named(*values: str, schema: Schema = SCHEMA) -> Corpus:
    dialogues = [
        Dialogue(f"d{number}", (Turn(f"the {value}", state={"hotel-area": (value,)}),))
        for number, value in enumerate(values)
    ]
    return Corpus("mine", "test", schema, lambda: iter(dialogues))


def signature(corpus: Corpus, convention: str = "exact") -> str:
    answers = [Prediction(dialogue.id, 0, {"hotel-area": "north"}) for dialogue in corpus]
    return dstress.score(answers, corpus, convention, ["jga"])["jga"].signature


def test_two_corpora_of_one_name() -> None:
    first, second = named("north", "south"), named("north", "west")
    assert signature(first) != signature(second) and signature(first) == signature(named("north", "south"))
    wider = Schema((Service("hotel", slots=(Slot("area"), Slot("stars"))),))
    assert signature(first) != signature(named("north", "south", schema=wider))
    assert f"|data:{first.data}|" in signature(first) and len(first.data) == 8


def test_the_order_of_dialogues_and_where_they_lie_do_not_matter(tmp_path: Path) -> None:
    folder = layouts.multiwoz_single(tmp_path / "it")
    corpora.add("stored", folder)
    stored, loose = corpora.load("stored:train"), corpora.load(f"{folder}:train")
    dialogues = list(stored)[::-1]
    turned = Corpus("other", "train", stored.schema, lambda: iter(dialogues))
    assert stored.data == loose.data == turned.data != corpora.load("stored:test").data
    assert stored.take(1).data != stored.data


def test_a_stressed_corpus_tells_stressor_seed_and_version(tmp_path: Path) -> None:
    few = corpora.load("reminder:test").take(3)
    parts = []
    for seed in (1, 2):
        stressed = dstress.stress(few, "typos(rate=0.3)", seed=seed)
        write_stressed(stressed, tmp_path / str(seed), Quality(stressed.stressor), lambda _: None)
        read = corpora.load(str(tmp_path / str(seed)))
        assert read.identity == stressed.identity
        assert read.identity["stress"] == f"typos(rate=0.3)/seed={seed}/dstress={dstress.__version__}"
        parts.append(read.identity["data"])
    assert parts[0] != parts[1]


def test_a_runs_signatures_are_those_of_its_data(tmp_path: Path) -> None:
    suite = tmp_path / "suite.toml"
    suite.write_text(SUITE)
    run = evaluate(str(suite), "gold", "reminder:test", tmp_path / "run", RunOptions(limit=5, report=False))
    few = corpora.load("reminder:test").take(5)
    typos = dstress.stress(few, "typos")
    assert run.scores.variants["original"].signature["data"] == few.data
    assert run.scores.variants["typos"].signature | typos.identity == run.scores.variants["typos"].signature
    assert f"|data:{few.data}+{typos.data}|" in run.scores.paired["typos"]["cjga"].signature


def test_a_plugin_is_named_with_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "from dstress.conventions.exact import Exact\n\nclass Mine(Exact):\n    name = 'mine'\n"
    (tmp_path / "own_convention.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    first = signature(named("north"), "own_convention:Mine")
    assert f"|plugins:{conventions.origin('own_convention:Mine')}|" in first and "plugins" not in signature(named("a"))
    del sys.modules["own_convention"]
    (tmp_path / "own_convention.py").write_text(source + "# changed\n")
    assert signature(named("north"), "own_convention:Mine") != first
    assert origin_of(pytest.Item).startswith("pytest-")


def test_the_file_says_it_too(tmp_path: Path) -> None:
    few = corpora.load("reminder:test").take(2)
    stressed = dstress.stress(few, "typos")
    write_stressed(stressed, tmp_path, Quality(stressed.stressor), lambda _: None)
    told = json.loads((tmp_path / "stress.json").read_text())
    assert (told["stressor"], told["seed"], told["dstress"]) == ("typos", 1, dstress.__version__)


def test_the_interval_of_a_value_without_ends_is_named_in_its_signature() -> None:
    """It has no log odds."""
    north, south = {"hotel-area": "north"}, {"hotel-area": "south"}
    gold = {f"d{number}": [north, south] for number in range(8)}
    answers = {name: [north, south if number % 2 else north] for number, name in enumerate(gold)}
    wrong_slots = "tests.fakes.metrics:WrongSlots"
    card = dstress.score(answers, gold, metrics=["jga", wrong_slots])
    assert "|ci:logit|" in card["jga"].signature and "|ci:bca.1000|" in card[wrong_slots].signature
