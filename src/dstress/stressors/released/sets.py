"""The files of released sets: new user turns and what they change in the label, by dialogue and turn.

A set holds nothing of the corpus that it is for, neither system turns nor the users' own words nor states. It names the
content of the dialogues that it changes by a hash, and is refused on any other.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path

import msgspec

from dstress.dialogue import Dialogue, State, update
from dstress.errors import DstressError, unknown
from dstress.storage.atomic import replacing
from dstress.stressors.base import Effect

ENDING = ".json.gz"


class ReleasedTurn(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """The new words; which slots of the original label have other values, none if they are dropped; tags."""

    user: str
    changes: State = {}
    tags: tuple[str, ...] = ()


class ReleasedSet(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A set with all that is to be known about it."""

    name: str
    about: str = ""
    corpus: str
    """The name of the split it was made from; the same dialogues under another name do as well."""
    content: str
    """A hash of the dialogues that it changes (`content_of`)."""
    stressor: str
    seed: int
    signature: str
    """What made it, as in the signature of a score."""
    recipe: str = ""
    """How a generator was trained, and which weights gave the text."""
    licence: str = ""
    reading: str = ""
    """What people who read turns of it found."""
    effect: Effect
    guarded: bool = True
    turns: dict[str, dict[int, ReleasedTurn]]

    @property
    def size(self) -> int:
        """How many turns it changes."""
        return sum(map(len, self.turns.values()))

    def misfit(self, corpus: Iterable[Dialogue]) -> str:
        """Why it is not for a corpus: a dialogue of the set is missing, or another one; empty if it is."""
        own = [dialogue for dialogue in corpus if dialogue.id in self.turns]
        if missing := len(self.turns) - len(own):
            return f"{missing} of the {len(self.turns)} dialogues of the set are not there"
        return "" if content_of(own) == self.content else "the dialogues of the set have other words or labels here"


def names() -> list[str]:
    """The sets that are built in."""
    folder = files(__package__).joinpath("sets")
    return sorted(
        entry.name.removesuffix(ENDING)
        for entry in (folder.iterdir() if folder.is_dir() else ())
        if entry.name.endswith(ENDING)
    )


def path_of(name: str) -> Path:
    """The file of a built-in set, or of one that somebody else released."""
    if name.endswith(ENDING):
        return Path(name)
    if name not in names():
        fix = f"`dstress list released` shows them; a file is named with its ending {ENDING}"
        raise unknown("released set", name, names(), fix=fix)
    return Path(str(files(__package__).joinpath("sets", name + ENDING)))


@cache
def read_set(path: Path) -> ReleasedSet:
    """The set in a file."""
    try:
        return msgspec.json.decode(gzip.decompress(path.read_bytes()), type=ReleasedSet)
    except (OSError, EOFError, msgspec.DecodeError) as error:
        raise DstressError(
            f"this is no released set: {error}", where=str(path), fix="`dstress release` makes them"
        ) from None


def write_set(released: ReleasedSet, path: Path) -> None:
    """Write a file; the same set gives the same bytes."""
    with replacing(path) as out:
        out.write(gzip.compress(msgspec.json.encode(released), mtime=0))


def content_of(dialogues: Iterable[Dialogue]) -> str:
    """The utterances and states of dialogues, hashed; their order does not count, nor do annotations."""
    digests = [
        blake2b(
            msgspec.json.encode(
                (dialogue.id, [(turn.system, turn.user, turn.state) for turn in dialogue.turns]), order="sorted"
            )
        ).digest()
        for dialogue in dialogues
    ]
    return blake2b(b"".join(sorted(digests)), digest_size=8).hexdigest()


def turns_of(dialogues: Iterable[Dialogue]) -> tuple[dict[str, dict[int, ReleasedTurn]], str]:
    """The changed turns of stressed dialogues, and the hash of those dialogues before."""
    turns: dict[str, dict[int, ReleasedTurn]] = {}
    originals = []
    for dialogue in dialogues:
        changed = {
            number: ReleasedTurn(turn.user, update(turn.original.state, turn.state), turn.stress.tags)
            for number, turn in enumerate(dialogue.turns)
            if turn.stress is not None and (turn.user, turn.state) != (turn.original.user, turn.original.state)
        }
        if changed:
            turns[dialogue.id] = changed
            original = tuple(turn.original for turn in dialogue.turns)
            originals.append(msgspec.structs.replace(dialogue, turns=original))
    return turns, content_of(originals)
