"""What judges read, in words: questions (`questions.toml`), and goals, for people who know neither slots nor states."""

from __future__ import annotations

from functools import cache
from typing import Literal

import msgspec

from dstress.dialogue import DONTCARE, State
from dstress.text.tables import read_table

Kind = Literal["data", "systems", "conversations"]
"""What is judged: the turns of a corpus, what systems make of a turn, or systems in a conversation for a goal."""


class Question(msgspec.Struct, frozen=True):
    """One question with yes or no. `title` is what it measures, `about` when to say yes."""

    title: str
    ask: str
    about: str


@cache
def questions(kind: Kind) -> dict[str, Question]:
    """The questions of a kind by name, in the order in which they are asked."""
    return msgspec.convert(read_table(__package__, "questions.toml")[kind], dict[str, Question])


def goal_in_words(change: State) -> str:
    """What a turn changes in the state: `hotel book day: friday; hotel area: any will do`."""
    parts, names = [], read_table(__package__, "words.toml")
    for slot, forms in change.items():
        service, _, name = slot.partition("-")
        words = f"{service} {names.get(name, name)}".replace("_", " ").replace("-", " ")
        value = forms[0] if forms else "no longer wanted"
        parts.append(f"{words}: {'any will do' if value == DONTCARE else value}")
    return "; ".join(parts) or "nothing new"
