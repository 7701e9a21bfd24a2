"""An utterance without its values: the words that say each become a placeholder, flags are marked and stay words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from dstress.dialogue import State, Turn, update
from dstress.generators.templates.tokens import flag_of, tokens_of, words
from dstress.text import inflection as surface
from dstress.text import mentions as values
from dstress.text.letters import fold, words_of
from dstress.text.numbers import number_of
from dstress.text.times import date_of, time_of

PLURAL = "-s"
"""The token after a placeholder whose value is said in the plural."""


class Surface(NamedTuple):
    """How one value was said, between which tokens."""

    slot: str
    value: str
    words: str
    before: str
    after: str


class Delexicalised(NamedTuple):
    """An utterance's tokens; the slots of its label that it does not say: `taken` from the system, or `unexplained`."""

    tokens: tuple[str, ...]
    surfaces: tuple[Surface, ...] = ()
    taken: tuple[str, ...] = ()
    unexplained: bool = False


class _Part(NamedTuple):
    start: int
    end: int
    token: str
    slot: str
    value: str


def delexicalised(turn: Turn, before: State) -> Delexicalised:
    """A turn's user utterance with placeholders for the values that it adds to the state."""
    changed = update(before, turn.state)
    if not changed or "[" in turn.user or "{" in turn.user:
        return Delexicalised(tuple(tokens_of(turn.user)), unexplained=bool(changed))
    parts = _parts(turn, before)
    said = {part.slot for part in parts}
    silent = [slot for slot in changed if slot not in said]
    taken = [slot for slot in silent if values.find_value(turn.system, slot, changed[slot])]
    unexplained = len(taken) < len(silent) or _overlap(parts) or _repeat(parts) or bool(turn.coreferences)
    tokens = _with_parts(turn.user, parts)
    surfaces = _surfaces(turn.user, parts)
    unexplained = unexplained or not all(map(is_plain, surfaces))
    return Delexicalised(tuple(tokens), tuple(surfaces), tuple(taken), unexplained)


def _parts(turn: Turn, before: State) -> list[_Part]:
    found = []
    for slot, form, start, end in values.find_mentions(turn, before):
        value = turn.state[slot][0]
        flag = flag_of(value)
        end = end if flag else _with_absorbed(turn.user, end)
        found.append(_Part(start, end, f"{{{slot}={flag}}}" if flag else f"[{slot}]", slot, value if flag else form))
    return sorted(found, key=lambda part: (part.start, part.end, part.token))


def _with_absorbed(text: str, end: int) -> int:
    """The end of a value's words with what goes along with them: "moderate -ly priced"."""
    rest = text[end : end + 16].lower()
    for phrase in words("absorbed"):
        for lead in (" ", ""):
            if rest.startswith(lead + phrase) and not rest[len(lead + phrase) :][:1].isalnum():
                return _with_absorbed(text, end + len(lead + phrase))
    return end


def _overlap(parts: Sequence[_Part]) -> bool:
    """Whether two values are said by words that overlap; two flags may be said by the same."""
    return any(one.end > other.start and not (one.token[0] == other.token[0] == "{") for one, other in pairwise(parts))


def _repeat(parts: Sequence[_Part]) -> bool:
    plain = [part.slot for part in parts if part.token[0] == "["]
    return len(set(plain)) < len(plain)


def _with_parts(text: str, parts: Sequence[_Part]) -> list[str]:
    pieces, done = [], 0
    for part in parts:
        if part.start < done and part.token[0] == "[":
            continue
        pieces += [text[done : max(done, part.start)], f" {part.token} "]
        if part.token[0] == "[":
            pieces.append(f" {PLURAL} " if _is_plural(text[part.start : part.end], part.value) else " ")
            done = part.end
        else:
            done = max(done, part.start)
    return tokens_of("".join(pieces) + text[done:])


def _is_plural(said: str, value: str) -> bool:
    own, said = fold(value), fold(said)
    return said.endswith("s") and not own.endswith("s") and words_of(said)[-1][:3] == (words_of(own) or [""])[-1][:3]


def _surfaces(text: str, parts: Sequence[_Part]) -> list[Surface]:
    found = []
    for part in parts:
        if part.token[0] == "[":
            before, after = tokens_of(text[: part.start])[-1:], tokens_of(text[part.end : part.end + 40])[:1]
            said = text[part.start : part.end]
            found.append(Surface(part.slot, part.value, said, *(before or ["<"]), *(after or [">"])))
    return found


def is_plain(said: Surface) -> bool:
    """Whether a value is said by words of its own kind, so that others can stand there: no "just me" for 1."""
    value, shown = said.value, said.words
    if said.before in words("before_value") or said.after in words("after_value"):
        return False
    if time_of(value) is not None:
        return any(map(str.isdigit, shown)) or time_of(shown) is not None
    if number_of(value) is not None:
        return number_of(shown) is not None
    if date_of(value) is not None:
        return date_of(shown) is not None
    own, folded = fold(value), fold(shown)
    letters = "".join(words_of(shown))
    if letters.removesuffix("s") == "".join(words_of(value)).removesuffix("s"):
        return True
    if any(folded == own + end for end in (" -ly priced", "ly priced", " priced")):
        return True
    alike = surface.table()["alike"].get(own, ())
    return (
        folded in alike
        or folded.removesuffix("s") in alike
        or (len(words_of(value)) > 1 and letters in "".join(words_of(value)))
    )
