"""RADDLE's four rewrites: which turns, which words must stay, and the stressed corpora that come out."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest

from dstress.corpora import load
from dstress.dialogue import Dialogue, Turn
from dstress.leaderboard.collection.rewrites import (
    KINDS,
    RewriteTask,
    Rewritten,
    draw_rewrite_tasks,
    rewrite_tables,
    write_rewritten,
)
from tests.cli.test_cli import run

TASK = RewriteTask(
    Dialogue(
        "d",
        (
            Turn("hello there you", state={}),
            Turn(
                "a taxi to Tamsworth Abbey at 17:30",
                "Where to?",
                {"taxi-to": ("Tamsworth Abbey",), "taxi-at": ("17:30",)},
            ),
        ),
    )
)


def test_the_words_that_say_values_are_known() -> None:
    assert TASK.turn == 1 and TASK.kept == ("Tamsworth Abbey", "17:30")


@pytest.mark.parametrize(
    ("kind", "text", "problem"),
    [
        ("paraphrase", "  ", "write something"),
        ("paraphrase", "A taxi to  Tamsworth Abbey at 17:30", "same as the original"),
        ("paraphrase", "a cab for Tamsworth at 17:30", "no longer says: Tamsworth Abbey"),
        ("typos", "a txai to Tmswroth Aby ta 17:03", "no longer says: Tamsworth Abbey, 17:30"),
        ("typos", "a txai to Tamsworth Abbey ta 17:30", ""),
        ("typos", "a txai to Tamswroth Abbey ta 17:30", "no longer says: Tamsworth Abbey"),
        ("paraphrase", "I need a ride at 17:30 to TAMSWORTH  abbey", ""),
        ("paraphrase", "I need a ride at 17:30 to Tamsworth Abby", "no longer says: Tamsworth Abbey"),
        ("paraphrase", "I need a ride at 17:30 to Tamsworth Abbeys", "no longer says: Tamsworth Abbey"),
        ("paraphrase", "I need a ride at half past five pm to tamsworth abbey", "no longer says: 17:30"),
        ("paraphrase", "I need a ride at 117:30 to tamsworth abbey", "no longer says: 17:30"),
        ("verbose", "taxi Tamsworth Abbey 17:30", "no longer than"),
        ("verbose", "so I would be glad of a taxi to Tamsworth Abbey at 17:30 if I may", ""),
        ("simplified", "well, a taxi to Tamsworth Abbey at 17:30", "no shorter than"),
        ("simplified", "taxi Tamsworth Abbey 17:30", ""),
        ("paraphrase", "x " * 5000, "at most"),
    ],
)
def test_values_stay_and_a_kind_is_what_it_says(kind: str, text: str, problem: str) -> None:
    found = TASK.problem(kind, text)
    assert (problem in found) if problem else found == ""


def test_gold_may_be_written_as_it_is_where_the_user_said_it_in_other_words() -> None:
    task = RewriteTask(Dialogue("d", (Turn("a taxi at half past five pm", state={"taxi-at": ("17:30",)}),)))
    assert task.kept == ("half past five pm",)
    assert task.problem("paraphrase", "I need a cab at 17:30") == ""
    assert task.problem("paraphrase", "I need a cab at 5:30 pm") == "it no longer says: half past five pm"


def test_what_has_no_words_of_its_own_may_be_said_in_others() -> None:
    state = {"hotel-area": ("dontcare",), "hotel-price": ("cheap",)}
    task = RewriteTask(Dialogue("d", (Turn("the area does not matter, something cheap", state=state),)))
    assert task.problem("paraphrase", "Cheap. I don't care where.") == ""
    assert "no longer says" in task.problem("paraphrase", "Cheap and in the area.")


def test_turns_are_drawn_by_seed_and_have_words_enough() -> None:
    corpus = load("reminder:test", limit=20)
    tasks = draw_rewrite_tasks(corpus, 12, seed=2)
    assert tasks == draw_rewrite_tasks(corpus, 12, seed=2) != draw_rewrite_tasks(corpus, 12, seed=3)
    assert len(tasks) == 12 and all(len(task.utterance.text.split()) >= 3 for task in tasks)
    original = {dialogue.id: dialogue for dialogue in corpus}
    assert all(original[task.dialogue.id].turns[: task.turn + 1] == task.dialogue.turns for task in tasks)


def test_a_second_rewrite_of_a_turn_goes_into_a_second_file() -> None:
    rewritten = [
        Rewritten("d", 1, "typos", 'one, "two"'),
        Rewritten("d", 1, "typos", "three"),
        Rewritten("a", 0, "verbose", "4"),
    ]
    tables = rewrite_tables(rewritten)
    assert list(tables) == ["typos.csv", "typos-2.csv", "verbose.csv"]
    assert tables["typos.csv"] == 'dialogue,turn,user\nd,1,"one, ""two"""\n'


@pytest.mark.slow
def test_the_export_is_a_stressed_corpus_that_score_reads(tmp_path: Path) -> None:
    corpus = load("reminder:test", limit=8)
    tasks = draw_rewrite_tasks(corpus, 6, seed=1)
    rewritten = [
        Rewritten(task.dialogue.id, task.turn, kind, f"{kind}: {' and '.join(task.kept) or 'nothing'}")
        for task, kind in product(tasks, KINDS)
    ]
    written = write_rewritten(corpus, rewrite_tables(rewritten), tmp_path)
    assert [path.name for path in written] == list(KINDS)
    stressed = load(str(tmp_path / "stressed" / "verbose"))
    changed = {(d.id, number): turn for d in stressed for number, turn in enumerate(d.turns) if turn.changed}
    assert {place: turn.user for place, turn in changed.items()} == {
        (one.dialogue, one.turn): one.text for one in rewritten if one.kind == "verbose"
    }
    about = (tmp_path / "stressed" / "verbose" / "stress.json").read_text()
    assert str(tmp_path) not in about and json.loads(about)["stressor"] == "rewrites(path=verbose.csv, trusted=true)"
    run(
        "run",
        "quick",
        "--tracker",
        "gold",
        "--corpus",
        str(tmp_path / "stressed" / "verbose"),
        "--out",
        str(tmp_path / "r"),
        "--only",
        "typos",
    )
    again = run(
        "stress",
        "reminder:test",
        "--limit",
        "8",
        "--with",
        f'rewrites(path="{tmp_path}/rewrites/typos.csv")',
        "--out",
        str(tmp_path / "again"),
    )
    assert "rewrites" in again
