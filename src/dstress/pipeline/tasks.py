"""Tasks for prefinetuning that a corpus gives: copying, paraphrase, coreference, and tracking itself.

PrefineDST (CheckDST, appendix C) learns such skills from other corpora before it learns to track. Each task is written
as a task file with its data, which any recipe can name again. `tasks.toml` has the prompts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec
import tomli_w

from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue, State, first_forms, update
from dstress.storage.atomic import replacing
from dstress.text.coreference import find_all
from dstress.text.letters import name_words
from dstress.text.mentions import find_mentions
from dstress.text.tables import read_table

_NONE = "none"
_FLAGS = ("yes", "no", "true", "false")
"""Values that users say in words of all kinds: there is nothing to copy."""

Record = dict[str, str]


def write_task(name: str, train: Corpus, dev: Corpus, folder: Path) -> Path:
    """Write the task of that name with the records of two splits, and give its file."""
    data = {"train": f"{name}.train.jsonl", "dev": f"{name}.dev.jsonl"}
    for split, corpus in (("train", train), ("dev", dev)):
        with replacing(folder / data[split]) as lines:
            for record in TASKS[name](corpus):
                lines.write(msgspec.json.encode(record) + b"\n")
    with replacing(folder / f"{name}.toml") as out:
        tomli_w.dump(read_table(__package__, "tasks.toml")[name] | data, out)
    return folder / f"{name}.toml"


def _copying(corpus: Corpus) -> Iterator[Record]:
    """For every value that the user says, its words; and for each such turn a slot that was never given."""
    for dialogue, number, before in _turns(corpus):
        turn = dialogue.turns[number]
        context, mentions = _context(dialogue, number), find_mentions(turn, before)
        for mention in mentions:
            answer = turn.user[mention.start : mention.end]
            if mention.value.casefold() not in _FLAGS:
                yield {"context": context, "question": _words(mention.slot), "answer": answer}
        services = {mention.slot.partition("-")[0] for mention in mentions}
        absent = [slot for slot in corpus.schema.slots if slot.partition("-")[0] in services and slot not in turn.state]
        if absent:
            slot = absent[number % len(absent)]
            yield {"context": context, "question": _words(slot), "answer": _NONE}


def _paraphrase(corpus: Corpus) -> Iterator[Record]:
    """Words that say the same slots and values, and as often such as say other values of the same slots."""
    owed = 0
    latest: dict[tuple[str, ...], tuple[State, str]] = {}
    same: dict[str, str] = {}
    for dialogue, number, before in _turns(corpus):
        turn = dialogue.turns[number]
        mentioned = {mention.slot for mention in find_mentions(turn, before)}
        change = {slot: values for slot, values in update(before, turn.state).items() if values}
        if not change or mentioned != change.keys():
            continue
        key = repr(sorted(change.items()))
        if key in same and same[key] != turn.user:
            owed += 1
            yield {"first": same[key], "second": turn.user, "answer": "yes"}
        slots = tuple(sorted(change))
        other, words = latest.get(slots, (change, ""))
        if other != change and owed:
            owed -= 1
            yield {"first": words, "second": turn.user, "answer": "no"}
        same[key], latest[slots] = turn.user, (change, turn.user)


def _coreference(corpus: Corpus) -> Iterator[Record]:
    """What expressions like "the same day" stand for, as the corpus says or as it can be found out."""
    for dialogue in corpus:
        for number, (turn, references) in enumerate(zip(dialogue.turns, find_all(dialogue), strict=True)):
            for reference in turn.coreferences or references:
                answer = reference.value or first_forms(turn.state).get(reference.slot, "")
                if reference.expression and answer:
                    context = _context(dialogue, number)
                    yield {"context": context, "expression": reference.expression, "answer": answer}


def _tracking(corpus: Corpus) -> Iterator[Record]:
    """The state after each turn."""
    for dialogue, number, _ in _turns(corpus):
        state = first_forms(dialogue.turns[number].state)
        answer = "; ".join(f"{_words(slot)} = {value}" for slot, value in sorted(state.items()))
        yield {"context": _context(dialogue, number), "answer": answer or _NONE}


TASKS: Mapping[str, Callable[[Corpus], Iterator[Record]]] = {
    "copying": _copying,
    "paraphrase": _paraphrase,
    "coreference": _coreference,
    "tracking": _tracking,
}


def _turns(corpus: Corpus) -> Iterator[tuple[Dialogue, int, State]]:
    """Every turn, with the state before it."""
    for dialogue in corpus:
        before: State = {}
        for number, turn in enumerate(dialogue.turns):
            yield dialogue, number, before
            before = turn.remembered.state


def _context(dialogue: Dialogue, number: int) -> str:
    """All that was said, up to a turn."""
    return "\n".join(
        (f"system: {turn.system}\n" if turn.system else "") + f"user: {turn.user}"
        for turn in (*(turn.remembered for turn in dialogue.turns[:number]), dialogue.turns[number])
    )


def _words(slot: str) -> str:
    service, _, name = slot.partition("-")
    return " ".join((*name_words(service), *name_words(name)))
