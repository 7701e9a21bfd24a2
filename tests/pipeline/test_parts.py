"""A part of a corpus shows as a part, and is stressed as it is in the whole."""

from __future__ import annotations

import shlex
from itertools import islice
from pathlib import Path

import pytest
from click.testing import CliRunner

import dstress
from dstress.cli.main import cli
from dstress.corpora.base import Corpus
from dstress.errors import DstressError
from dstress.pipeline.evaluate import evaluate
from dstress.pipeline.run import RunOptions
from dstress.reports.score_tables import run_tables
from dstress.reports.tables import latex, markdown
from dstress.reports.views import command

DRAWN = 6


@pytest.mark.slow
@pytest.mark.parametrize("stressor", ["disfluency", "out_of_domain", "speech_text", "verbosity"])
def test_a_part_is_stressed_as_in_the_whole(stressor: str) -> None:
    """The corpus changes its style half way: what is fitted on its first dialogues alone is another style."""
    test = list(islice(dstress.load("reminder:test"), 20))
    shouted = list(islice(dstress.load("reminder:dev"), 20))
    loud = [
        dstress.Dialogue(one.id, tuple(_shouting(turn) for turn in one.turns), one.services, one.goal)
        for one in shouted
    ]
    whole = Corpus("mixed", "test", dstress.load("reminder:test").schema, lambda: iter([*test, *loud]))
    stressed = {one.id: one for one in dstress.stress(whole, stressor)}
    for part in (whole.take(10), whole.take(draw=10, seed=1)):
        some = list(dstress.stress(part, stressor))
        assert some == [stressed[one.id] for one in some] and len(some) == 10


def _shouting(turn: dstress.Turn) -> dstress.Turn:
    return dstress.Turn(turn.user.upper(), turn.system.upper(), turn.state)


def test_a_draw_is_a_sample_by_seed() -> None:
    whole = dstress.load("reminder:test")
    first, again, other = (whole.take(draw=DRAWN, seed=seed) for seed in (1, 1, 2))
    names = [[one.id for one in drawn] for drawn in (first, again, other)]
    assert names[0] == names[1] != names[2] and len(set(names[0])) == DRAWN
    assert names[0] != [one.id for one in whole.take(DRAWN)] and names[0] == sorted(names[0])
    assert set(names[0]) < {one.id for one in whole.take(draw=2 * DRAWN, seed=1)}
    with pytest.raises(DstressError, match="exclude each other"):
        whole.take(1, 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit", "draw", "words", "part"),
    [(5, 0, "the first 5 dialogues", "first5"), (0, 5, "5 dialogues drawn at random", "draw5")],
)
def test_a_part_shows_everywhere(limit: int, draw: int, words: str, part: str, tmp_path: Path) -> None:
    options = RunOptions(limit=limit, draw=draw, only=("typos",), convention="trade", also=("--workers", "2"))
    run = evaluate("quick", "empty", "reminder:test", tmp_path / "run", options)
    tables = run_tables(run.manifest, run.scores)
    shown = [text(table) for table in tables for text in (markdown, latex)]
    assert all(words in text for text in shown) and len(shown) == 4
    page = (tmp_path / "run" / "report.html").read_text()
    assert page.count(words) >= 2
    for variant, name in (("original", "reminder"), ("typos", "reminder+typos")):
        assert f"|corpus:{name}.test.{part}|" in run.scores.variants[variant]["jga"].signature
    again = shlex.split(command(run.manifest))
    told = ["--limit", "5"] if limit else ["--draw", "5"]
    assert again[3:] == [
        *("--tracker", "empty", "--corpus", "reminder:test", "--seed", "1"),
        *(*told, "--only", "typos", "--convention", "trade", "--workers", "2"),
    ]
    answer = CliRunner().invoke(cli, [*again[1:], "--out", str(tmp_path / "again")], catch_exceptions=False)
    assert answer.exit_code == 0
    assert (tmp_path / "again" / "run.toml").read_bytes() == (tmp_path / "run" / "run.toml").read_bytes()
