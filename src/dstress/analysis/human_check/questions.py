"""What judges are asked, in words; the texts are in `questions.toml`."""

from __future__ import annotations

from functools import cache
from typing import Literal

import msgspec

from dstress.text.tables import read_table

Kind = Literal["data", "systems"]
"""What is judged: the turns of a corpus, or what systems make of a turn."""


class Question(msgspec.Struct, frozen=True):
    """One question with yes or no. `title` is what it measures, `about` when to say yes."""

    title: str
    ask: str
    about: str


@cache
def questions(kind: Kind) -> dict[str, Question]:
    """The questions of a kind by name, in the order in which they are asked."""
    return msgspec.convert(read_table(__package__, "questions.toml")[kind], dict[str, Question])
