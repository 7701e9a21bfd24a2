"""Words that somebody hostile, or merely unlucky, puts into a file."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

import dstress
from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue

CLIPBOARD = "a\x1b]52;c;cHduZWQ=\x07b"
"""Some terminals obey this and fill the clipboard."""

VALUES = {
    "400 digits": "9" * 400,
    "5000 digits": "9" * 5000,
    "a p.m. hour of 5000 digits": "9" * 5000 + " pm",
    "an ordinal": "9" * 500 + "th",
    "an amount": "£" + "9" * 500,
    "digits that are none": "²",
    "digits of Arabic": "٣٤",
    "a command to the terminal": CLIPBOARD,
    "a line break": "a\nb",
    "text from right to left": "\u202eabc",
    "a null": "a\x00b",
    "a book": "word " * 20_000,
    "one word": "x" * 100_000,
    "an expression": "(a+)+$" * 100,
    "marks of templates": "{slot}[x]%s",
    "a reference": "\\1\\g<0>",
    "a blank": " ",
}


def poisoned(value: str) -> Corpus:
    """A dialogue of `reminder` in which every value, and what is said, is this one."""
    clean = dstress.load("reminder:test")
    dialogue = next(iter(clean))
    turns = tuple(
        msgspec.structs.replace(
            turn,
            user=f"i want {value} at 5 pm please, for {value}",
            system=f"ok, {value}?",
            state={slot: (value, *others) for slot, others in turn.state.items()},
        )
        for turn in dialogue.turns
    )

    def read() -> Iterator[Dialogue]:
        yield msgspec.structs.replace(dialogue, turns=turns)

    return Corpus(clean.name, clean.split, clean.schema, read)


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Fails what would never end. No measure of speed: what is mended takes a small part of the time."""

    def give_up(*_: object) -> None:
        raise AssertionError(f"not done in {seconds} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
