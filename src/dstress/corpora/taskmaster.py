"""Taskmaster 1 to 3: conversations with annotated segments; TM-1's written ones are split by lists of ids."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import msgspec

from dstress.corpora.base import ENGLISH, LocatedDialogue, Split
from dstress.corpora.json_files import decode
from dstress.corpora.json_importer import JsonImporter, complete_split, frames_of
from dstress.corpora.split_names import SPLIT_NAMES, UNNAMED, sort_splits
from dstress.dialogue import Act, Dialogue, Frame, Span, State, Turn, service_of, slot_id
from dstress.storage.sources import Source, SourceFile

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


class _Mention(msgspec.Struct, gc=False):
    """A value in an utterance, and what becomes of it: an act may reject it."""

    service: str
    span: Span
    value: str
    act: str


_FILE = msgspec.json.Decoder(list[_Conversation])


class Taskmaster(JsonImporter):
    """Taskmaster: states are made of the segments that either side says and that are not rejected, as ConvLab does."""

    name = "taskmaster"
    marks = (rb'^\s*\[\s*\{\s*"conversation_id"\s*:',)

    def splits(self, source: Source) -> Iterator[Split]:
        """`train.csv`, `dev.csv` and `test.csv` list the ids of their split, an id a line, before a comma."""
        split_of = {
            line.decode("utf-8", "replace").split(",")[0].strip(): file.stem.removesuffix(".csv")
            for file in source.ending(".csv")
            if file.stem.removesuffix(".csv") in SPLIT_NAMES
            for line in file.lines()
        }
        files = self.files(source)
        names = {split_of.get(raw.conversation_id, UNNAMED) for file in files for raw in decode(_FILE, file)}

        def read(split: str) -> Iterator[LocatedDialogue]:
            for file in files:
                for dialogue in self.dialogues(file):
                    if split_of.get(dialogue.id, UNNAMED) == split:
                        yield file.label, dialogue

        for name in sort_splits(names):
            yield complete_split(name, partial(read, name), ENGLISH)

    def dialogues(self, file: SourceFile) -> Iterator[Dialogue]:
        for raw in decode(_FILE, file):
            if turns := tuple(_turns(raw)):  # some were collected, but nobody said anything
                services = dict.fromkeys(service_of(slot) for turn in turns for slot in turn.state)
                yield Dialogue(raw.conversation_id, turns, tuple(services))


class _Side:
    """The utterances of one side until the other goes on: they are one."""

    def __init__(self) -> None:
        self.text = ""
        self.acts: dict[str, list[Act]] = {}
        self.spans: dict[str, list[Span]] = {}

    def add(self, text: str, mentions: list[_Mention]) -> None:
        shift = len(self.text) + 1 if self.text else 0
        self.text = f"{self.text} {text}" if self.text else text
        for mention in mentions:
            slot, start, end = mention.span.slot, mention.span.start + shift, mention.span.end + shift
            self.acts.setdefault(mention.service, []).append(Act(mention.act, slot, (mention.value,)))
            self.spans.setdefault(mention.service, []).append(Span(slot, start, end))

    def frames(self) -> tuple[Frame, ...]:
        return frames_of(self.acts, self.spans)


def _turns(raw: _Conversation) -> Iterator[Turn]:
    system, user, state = _Side(), _Side(), State()
    for utterance in raw.utterances:
        text = utterance.text.strip()
        if not text or text == _DELETED:
            continue
        by_user = utterance.speaker.casefold() == "user"
        if not by_user and user.text:
            yield Turn(user.text, system.text, state, user.frames(), system.frames())
            system, user = _Side(), _Side()
        mentions = _mentions(utterance, raw.vertical)
        (user if by_user else system).add(text, mentions)
        state = state | {slot_id(m.service, m.span.slot): (m.value,) for m in mentions if m.act != "REJECT"}
    if user.text:
        yield Turn(user.text, system.text, state, user.frames(), system.frames())


def _mentions(utterance: _Utterance, vertical: str) -> list[_Mention]:
    """The first of each segment's two annotations; of segments that overlap the shortest. In the order of the text."""
    blanks = len(utterance.text) - len(utterance.text.lstrip())
    text = utterance.text.strip()
    mentions: list[_Mention] = []
    for segment in sorted(utterance.segments, key=lambda segment: segment.end_index - segment.start_index):
        start, end = segment.start_index - blanks, segment.end_index - blanks
        if not segment.annotations or not 0 <= start < end <= len(text):
            continue
        # `pizza_ordering.size.pizza.reject`; TM-3 leaves the service to the conversation.
        annotation = segment.annotations[0].name
        service, _, slot = ("", "", annotation) if vertical else annotation.partition(".")
        act = slot.rpartition(".")[2]
        act, slot = (act, slot.rpartition(".")[0]) if act in _OUTCOMES else ("inform", slot)
        if slot and all(end <= other.span.start or other.span.end <= start for other in mentions):
            service = (service or vertical.casefold()).replace(" ", "_").replace("-", "_")
            mentions.append(_Mention(service, Span(slot, start, end), text[start:end], act.upper()))
    return sorted(mentions, key=lambda mention: mention.span.start)
