"""What a user's turn means beside its words, as a language model reads it: CoCo's condition, acts, requests.

`docs/stressors/generators.md` (What it reads) has an example. In training each of acts, names, words and length is left
out now and then, and so it may be left open afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from random import Random
from typing import Any, NamedTuple

from dstress.dialogue import Turn, service_of
from dstress.learning.lessons import Lesson
from dstress.resources import Material
from dstress.stressors.generators.base import Goal
from dstress.stressors.generators.goals import flag_of, own_goal
from dstress.stressors.generators.matching import without_values
from dstress.stressors.generators.templates.acts.turns import has_acts
from dstress.text import mentions
from dstress.text.letters import fold, name_words
from dstress.text.tables import read_table
from dstress.text.utterance import Utterance

_OPEN = {"acts": 0.3, "names": 0.4, "words": 0.5, "length": 0.5}
"""The shares of training turns in which a part is left open."""
_LONGEST_TEXT = 600  # characters of a turn that are read, the last
_FIVE = 5  # words that make one unit of length
MOST_UNITS = 8
_FIGURE = re.compile(r"(?<![\d:.])(?!1(?!\d))\d+")
"""A number that may be a value of some slot; corpora also write 1 for "one of them"."""
_WORD = re.compile(r"\d+(?:[:.,]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)*")


class Meaning(NamedTuple):
    """What is to be said; None leaves a part open. `is_loose`: more than the label has, as some of the users do."""

    earlier: str
    system: str
    goal: Goal
    acts: tuple[str, ...] | None = None
    names: tuple[str, ...] | None = None
    words: tuple[str, ...] | None = None
    length: int | None = None
    is_loose: bool = False

    def prompt(self, random: Random | None = None) -> str:
        """What the model reads; with `random`, lists are in any order."""

        def joined(parts: Iterable[str], mark: str = ", ") -> str:
            listed = list(parts)
            if random is not None:
                random.shuffle(listed)
            return f" {mark.join(listed)}" if listed else " -"

        lines = [f"user: {self.earlier[-_LONGEST_TEXT:]}"] if self.earlier else []
        lines += [f"system: {self.system[-_LONGEST_TEXT:]}"] if self.system else []
        for name, values in (("says", self.goal.spoken), ("takes", self.goal.unspoken)):
            if values:
                pairs = (f"{slot_in_words(slot)} = {flag_of(value) or value}" for slot, value in values.items())
                lines.append(f"{name}:{joined(pairs, ' ; ')}")
        if self.is_loose:
            lines.append("more: yes")
        for name, parts, mark in (("does", self.acts, ", "), ("names", self.names, ", "), ("words", self.words, " ")):
            if parts is not None:
                lines.append(f"{name}:{joined(parts, mark)}")
        if self.length is not None:
            lines.append(f"length: {self.length}")
        return "\n".join((*lines, "user:"))


def meaning_of(utterance: Utterance, goal: Goal, by_acts: bool) -> Meaning:
    """All that a turn means, with nothing left open. `by_acts`: the corpus has the users' actions, as SGD has."""
    turn, text = utterance.turn, utterance.text
    earlier = utterance.history[-1].user if utterance.index else ""
    acts = _annotated(turn) if by_acts else said_acts(text)
    return Meaning(earlier, turn.system, goal, acts, named_services(text), content_words(text, goal), length_of(text))


def lessons_of(corpus: Material, random: Random) -> Iterator[Lesson]:
    """A lesson from every turn: what it means, with parts left open, and the user's words."""
    by_acts = has_acts(corpus)
    for dialogue in corpus:
        updates = [*dialogue.updates(), {}]
        for number, turn in enumerate(dialogue.turns):
            if not turn.user.strip():
                continue
            utterance = Utterance(dialogue, number, corpus.schema, ())
            meaning = meaning_of(utterance, own_goal(utterance), by_acts)
            parts: dict[str, Any] = {"is_loose": says_more(utterance, updates[number + 1].items())}
            share = random.choice((0.3, 0.6, 1.0))
            for part, open_share in _OPEN.items():
                if random.random() < open_share:
                    parts[part] = None
                elif part == "words":
                    parts[part] = tuple(word for word in meaning.words or () if random.random() < share)
            name, words = f"dialogue {dialogue.id}, turn {number}", " ".join(turn.user.split())
            yield Lesson(name, meaning._replace(**parts).prompt(random), f" {words}")


def slot_in_words(slot: str) -> str:
    """`hotel-book day` -> `hotel book day`; `RentalCars_2-pickup_city` -> `rental cars pickup city`."""
    service = [word for word in name_words(service_of(slot)) if not word.isdigit()]
    return " ".join((*service, *name_words(slot)))


def said_acts(text: str) -> tuple[str, ...]:
    """What words do beside giving values: greet, thank, agree, ask for a phone number ..."""
    folded, patterns = fold(text), _patterns()
    acts = [name for name, pattern in patterns.acts.items() if pattern.search(folded)]
    return (*acts, *(f"asks {name}" for name, pattern in patterns.asks.items() if pattern.search(folded)))


def named_services(text: str) -> tuple[str, ...]:
    """The kinds of service that words name."""
    folded = fold(text)
    return tuple(name for name, pattern in _patterns().services.items() if pattern.search(folded))


def kind_of_service(slot: str) -> str:
    """The kind of a slot's service, by its name; empty for one that is not listed."""
    service = fold(service_of(slot))
    return next((name for name in _patterns().services if service.startswith(name)), "")


def names_due(utterance: Utterance, goal: Goal) -> tuple[str, ...]:
    """The kinds of service that the words must name: those that nobody has spoken of yet."""
    earlier = (frame for turn in utterance.history for frame in turn.frames if frame.intent or frame.spans)
    spoken_of = {*map(service_of, utterance.before), *(frame.service for frame in earlier)}
    kinds = dict.fromkeys(kind_of_service(slot) for slot in goal.spoken if service_of(slot) not in spoken_of)
    return tuple(kind for kind in kinds if kind and kind not in named_services(utterance.turn.system))


def content_words(text: str, goal: Goal) -> tuple[str, ...]:
    """The words outside of values that say more than "i would like"."""
    plain = _patterns().plain
    words = (word.lower().replace("’", "'") for word in _WORD.findall(without_values(text, goal, " ")))
    return tuple(dict.fromkeys(word for word in words if word not in plain and (len(word) > 1 or word.isdigit())))


def length_of(text: str) -> int:
    """The length of a text in units of five words."""
    return min(MOST_UNITS, (len(text.split()) + _FIVE - 1) // _FIVE)


def says_more(utterance: Utterance, after: Collection[tuple[str, tuple[str, ...]]] = ()) -> bool:
    """Whether the user says more than the label has, as far as labels and numbers tell: what was said before, or what
    the label takes up a turn later (`after`) or never."""
    rest, at = "", 0
    for start, end in sorted(mention[2:] for mention in utterance.mentions):
        rest, at = f"{rest}{utterance.text[at:start]} _ ", max(at, end)
    rest += utterance.text[at:]
    own = utterance.turn.state
    before = ((slot, forms) for slot, forms in utterance.before.items() if own.get(slot) == forms)
    return bool(_FIGURE.search(rest)) or any(
        forms and not flag_of(forms[0]) and mentions.find_value(rest, slot, forms) for slot, forms in (*after, *before)
    )


def _annotated(turn: Turn) -> tuple[str, ...]:
    """The user's actions but for what gives values: `inform intent find restaurants`, `request phone number`."""
    acts = []
    for act in (act for frame in turn.frames for act in frame.acts if not (act.act == "INFORM" and act.slot)):
        detail = act.values[0] if act.act == "INFORM_INTENT" and act.values else act.slot
        acts.append(" ".join((*act.act.lower().split("_"), *(name_words(detail) if detail else ()))))
    return tuple(dict.fromkeys(acts))


class _Patterns(NamedTuple):
    acts: dict[str, re.Pattern[str]]
    asks: dict[str, re.Pattern[str]]
    services: dict[str, re.Pattern[str]]
    plain: frozenset[str]


@cache
def _patterns() -> _Patterns:
    """The expressions of `meaning.toml`, and its words that say little."""
    table = read_table(__package__, "meaning.toml")
    acts, asks = ({name: re.compile(rule) for name, rule in table[kind].items()} for kind in ("acts", "asks"))
    services = {name: re.compile(rf"\b(?:{rule})\b") for name, rule in table["services"].items()}
    return _Patterns(acts, asks, services, frozenset(table["plain"]["words"]))
