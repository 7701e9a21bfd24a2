"""RADDLE's four rewrites of a user's utterance (Peng et al. 2021, section 4.2), with the values kept.

A worker sees the dialogue so far and writes the utterance in other words, with typos, longer and shorter. "The workers
are instructed to exactly mention the slot values": a value stays letter for letter, among typos too.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from dstress.corpora.base import Corpus
from dstress.dialogue import DONTCARE, Dialogue, Schema
from dstress.pipeline.stress import stress, write_stressed
from dstress.storage.atomic import replacing
from dstress.stressors.base import LONGEST, still_says
from dstress.stressors.quality import Quality
from dstress.stressors.rewrites import COLUMNS, Rewrites
from dstress.text.mentions import Mention
from dstress.text.tables import read_table
from dstress.text.utterance import Utterance
from dstress.text.yes_no import read_flag

WORDINGS: dict[str, dict[str, Any]] = read_table(__package__, "wording.toml")
"""What workers are told of `rewrites` and of `elements`: by name the title, and what is asked for."""
KINDS = tuple(WORDINGS["rewrites"])
_FEWEST_WORDS = 3
"""Shorter utterances ("yes please") cannot be said in four other ways."""


class RewriteTask(msgspec.Struct, frozen=True):
    """One turn to rewrite: its dialogue up to it, and the last turn of that is the one."""

    dialogue: Dialogue

    @property
    def key(self) -> str:
        """What tells it from the other tasks of a collection."""
        return f"{self.dialogue.id} {self.turn}"

    @property
    def turn(self) -> int:
        """The turn's number."""
        return len(self.dialogue.turns) - 1

    @property
    def utterance(self) -> Utterance:
        """The user's words, with the values that they say."""
        return Utterance(self.dialogue, self.turn, Schema(), ())

    @property
    def spans(self) -> list[tuple[int, int]]:
        """Where the words say what the label takes from them; in order and apart."""
        spans: list[tuple[int, int]] = []
        for start, end in sorted({(mention.start, mention.end) for mention in self.utterance.mentions}):
            if not spans or start >= spans[-1][1]:
                spans.append((start, end))
        return spans

    @property
    def kept(self) -> tuple[str, ...]:
        """These words, as they stand; each once."""
        return tuple(dict.fromkeys(self.utterance.text[start:end] for start, end in self.spans))

    @property
    def names(self) -> dict[str, str]:
        """What is to be written, as the worker meets it and as it is kept."""
        return {kind: kind for kind in KINDS}

    @property
    def asks(self) -> dict[str, Any]:
        """What a worker may see: the words and none of the labels."""
        turns = [{"system": turn.system, "user": turn.user} for turn in self.dialogue.turns]
        return {"dialogue": turns, "keep": list(self.kept)}

    def problems(self, texts: Mapping[str, str]) -> dict[str, str]:
        """What is wrong with what a worker wrote, by kind."""
        problems = {kind: self.problem(kind, texts.get(kind, "")) for kind in KINDS}
        return {kind: problem for kind, problem in problems.items() if problem}

    def problem(self, kind: str, text: str) -> str:
        """What is wrong with a rewrite; empty if nothing is."""
        utterance = self.utterance
        text, original = " ".join(text.split()), " ".join(utterance.text.split())
        if not text:
            return "write something here"
        if len(text) > LONGEST:
            return f"it has {len(text):,} characters; {LONGEST:,} at most"
        if text.casefold() == original.casefold():
            return "it is the same as the original"
        lost = [
            utterance.text[mention.start : mention.end]
            for mention in utterance.mentions
            if not _says_exactly(text, utterance, mention)
        ]
        if lost:
            return f"it no longer says: {', '.join(dict.fromkeys(lost))}"
        longer = len(text.split()) - len(original.split())
        if kind == "verbose" and longer <= 0:
            return "it is no longer than the original"
        if kind == "simplified" and longer >= 0:
            return "it is no shorter than the original"
        return ""


def _says_exactly(text: str, utterance: Utterance, mention: Mention) -> bool:
    """Whether a text says a value in the utterance's own words or as gold writes it; capitals and blanks do not count.

    A yes, a no and not caring have no words of their own: what the label guard of stressors takes for them will do.
    """
    if mention.value == DONTCARE or read_flag(mention.slot, mention.value) is not None:
        return still_says(text, utterance, mention)
    forms = (utterance.text[mention.start : mention.end], *utterance.turn.state[mention.slot])
    return any(re.search(rf"(?<!\w){re.escape(_folded(form))}(?!\w)", _folded(text)) for form in forms)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def draw_rewrite_tasks(corpus: Corpus, turns: int, seed: int) -> list[RewriteTask]:
    """Turns at random, of those with enough words to be said in another way."""
    places = [
        (dialogue, turn)
        for dialogue in corpus
        for turn in range(len(dialogue.turns))
        if len(dialogue.turns[turn].user.split()) >= _FEWEST_WORDS and len(dialogue.turns[turn].user) <= LONGEST
    ]
    places.sort(key=lambda place: (place[0].id, place[1]))
    drawn = Random(seed).sample(places, min(turns, len(places)))
    return [RewriteTask(dialogue.first(turn + 1)) for dialogue, turn in drawn]


class Rewritten(msgspec.Struct, frozen=True):
    """A rewrite that passed vetting."""

    dialogue: str
    turn: int
    kind: str
    text: str


def rewrite_tables(accepted: Iterable[Rewritten]) -> dict[str, str]:
    """File name -> CSV with `dialogue`, `turn` and `user`, which the stressor `rewrites(path=FILE)` reads.

    A turn that has several rewrites of a kind is in as many files: `paraphrase.csv`, `paraphrase-2.csv`.
    """
    rows: dict[str, list[Rewritten]] = {}
    count: dict[tuple[str, str, int], int] = {}
    for row in sorted(accepted, key=lambda row: (KINDS.index(row.kind), row.dialogue, row.turn)):
        number = count[row.kind, row.dialogue, row.turn] = count.get((row.kind, row.dialogue, row.turn), 0) + 1
        rows.setdefault(row.kind if number == 1 else f"{row.kind}-{number}", []).append(row)
    tables = {}
    for name, rewrites in rows.items():
        out = io.StringIO(newline="")
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows((row.dialogue, row.turn, row.text) for row in rewrites)
        tables[f"{name}.csv"] = out.getvalue()
    return tables


def write_rewritten(corpus: Corpus, tables: Mapping[str, str], folder: Path) -> list[Path]:
    """Write the tables, and for each the stressed corpus that `dstress stress` would make of it.

    They were guarded as they were written and vetted by a person afterwards, so each is taken as it is.
    """
    written = []
    for name, content in tables.items():
        path = folder / "rewrites" / name
        with replacing(path) as out:
            out.write(content.encode())
        stressor = Rewrites(str(path), trusted=True)
        stressor.spec = f"rewrites(path={name}, trusted=true)"  # a server's folders are nobody's business
        stressed = stress(corpus, stressor)
        target = folder / "stressed" / path.stem
        write_stressed(stressed, target, Quality(stressed.stressor), lambda dialogue: None)
        written.append(target)
    return written
