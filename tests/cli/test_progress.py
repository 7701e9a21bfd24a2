"""Progress: a live line with numbers in a terminal, few plain lines in a pipe."""

from __future__ import annotations

import io
import re
import sys

import pytest

from dstress.cli import progress
from dstress.cli.progress import counting


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def last_line(monkeypatch: pytest.MonkeyPatch, what: str, *shown: tuple[str, int, int | None]) -> str:
    """What a live line says last in a terminal of 80 columns, without control codes."""
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    with counting(what) as show:
        for label, done, total in shown:
            show(label, done, total)
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue())
    return [line.strip() for line in re.split(r"[\r\n]+", plain) if line.strip()][-1]


def test_a_terminal_sees_total_rate_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    line = last_line(monkeypatch, "", *(("tracking, stressor 3 of 15: typos", done, 1500) for done in range(1, 1201)))
    said = r"tracking, stressor 3 of 15: typos \S+ 1,200/1,500 [\d,]+/s \d:\d\d:\d\d left"
    assert re.fullmatch(said, line), line


def test_each_label_is_counted_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    line = last_line(monkeypatch, "", ("tracking: original", 9, 9), ("scoring", 0, None))
    assert re.fullmatch(r"scoring \S+ +\d:\d\d:\d\d", line), line


def test_a_long_label_is_cut_and_the_numbers_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    label = "stressor 1 of 1: " + "typos(rate=0.1)+" * 9
    line = last_line(monkeypatch, "dialogues", *((label, done, 7000) for done in range(1, 6001)))
    said = r"stressor 1 of 1: \S*… \S+ 6,000/7,000 dialogues [\d,]+/s \d:\d\d:\d\d left"
    assert re.fullmatch(said, line) and len(line) <= 80, line


def test_a_pipe_sees_turns_rate_and_tokens_while_nothing_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A first request may take minutes: nobody calls meanwhile. Then there is a line now and again."""
    monkeypatch.setattr(progress, "_PLAIN_AFTER", 0.2)
    monkeypatch.setattr(progress, "_AGAIN_AFTER", 0.0)
    monkeypatch.setattr(progress, "_TICK", 0.05)
    with counting() as show:
        show("tracking: original", 0, 97)
        heard = ""
        while "0/97" not in heard:
            heard += capsys.readouterr().err
        show("tracking: original; 812 tokens", 3, 97)
    assert heard == "tracking: original: 0/97\n"
    assert re.fullmatch(r"tracking: original: 3/97, [\d.,]+/s, 812 tokens\n", capsys.readouterr().err)


def test_a_terminal_sees_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    line = last_line(monkeypatch, "", *((f"tracking: original; {done}00 tokens", done, 97) for done in range(1, 30)))
    assert re.fullmatch(r"tracking: original \S+ 29/97 [\d.,]+/s, 2900 tokens \d:\d\d:\d\d left", line), line


def test_a_pipe_gets_at_most_a_line_for_each_label(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_PLAIN_AFTER", 0.0)
    with counting("turns") as show:
        for label in ("original", "stressor 1 of 1: typos"):
            for done in range(1, 4):
                show(label, done, 1500)
        show("scoring", 0)
    captured = capsys.readouterr()
    assert captured.err.splitlines() == ["original: 1/1,500 turns", "stressor 1 of 1: typos: 1/1,500 turns", "scoring"]
    assert captured.out == ""
