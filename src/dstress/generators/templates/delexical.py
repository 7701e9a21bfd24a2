"""An utterance without its values: the words that say each become a placeholder, flags are marked and stay words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from dstress.dialogue import State, Turn, update
from dstress.generators.templates.tokens import flag_of, is_flag_mark, is_placeholder, tokens_of, words
from dstress.text import inflection, mentions
from dstress.text.letters import fold, words_of
from dstress.text.numbers import number_of
from dstress.text.times import date_of, time_of

PLURAL = "-s"
"""The token after a placeholder whose value is said in the plural."""


class SurfaceForm(NamedTuple):
    """The words that say one value, and the tokens beside them."""

    slot: str
    value: str
    words: str
    before: str
    after: str


class Delexicalised(NamedTuple):
    """An utterance's tokens; the slots of its label that it does not say: `taken` from the system, or `unexplained`."""

    tokens: tuple[str, ...]
    surfaces: tuple[SurfaceForm, ...] = ()
    taken: tuple[str, ...] = ()
    unexplained: bool = False


class _Span(NamedTuple):
    """Words that say a value, and the token for them."""

    start: int
    end: int
    token: str
    slot: str
    value: str


def delexicalise(turn: Turn, before: State) -> Delexicalised:
    """A turn's user utterance with placeholders for the values that it adds to the state."""
    changed = update(before, turn.state)
    if not changed or "[" in turn.user or "{" in turn.user:
        return Delexicalised(tuple(tokens_of(turn.user)), unexplained=bool(changed))
    spans = _value_spans(turn, before)
    spoken = {span.slot for span in spans}
    unspoken = [slot for slot in changed if slot not in spoken]
    taken = [slot for slot in unspoken if mentions.find_value(turn.system, slot, changed[slot])]
    surfaces = _surface_forms(turn.user, spans)
    placeholders = [span.slot for span in spans if is_placeholder(span.token)]
    unexplained = (
        len(taken) < len(unspoken)
        or len(set(placeholders)) < len(placeholders)
        or any(  # only flags may be said by the same words
            first.end > second.start and not (is_flag_mark(first.token) and is_flag_mark(second.token))
            for first, second in pairwise(spans)
        )
        or bool(turn.coreferences)
        or not all(map(_is_plain, surfaces))
    )
    return Delexicalised(tuple(_replace_spans(turn.user, spans)), tuple(surfaces), tuple(taken), unexplained)


def _value_spans(turn: Turn, before: State) -> list[_Span]:
    spans = []
    for slot, form, start, end in mentions.find_mentions(turn, before):
        value = turn.state[slot][0]
        if flag := flag_of(value):
            spans.append(_Span(start, end, f"{{{slot}={flag}}}", slot, value))
        else:
            spans.append(_Span(start, _absorbing_end(turn.user, end), f"[{slot}]", slot, form))
    return sorted(spans, key=lambda span: (span.start, span.end, span.token))


def _absorbing_end(text: str, end: int) -> int:
    """The end of a value's words with what goes along with them: "moderate -ly priced"."""
    rest = text[end : end + 16].lower()
    for phrase in words("absorbed"):
        for lead in (" ", ""):
            if rest.startswith(lead + phrase) and not rest[len(lead + phrase) :][:1].isalnum():
                return _absorbing_end(text, end + len(lead + phrase))
    return end


def _replace_spans(text: str, spans: Sequence[_Span]) -> list[str]:
    """The tokens of a text with placeholders for values, and marks before the words of flags."""
    pieces, done = [], 0
    for span in spans:
        if span.start < done and is_placeholder(span.token):
            continue
        pieces += [text[done : max(done, span.start)], f" {span.token} "]
        if is_placeholder(span.token):
            pieces.append(f" {PLURAL} " if _is_plural(text[span.start : span.end], span.value) else " ")
            done = span.end
        else:
            done = max(done, span.start)
    return tokens_of("".join(pieces) + text[done:])


def _is_plural(shown: str, value: str) -> bool:
    """Whether words are the plural of a value."""
    own, shown = fold(value), fold(shown)
    return shown.endswith("s") and not own.endswith("s") and words_of(shown)[-1][:3] == (words_of(own) or [""])[-1][:3]


def _surface_forms(text: str, spans: Sequence[_Span]) -> list[SurfaceForm]:
    forms = []
    for span in spans:
        if is_placeholder(span.token):
            before = tokens_of(text[: span.start])[-1:] or ["<"]
            after = tokens_of(text[span.end : span.end + 40])[:1] or [">"]
            forms.append(SurfaceForm(span.slot, span.value, text[span.start : span.end], before[0], after[0]))
    return forms


def _is_plain(form: SurfaceForm) -> bool:
    """Whether a value is said by words of its own kind, so that others can stand there: no "just me" for 1."""
    value, shown = form.value, form.words
    if form.before in words("before_value") or form.after in words("after_value"):
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
    alike = inflection.table()["alike"].get(own, ())
    return (
        folded in alike
        or folded.removesuffix("s") in alike
        or (len(words_of(value)) > 1 and letters in "".join(words_of(value)))
    )
