"""What importers of JSON files share: finding the files by their heads, and reading a split file by file.

Such a layout often has no schema and does not say its language; both are then read off the dialogues.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import ClassVar

from dstress.corpora.base import ENGLISH, Importer, LocatedDialogue, Split
from dstress.corpora.checks import derive_schema
from dstress.corpora.split_names import sort_splits, split_of_file
from dstress.dialogue import Act, Dialogue, Frame, Schema, Span
from dstress.storage.sources import Source, SourceFile

_LETTERS = {
    "ja": re.compile(r"[\u3040-\u30ff]"),
    "ko": re.compile(r"[\uac00-\ud7a3]"),
    "zh": re.compile(r"[\u4e00-\u9fff]"),
}
"""Letters that one language has, tried in this order: Japanese has the Chinese ones too."""


class JsonImporter(Importer):
    """A layout whose files each hold dialogues of one split, which their names tell."""

    marks: ClassVar[tuple[bytes, ...]]
    """Patterns that are all found in the head of a file of this layout."""

    @classmethod
    def files(cls, source: Source) -> list[SourceFile]:
        """The files of this layout."""
        heads = ((file, file.head()) for file in source.ending(".json"))
        return [file for file, head in heads if all(re.search(mark, head) for mark in cls.marks)]

    @classmethod
    def matches(cls, source: Source) -> bool:
        return bool(cls.files(source))

    def splits(self, source: Source) -> Iterator[Split]:
        files = [(file, self.language(file)) for file in self.files(source)]
        several = len({language for _, language in files}) > 1
        by_name: dict[str, list[SourceFile]] = {}
        for file, language in files:
            split = split_of_file(file, ".json")
            by_name.setdefault(f"{split}_{language}" if several else split, []).append(file)
        for name in sort_splits(by_name):
            language = self.language(by_name[name][0]).partition("_")[0]
            yield complete_split(name, partial(self._located, by_name[name]), language, self.schema())

    def _located(self, files: Sequence[SourceFile]) -> Iterator[LocatedDialogue]:
        for file in files:
            for dialogue in self.dialogues(file):
                yield file.label, dialogue

    def dialogues(self, file: SourceFile) -> Iterator[Dialogue]:
        """The dialogues of one file; an importer that makes its splits otherwise needs none."""
        raise NotImplementedError

    def language(self, file: SourceFile) -> str:
        """What a file is written in, perhaps with the language of its labels (`de_en`); empty if its letters tell."""
        return ENGLISH

    def schema(self) -> Schema | None:
        """The layout's schema; None if each split's is derived from its states."""
        return None


def complete_split(
    name: str, read: Callable[[], Iterator[LocatedDialogue]], language: str = "", schema: Schema | None = None
) -> Split:
    """A split, with the language and the schema that its dialogues show where the layout has none."""
    if not language:  # that of the letters in the first dialogue; English where they are those of many
        text = " ".join(turn.user for _, dialogue in islice(read(), 1) for turn in dialogue.turns)
        language = next((language for language, letters in _LETTERS.items() if letters.search(text)), ENGLISH)
    return Split(name, schema or derive_schema(dialogue for _, dialogue in read()), read, language)


def frame_of(service: str, acts: Iterable[Act], spans: Iterable[Span] = (), intent: str = "") -> Frame:
    """A frame of acts, which tell what is requested."""
    listed = tuple(acts)
    requested = tuple(act.slot for act in listed if act.act == "REQUEST" and act.slot)
    return Frame(service, intent, requested, tuple(spans), listed)


def frames_of(acts: Mapping[str, list[Act]], spans: Mapping[str, list[Span]] | None = None) -> tuple[Frame, ...]:
    """A frame for each service that has acts."""
    return tuple(frame_of(service, own, (spans or {}).get(service, ())) for service, own in acts.items())
