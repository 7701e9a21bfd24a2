"""Taskmaster 1 to 3: lists of conversations with annotated segments; TM-1's written ones are parted by lists of ids."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import ClassVar

import msgspec

from dstress.corpora.base import Importer, LocatedDialogue, Split
from dstress.corpora.checks import derive_schema
from dstress.corpora.json_files import decode
from dstress.corpora.split_names import SPLIT_NAMES, UNNAMED, sort_splits
from dstress.dialogue import Act, Dialogue, Frame, Span, State, Turn, service_of, slot_id
from dstress.storage.sources import Source, SourceFile

_SHAPE = re.compile(rb'^\s*\[\s*\{\s*"conversation_id"\s*:')
_OUTCOMES = ("accept", "reject")
_DELETED = "(deleted)"


class _Annotation(msgspec.Struct, gc=False):
    name: str


class _Segment(msgspec.Struct, gc=False):
    start_index: int
    end_index: int
    annotations: list[_Annotation] = []


class _Utterance(msgspec.Struct, gc=False):
    speaker: str
    text: str
    segments: list[_Segment] = []


class _Conversation(msgspec.Struct, gc=False):
    conversation_id: str
    utterances: list[_Utterance]
    vertical: str = ""


class _Said(msgspec.Struct, gc=False):
    """A value that an utterance says, or only mentions to turn it down."""

    slot: str
    span: Span
    text: str
    act: str


_FILE = msgspec.json.Decoder(list[_Conversation])


class Taskmaster(Importer):
    """Taskmaster: states are made of the segments that either side says and that are not rejected, as ConvLab does."""

    name: ClassVar[str] = "taskmaster"

    @classmethod
    def matches(cls, source: Source) -> bool:
        return bool(_files(source))

    def splits(self, source: Source) -> Iterator[Split]:
        files = _files(source)
        names = {name: split for split, listed in _read_lists(source).items() for name in listed}
        found = {names.get(raw.conversation_id, UNNAMED) for file in files for raw in decode(_FILE, file)}
        for split in sort_splits(found):
            read = partial(_read_dialogues, files, names, split)
            yield Split(split, derive_schema(dialogue for _, dialogue in read()), read)


def _files(source: Source) -> list[SourceFile]:
    return [file for file in source.ending(".json") if _SHAPE.match(file.head())]


def _read_lists(source: Source) -> dict[str, list[str]]:
    """`train.csv`, `dev.csv`, `test.csv`: an id a line, before a comma."""
    lists = [file for file in source.ending(".csv") if file.stem.removesuffix(".csv") in SPLIT_NAMES]
    return {
        file.stem.removesuffix(".csv"): [line.decode("utf-8", "replace").split(",")[0].strip() for line in file.lines()]
        for file in lists
    }


def _read_dialogues(files: Sequence[SourceFile], names: dict[str, str], split: str) -> Iterator[LocatedDialogue]:
    for file in files:
        for raw in decode(_FILE, file):
            # Some were collected, but nobody said anything.
            if names.get(raw.conversation_id, UNNAMED) == split and (turns := tuple(_turns(raw))):
                services = dict.fromkeys(service_of(slot) for turn in turns for slot in turn.state)
                yield file.label, Dialogue(raw.conversation_id, turns, tuple(services))


def _turns(raw: _Conversation) -> Iterator[Turn]:
    """Utterances of one side that follow each other are one."""
    system, user, state = _Side(), _Side(), State()
    for utterance in raw.utterances:
        text = utterance.text.strip()
        if not text or text == _DELETED:
            continue
        asked = utterance.speaker.casefold() != "user"
        if asked and user.text:
            yield Turn(user.text, system.text, state, user.frames(), system.frames())
            system, user = _Side(), _Side()
        said = list(_values(utterance, raw.vertical))
        (system if asked else user).add(text, said)
        state = state | {value.slot: (value.text,) for value in said if value.act != "REJECT"}
    if user.text:
        yield Turn(user.text, system.text, state, user.frames(), system.frames())


class _Side:
    """What one side says before the other goes on."""

    def __init__(self) -> None:
        self.text = ""
        self.said: dict[str, list[tuple[Span, Act]]] = {}

    def add(self, text: str, said: Sequence[_Said]) -> None:
        shift = len(self.text) + 1 if self.text else 0
        self.text = f"{self.text} {text}" if self.text else text
        for value in said:
            span = Span(value.span.slot, value.span.start + shift, value.span.end + shift)
            act = Act(value.act, value.span.slot, (value.text,))
            self.said.setdefault(service_of(value.slot), []).append((span, act))

    def frames(self) -> tuple[Frame, ...]:
        return tuple(
            Frame(service, spans=tuple(span for span, _ in own), acts=tuple(act for _, act in own))
            for service, own in self.said.items()
        )


def _values(utterance: _Utterance, vertical: str) -> Iterator[_Said]:
    """The first of each segment's two annotations; of segments that overlap the shortest. In the order of the words."""
    blanks = len(utterance.text) - len(utterance.text.lstrip())
    text = utterance.text.strip()
    found: list[_Said] = []
    for segment in sorted(utterance.segments, key=lambda one: one.end_index - one.start_index):
        start, end = segment.start_index - blanks, segment.end_index - blanks
        if not segment.annotations or not 0 <= start < end <= len(text):
            continue
        service, slot, outcome = _name(segment.annotations[0].name, vertical)
        if slot and all(end <= other.span.start or other.span.end <= start for other in found):
            found.append(_Said(slot_id(service, slot), Span(slot, start, end), text[start:end], outcome))
    return iter(sorted(found, key=lambda value: value.span.start))


def _name(annotation: str, vertical: str) -> tuple[str, str, str]:
    """`pizza_ordering.size.pizza.reject` -> service, slot and act. TM-3 leaves the service to the conversation."""
    service, _, slot = ("", "", annotation) if vertical else annotation.partition(".")
    *parts, last = slot.split(".")
    outcome = last if last in _OUTCOMES else "inform"
    slot = ".".join(parts) if last in _OUTCOMES else slot
    return (service or vertical.casefold()).replace(" ", "_").replace("-", "_"), slot, outcome.upper()
