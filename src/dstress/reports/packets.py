"""Packets of a page's explorer: its data as compressed JSON, which a browser unpacks when somebody looks at it.

Where all entries would be too much for one page, the most informative are kept; the packet says how many were left out.
"""

from __future__ import annotations

import base64
import gzip
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from dstress.dialogue import Edit, State

BUDGET = 8_000_000
"""Bytes of packed examples in a page at most: the page stays under 10 MB."""

_SHOWN_FORMS = 3
_LEAST_SHARE = 0.02
_LEVEL = 6
_ALWAYS = 2
_ENCODER = msgspec.json.Encoder()

Flat = list[Any]


class Packet(NamedTuple):
    """One packed part of the explorer's data."""

    variant: str
    data: str
    examples: int
    left_out: int


class Entry(NamedTuple):
    """A turn of a stressed dialogue; entries of one group are kept or left out together, low ranks first."""

    content: msgspec.Raw
    group: tuple[int, int]
    rank: int


class Part(NamedTuple):
    """A packet before it is packed: what describes the variant, its turns, and how many examples there are beside."""

    variant: str
    head: dict[str, Any]
    entries: Sequence[Entry]
    others: int = 0

    def pack(self, kept: Sequence[Entry] | None = None) -> Packet:
        """Pack all entries, or those that are kept."""
        entries = self.entries if kept is None else kept
        left_out = len(self.entries) - len(entries)
        content = self.head | {"turns": [entry.content for entry in entries], "left_out": left_out}
        return Packet(self.variant, pack(content), len(entries) + (0 if left_out else self.others), left_out)


class SlotNumbers:
    """Slots as numbers, and the way from one label to another as `slot, value, ...`; null is "no longer there"."""

    def __init__(self, numbers: Mapping[str, int]) -> None:
        self.numbers = dict(numbers)

    def number(self, slot: str) -> int:
        """A slot's number; one that no schema has is given the next."""
        return self.numbers.setdefault(slot, len(self.numbers))

    @property
    def names(self) -> list[str]:
        """The slots by their numbers."""
        return sorted(self.numbers, key=self.numbers.__getitem__)

    def changes(self, before: State, after: State) -> Flat:
        """The way from one label to another."""
        flat: Flat = []
        if before != after:
            for slot, forms in after.items():
                flat += [self.number(slot), shown(forms)] if before.get(slot) != forms else []
            for slot in before:
                flat += [self.number(slot), None] if slot not in after else []
        return flat


def pack_within(first: Packet, parts: Sequence[Part], budget: int = BUDGET) -> list[Packet]:
    """Pack every part; where all are too much beside the first packet, they become smaller in the same measure."""
    packets = [part.pack() for part in parts]
    room, size = budget - len(first.data), sum(len(packet.data) for packet in packets)
    if size > room:
        share = max(_LEAST_SHARE, room / size)
        packets = [part.pack(_most_informative(part.entries, share)) for part in parts]
    return [first, *packets]


def pack(content: Any) -> str:
    """Content as a page holds it until somebody looks: JSON, gzip, base64."""
    # No time stamp: the same run gives the same page.
    return base64.b64encode(gzip.compress(msgspec.json.encode(content), _LEVEL, mtime=0)).decode()


def encode(content: Flat) -> msgspec.Raw:
    """An entry's content as JSON."""
    return msgspec.Raw(_ENCODER.encode(shorten(content)))


def shown(forms: Sequence[str]) -> str:
    """A value's accepted forms as one text."""
    return " | ".join(forms[:_SHOWN_FORMS])


def flat_edits(edits: Sequence[Edit]) -> Flat:
    """Edits as start, length, new text ..."""
    return [part for edit in edits for part in (edit.start, len(edit.before), edit.after)]


def shorten(content: Flat) -> Flat:
    """Without the empty places at the end, but for the first two; a null says something, so it stays."""
    end = len(content)
    while end > _ALWAYS and content[end - 1] is not None and not content[end - 1]:
        end -= 1
    return content[:end]


def _most_informative(entries: Sequence[Entry], share: float) -> list[Entry]:
    """As many groups as make up a share of the whole: by rank, else evenly drawn."""
    sizes: Counter[tuple[int, int]] = Counter()
    ranks: dict[tuple[int, int], int] = {}
    for entry in entries:
        sizes[entry.group] += len(bytes(entry.content))
        ranks[entry.group] = min(entry.rank, ranks.get(entry.group, entry.rank))
    left = share * sum(sizes.values())
    kept = set()
    for group in sorted(sizes, key=lambda group: (ranks[group], blake2b(b"%d/%d" % group, digest_size=8).digest())):
        left -= sizes[group]
        if left < 0:
            break
        kept.add(group)
    return [entry for entry in entries if entry.group in kept]
