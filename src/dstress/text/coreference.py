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
from functools import cache, lru_cache, partial
from typing import NamedTuple

from dstress.dialogue import DONTCARE, Coreference, Dialogue, State, Turn, service_of, update
from dstress.text.tables import read_table, word_sets
from dstress.text.tokens import ALPHANUMERIC

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


_table = cache(partial(read_table, __package__, "data/coreference.toml"))
_words = word_sets(__package__, "data/coreference.toml")


@cache
def kinds() -> tuple[Kind, ...]:
    """The kinds of values that are referred to, with their patterns compiled."""
    any_noun = "|".join([*_table()["nouns"].values(), _table()["places"]])
    return tuple(
        Kind(
            name,
            re.compile(entry["slots"]),
            re.compile(entry.get("antecedents", entry["slots"])),
            tuple(re.compile(text.replace("NOUN", any_noun)) for text in entry["expressions"]),
            entry.get("uttered", False),
        )
        for name, entry in _table()["kind"].items()
    )


@cache
def _nouns() -> dict[str, re.Pattern[str]]:
    """The nouns for what a service finds."""
    return {service: re.compile(rf"\b(?:{nouns})\b") for service, nouns in _table()["nouns"].items()}


@cache
def kind_of(slot: str) -> Kind | None:
    """The kind of a slot id's values, if they are ever referred to."""
    name = bare_name(slot)
    return next((kind for kind in kinds() if kind.slots.fullmatch(name)), None)


def find(turn: Turn, before: State, earlier: Sequence[str] = ()) -> list[Coreference]:
    """The slots that this turn fills by reference, with the expression and the value it stands for.

    `before` is the state of the turn before and `earlier` are the utterances before this turn; without them, only
    antecedents in `before` and in `turn.system` are seen.
    """
    if turn.state == before or not (before or earlier):
        return []
    references = []
    for slot, values in update(before, turn.state).items():
        kind = kind_of(slot)
        if not values or kind is None or DONTCARE in values or _says_any(turn.user, values):
            continue
        # The service whose slot holds the value; empty if only an utterance does.
        forms = {" ".join(spoken_words(value)) for value in values}
        services = (
            service_of(other)
            for other, others in before.items()
            if other != slot and kind.antecedents.fullmatch(bare_name(other))
            if any(" ".join(spoken_words(form)) in forms for form in others)
        )
        service = next(services, None)
        if service is None and kind.uttered:
            # Separated so that no name spans two utterances.
            heard = " | ".join(f" {' '.join(spoken_words(text))} " for text in (*earlier, turn.system))
            service = "" if any(f" {form} " in heard for form in forms) else None
        expression = None if service is None else _find_expression(turn.user, before, kind, service)
        if expression is not None:
            references.append(Coreference(slot, expression, values[0]))
    return references


def _says_any(text: str, values: Iterable[str]) -> bool:
    """Whether a text says one of the values, or any word of it that tells it from others."""
    generic, numbers = _words("generic"), _table()["numbers"]
    words = set(spoken_words(text))
    words |= {numbers[word] for word in words if word in numbers}
    beginnings = {word[:_LONG] for word in words}
    return any(
        word in words or (len(word) >= _LONG and word[:_LONG] in beginnings)
        for own in map(spoken_words, values)
        for word in [word for word in own if word not in generic] or own
    )


def _find_expression(text: str, before: State, kind: Kind, service: str) -> str | None:
    """The expression that refers to a value of `service`; one whose noun names another service does not."""
    spoken = " ".join(spoken_words(text))
    for pattern in kind.expressions:
        for match in pattern.finditer(spoken):
            named = {other for other, noun in _nouns().items() if noun.search(match.group())}
            if service:
                fits = not named or service in named or service not in _nouns()
            else:  # a name that was only heard: the noun means the one that is settled, if one is
                fits = not any(f"{other}-name" in before for other in named)
            if fits:
                return match.group().strip()
    return None


def needs_coreference(dialogue: Dialogue, annotated: bool | None = None) -> list[bool]:
    """Per turn, whether it needs coreference: as the corpus annotates it, else as the pattern finder sees it.

    `annotated` says which; left open, a dialogue with any annotation counts as annotated. That is wrong for a dialogue
    without a coreference in an annotated corpus, so ask `is_annotated` of the corpus first.
    """
    if annotated is None:
        annotated = is_annotated([dialogue])
    if annotated:
        return [bool(turn.coreferences) for turn in dialogue.turns]
    return [bool(references) for references in find_all(dialogue)]


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


@lru_cache(maxsize=16_384)
def spoken_words(text: str) -> tuple[str, ...]:
    """Lower-case words; clitics and clock times stay whole, so that `King 's` is `kings` and `9:15` is `915`."""
    text = _JOINERS.sub("", text.casefold())
    return tuple(word.lstrip("0") or "0" if word.isdigit() else word for word in ALPHANUMERIC.findall(text))
