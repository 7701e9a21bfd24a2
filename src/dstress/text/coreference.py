"""Which turns need coreference: "the same day", "from there", "to the hotel" stand for values given earlier.

CheckDST (section 2.2) scores such turns apart. Its appendix B.1 says how without annotations: regular expressions for
pronouns and for terms like "same X as" find many cases with high precision. Here an expression alone is never enough.
A slot counts when the turn gives it a value, the user's utterance does not say that value, the utterance has an
expression of the slot's kind, and the value stands earlier in the dialogue where such an expression may point.
Precision comes first: a doubtful turn is left out. `docs/metrics/coref-jga.md` has the measured figures.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property, lru_cache
from typing import Any, NamedTuple

from dstress.dialogue import DONTCARE, Coreference, Dialogue, State, Turn, service_of, update
from dstress.text.tables import read_table

_WORD = re.compile(r"[^\W_]+")
_JOINERS = re.compile(r"\s*['’`´]\s*(?=[a-z])|(?<=\d)[:.](?=\d)")
_SQUASHED = re.compile(r"[\s_\-]+")
_LONG = 5
"""Two words that share so many first letters are one word, misspelled or inflected: churchill, churchills."""


class Kind(NamedTuple):
    """One kind of value, with the expressions that refer to it and the slots that can hold the antecedent."""

    name: str
    slots: re.Pattern[str]
    antecedents: re.Pattern[str]
    expressions: tuple[re.Pattern[str], ...]
    uttered: bool


class Patterns:
    """The pattern set of `coreference.toml`, compiled."""

    def __init__(self, table: dict[str, Any]) -> None:
        self.generic = frozenset(table["generic"])
        self.numbers: dict[str, str] = table["numbers"]
        self.nouns = {service: re.compile(rf"\b(?:{nouns})\b") for service, nouns in table["nouns"].items()}
        any_noun = "|".join([*table["nouns"].values(), table["places"]])
        self.kinds = tuple(_kind(name, entry, any_noun) for name, entry in table["kind"].items())

    @cached_property
    def _known(self) -> dict[str, Kind | None]:
        return {}

    def kind_of(self, slot: str) -> Kind | None:
        """The kind of a slot id's values, if they are ever referred to."""
        if slot not in self._known:
            bare = bare_name(slot)
            self._known[slot] = next((kind for kind in self.kinds if kind.slots.fullmatch(bare)), None)
        return self._known[slot]


def _kind(name: str, entry: dict[str, Any], nouns: str) -> Kind:
    expressions = tuple(re.compile(text.replace("NOUN", nouns)) for text in entry["expressions"])
    antecedents = re.compile(entry.get("antecedents", entry["slots"]))
    return Kind(name, re.compile(entry["slots"]), antecedents, expressions, entry.get("uttered", False))


@cache
def patterns() -> Patterns:
    """The shipped pattern set."""
    return Patterns(read_table(__package__, "data/coreference.toml"))


def find(turn: Turn, before: State, earlier: Sequence[str] = ()) -> list[Coreference]:
    """The slots that this turn fills by reference, with the expression and the value it stands for.

    `before` is the state of the turn before and `earlier` are the utterances before this turn; without them, only
    antecedents in `before` and in `turn.system` are seen.
    """
    if turn.state == before or not (before or earlier):
        return []
    kind_of = patterns().kind_of
    changes = [(slot, values, kind_of(slot)) for slot, values in update(before, turn.state).items() if values]
    referable = [(slot, values, kind) for slot, values, kind in changes if kind and DONTCARE not in values]
    if not referable:
        return []
    exchange = _Exchange(turn, before, earlier)
    references = (exchange.find_reference(*change) for change in referable)
    return [reference for reference in references if reference is not None]


def needs_coreference(dialogue: Dialogue, annotated: bool | None = None) -> list[bool]:
    """Per turn, whether it needs coreference: as the corpus annotates it, else as the pattern finder sees it.

    `annotated` says which; left open, a dialogue with any annotation counts as annotated. That is wrong for a dialogue
    without a coreference in an annotated corpus, so ask `is_annotated` of the corpus first.
    """
    if annotated is None:
        annotated = is_annotated([dialogue])
    if annotated:
        return [bool(turn.coreferences) for turn in dialogue.turns]
    return [bool(found) for found in find_all(dialogue)]


def is_annotated(dialogues: Iterable[Dialogue]) -> bool:
    """Whether a corpus annotates coreference (MultiWOZ 2.3 and `reminder` do)."""
    return any(turn.coreferences for dialogue in dialogues for turn in dialogue.turns)


def find_all(dialogue: Dialogue) -> Iterator[list[Coreference]]:
    """What `find` sees in each turn, whatever the corpus annotates."""
    before: State = {}
    earlier: list[str] = []
    for turn in dialogue.turns:
        yield find(turn, before, earlier)
        before = turn.remembered.state
        earlier += (turn.system, turn.remembered.user)


def bare_name(slot: str) -> str:
    """`hotel-book day` -> `bookday`: a slot's name as the pattern set spells it."""
    return _SQUASHED.sub("", slot.partition("-")[2]).casefold()


def words_of(text: str) -> list[str]:
    """Lower-case words; clitics and clock times stay whole, so that `King 's` is `kings` and `9:15` is `915`."""
    text = _JOINERS.sub("", text.casefold())
    return [word.lstrip("0") or "0" if word.isdigit() else word for word in _WORD.findall(text)]


@lru_cache(maxsize=16_384)
def _value_words(value: str) -> tuple[str, ...]:
    return tuple(words_of(value))


class _Exchange:
    """What a turn's user said, and what had been said and settled before."""

    def __init__(self, turn: Turn, before: State, earlier: Sequence[str]) -> None:
        self.turn, self.before, self.earlier = turn, before, earlier
        self.patterns = patterns()
        words, numbers = words_of(turn.user), self.patterns.numbers
        self.words = {*words, *(numbers[word] for word in words if word in numbers)}
        self.text = " ".join(words)

    @cached_property
    def heard(self) -> str:
        """All that was said before the user's utterance, parted so that no name spans two utterances."""
        return " | ".join(f" {' '.join(words_of(text))} " for text in (*self.earlier, self.turn.system))

    def find_reference(self, slot: str, values: tuple[str, ...], kind: Kind) -> Coreference | None:
        if any(self._says(value) for value in values):
            return None
        service = self._antecedent(kind, slot, values)
        expression = self._expression(kind, service) if service is not None else None
        return None if expression is None else Coreference(slot, expression, values[0])

    def _says(self, value: str) -> bool:
        """Whether the utterance says the value, or any word of it that tells it from others."""
        words = _value_words(value)
        telling = [word for word in words if word not in self.patterns.generic] or words
        return any(
            word in self.words or (len(word) >= _LONG and any(word[:_LONG] == other[:_LONG] for other in self.words))
            for word in telling
        )

    def _antecedent(self, kind: Kind, slot: str, values: tuple[str, ...]) -> str | None:
        """The service whose slot holds the value, `` if an utterance does, None if nothing does."""
        wanted = {" ".join(words_of(value)) for value in values}
        for other, forms in self.before.items():
            is_alike = other != slot and kind.antecedents.fullmatch(bare_name(other))
            if is_alike and any(" ".join(words_of(form)) in wanted for form in forms):
                return service_of(other)
        return "" if kind.uttered and any(f" {text} " in self.heard for text in wanted) else None

    def _expression(self, kind: Kind, service: str) -> str | None:
        """The expression that refers to a value of `service`; one whose noun names another service does not."""
        for pattern in kind.expressions:
            for match in pattern.finditer(self.text):
                if self._may_mean(match.group(), service):
                    return match.group().strip()
        return None

    def _may_mean(self, expression: str, service: str) -> bool:
        nouns = self.patterns.nouns
        named = {other for other, noun in nouns.items() if noun.search(expression)}
        if not service:  # a name that was only heard: the noun means the one that is settled, if one is
            return not any(f"{other}-name" in self.before for other in named)
        return not named or service in named or service not in nouns
